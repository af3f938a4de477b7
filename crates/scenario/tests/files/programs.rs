//! `[[workload]] kind = "program"`: what is read, written out, and refused. A `kernel` given by
//! name needs none to be there.

use leafspine_scenario::{Case, ScenarioError, single};
use leafspine_sim::spec::{ProgramSpec, WorkloadKind};
use std::path::Path;

fn case(folder: &Path, hosts: &str, program: &str) -> Result<Case, ScenarioError> {
    let text = format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
         host_link = {{ rate = \"1Gbps\", delay = \"5us\" }}\nfabric_link = {{ rate = \"1Gbps\", delay = \"5us\" }}\n\
         [hosts]\n{hosts}\n[[workload]]\nkind = \"program\"\n{program}"
    );
    single(&text, "f.toml", folder)
}

const LINUX: &str = "kind = \"linux\"\nkernel = \"6.12-0123\"\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("serve.sh"), "echo one\n").unwrap();
    folder
}

fn program(case: &Case) -> &ProgramSpec {
    let WorkloadKind::Program(program) = &case.spec.workloads[0].kind else { panic!("a program") };
    program
}

/// Breaks if a resolved program is not the program that it was resolved from, or leaves a default out.
#[test]
fn programs_are_written_out() {
    let folder = folder();
    let words = "command = [\"sh\", \"serve.sh\", \"a \\\"b\\\"\"]\nenvironment = { B = 2, A = \"x\", C = true }\nhosts = [3, 1]\n";
    let one = case(folder.path(), LINUX, words).unwrap();
    assert_eq!(program(&one).command, ["sh", "serve.sh", "a \"b\""]);
    let environment = [("B", "2"), ("A", "x"), ("C", "true")];
    let environment = environment.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(program(&one).environment, environment);
    assert_eq!(program(&one).folder, std::path::absolute(folder.path()).unwrap());
    assert!(!program(&one).background);
    for key in ["hosts = [3, 1]", "background = false", "checksum = \"", "folder = \"/"] {
        assert!(one.toml.contains(key), "{key} is not in\n{}", one.toml);
    }
    let again = single(&one.toml, "r.toml", Path::new("/nowhere")).unwrap();
    assert_eq!((program(&again), &again.toml), (program(&one), &one.toml));
}

/// Breaks if a result is taken for that of a program of the same name, or one more byte on the command line is none.
#[test]
fn another_file_is_another_program() {
    let folder = folder();
    let words = "command = [\"sh\", \"/scenario/serve.sh\"]\n";
    let one = case(folder.path(), LINUX, words).unwrap();
    assert_eq!(case(folder.path(), LINUX, words).unwrap().toml, one.toml);
    std::fs::write(folder.path().join("serve.sh"), "echo two\n").unwrap();
    assert_ne!(case(folder.path(), LINUX, words).unwrap().toml, one.toml);
    let error = single(&one.toml, "r.toml", folder.path()).unwrap_err().to_string();
    assert!(error.contains("a file of the command has changed since"), "{error}");
}

/// Breaks if a command is looked for elsewhere than its program would be found.
#[test]
fn commands_are_found_where_hosts_find_them() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let own = folder.path().join("own");
    std::fs::write(&own, "#!/bin/sh\n").unwrap();
    let with = |command: &str, more: &str| {
        case(folder.path(), LINUX, &format!("command = [\"{command}\"]\n{more}"))
    };
    assert!(with("./own", "").unwrap_err().to_string().contains("\"./own\", which is not there"));
    std::fs::set_permissions(&own, PermissionsExt::from_mode(0o755)).unwrap();
    with("./own", "").unwrap();
    with("/bin/sh", "").unwrap();
    let error = with("own", "").unwrap_err().to_string();
    assert!(error.contains("a program of this machine, in /usr/local/sbin:"), "{error}");
    with("own", "environment = { PATH = \"/scenario:.\" }\n").unwrap();
    assert!(with("sh", "environment = { PATH = \"/nowhere\" }\n").is_err());
}

/// Breaks if what no host can run is found out by a run, or not by its key.
#[test]
fn programs_are_refused_with_their_reason() {
    let folder = folder();
    let sh = "command = [\"sh\"]\n";
    for (hosts, more, part) in [
        ("", sh.to_owned(), "workload.0.kind: found \"program\"; allowed: hosts.kind = \"linux\""),
        ("kind = \"model\"", sh.to_owned(), "hosts of the model run no programs"),
        (LINUX, String::new(), "workload.0.command: found nothing"),
        (LINUX, "command = [1]\n".to_owned(), "a list of words"),
        (LINUX, "command = [\"\"]\n".to_owned(), "a list of words"),
        (LINUX, format!("{sh}hosts = [4]\n"), "workload.0.hosts"),
        (LINUX, format!("{sh}hosts = \"the rest\"\n"), "which has one set of hosts"),
        (LINUX, format!("{sh}environment = [1]\n"), "a table of names and texts"),
        (LINUX, format!("{sh}environment = {{ A = [1] }}\n"), "a table of names and texts"),
        (LINUX, format!("{sh}environment = {{ \"A=B\" = 1 }}\n"), "a table of names and texts"),
        (LINUX, format!("{sh}folder = \"serve.sh\"\n"), "a folder that is there"),
        (LINUX, format!("{sh}background = 1\n"), "workload.0.background"),
        (
            LINUX,
            format!("{sh}sizes = \"web-search\"\n"),
            "a key that a workload of kind \"program\" does not have",
        ),
        (LINUX, format!("{sh}background = true\n"), "workload.0.background: found true for all"),
        (LINUX, format!("{sh}backgruond = true\n"), "did you mean \"background\"?"),
    ] {
        let error = case(folder.path(), hosts, &more).expect_err(&more).to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{more}: {error}");
    }
}
