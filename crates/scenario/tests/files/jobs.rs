//! `[[workload]]` of jobs: what is read, written out, and refused.

use crate::common::cases;
use leafspine_sim::spec::{JobKind, WorkloadKind};

const FABRIC: &str = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
                      host_link = { rate = \"10Gbps\", delay = \"5us\" }\n\
                      fabric_link = { rate = \"10Gbps\", delay = \"5us\" }\n[[workload]]\n";

/// Breaks if a resolved job is not the job that it was resolved from, or leaves a default out.
#[test]
fn jobs_are_written_out() {
    for (more, keys) in [
        (
            "kind = \"collective\"\ncollective = \"all-reduce\"\nbytes = \"1MB\"\n",
            &["algorithm = \"ring\"", "channels = 1", "chunk = \"none\"", "ranks = \"all\""][..],
        ),
        (
            "kind = \"collective\"\ncollective = \"all-to-allv\"\nsizes = \"web-search\"\n",
            &["algorithm = \"direct\"", "placement = \"packed\"", "hosts = \"all\""],
        ),
        (
            "kind = \"pipeline\"\nbytes = \"1MB\"\nmicrobatches = 4\nforward = \"1ms\"\n",
            &["schedule = \"1f1b\"", "backward = \"0", "iterations = 1", "delay = \"0"],
        ),
    ] {
        let case =
            cases(&format!("{FABRIC}{more}"), &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
        for key in keys {
            assert!(case.toml.contains(key), "{key} is not in\n{}", case.toml);
        }
        let again = cases(&case.toml, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
        assert_eq!(case.toml, again.toml);
        let [first, second] = [&case, &again].map(|case| case.spec.workloads[0].kind.clone());
        assert_eq!(first, second);
        assert!(matches!(first, WorkloadKind::Job(_)));
    }
}

/// Breaks if a key of one kind is taken in another, or if what a collective does not have is run.
#[test]
fn jobs_are_refused_with_their_reason() {
    let said = |more: &str| match cases(&format!("{FABRIC}{more}"), &[]) {
        Ok(_) => panic!("taken: {more}"),
        Err(error) => error.to_string(),
    };
    let ring = "kind = \"collective\"\ncollective = \"all-reduce\"\nbytes = \"1MB\"\n";
    for (more, part) in [
        (
            "kind = \"collective\"\nbytes = \"1MB\"\n".to_owned(),
            "workload.0.collective: found nothing",
        ),
        (format!("{ring}algoritm = \"ring\"\n"), "did you mean \"algorithm\"?"),
        (
            format!("{ring}algorithm = \"pairwise\"\n"),
            "which an all-reduce does not have; allowed: \"ring\", \"tree\"",
        ),
        (
            format!("{ring}microbatches = 2\n"),
            "a key that a workload of kind \"collective\" does not have",
        ),
        (
            format!("{ring}sizes = \"web-search\"\n"),
            "a key that a workload of kind \"collective\" does not have",
        ),
        (
            format!("{ring}senders = \"all\"\n"),
            "a key that a workload of kind \"collective\" does not have",
        ),
        (format!("{ring}hosts = \"the rest\"\n"), "workload.0.hosts: found \"the rest\" of a job"),
        (format!("{ring}ranks = 1\n"), "workload.0.ranks"),
        (format!("{ring}channels = 65\n"), "workload.0.channels"),
        (format!("{ring}chunk = \"10B\"\n"), "workload.0.chunk"),
        (
            "kind = \"pipeline\"\nbytes = \"1MB\"\n".to_owned(),
            "workload.0.microbatches: found nothing",
        ),
        (
            "kind = \"goal\"\npath = \"none.goal\"\n".to_owned(),
            "a GOAL schedule, as text or in binary",
        ),
        (
            "kind = \"simai\"\npath = \"none.txt\"\n".to_owned(),
            "SimAI's workload text that can be read",
        ),
        (
            "kind = \"simai\"\npath = \"step.txt\"\nalgorithm = \"tree\"\n".to_owned(),
            "allowed: \"ring\", \"halving-doubling\"",
        ),
        (
            "kind = \"simai\"\nranks = 4\n".to_owned(),
            "a key that a workload of kind \"simai\" does not have",
        ),
        (
            "kind = \"chakra\"\npath = \"step.txt\"\n".to_owned(),
            "the path of rank 0's trace of Chakra, which ends in \".0.et\"",
        ),
        (
            "kind = \"chakra\"\niterations = 4\n".to_owned(),
            "a key that a workload of kind \"chakra\" does not have",
        ),
    ] {
        let text = said(&more);
        assert!(text.contains(part), "{more}\nsays {text}\nwithout {part}");
    }
}

/// Breaks if an iteration that would take all memory is built before it is refused, or the refusal
/// does not say how many messages it has.
#[test]
fn what_is_too_large_to_build_is_refused_at_once() {
    let fabric = FABRIC.replace("leaves = 2", "leaves = 64").replace("leaf = 4", "leaf = 128");
    let said = |more: &str| {
        let made = cases(&format!("{fabric}{more}"), &[]).unwrap_or_else(|e| panic!("{e}"));
        made[0].memory(None, u64::MAX).expect_err("too large").to_string()
    };
    let exchange = "kind = \"collective\"\ncollective = \"all-to-all\"\nbytes = \"1GB\"\n";
    assert_eq!(
        said(&format!("{exchange}iterations = 100000\n")),
        "f.toml:10: workload.0.collective: found collectives of 67100672 messages an iteration; \
         allowed: at most 2^24, 16777216: fewer ranks, jobs or channels, or longer chunks"
    );
    let chunks = "ranks = 64\nchannels = 64\nchunk = \"1KB\"\n";
    assert!(said(&format!("{exchange}{chunks}")).contains("messages an iteration"));
    let drawn = "kind = \"collective\"\ncollective = \"all-to-allv\"\nchunk = \"1KB\"\nranks = 4\n\
                 sizes = { kind = \"fixed\", bytes = \"1000GB\" }\n";
    assert!(said(drawn).contains("found an all-to-allv of 1000000000 messages"), "{}", said(drawn));
    let pipeline = "kind = \"pipeline\"\nbytes = \"1MB\"\nmicrobatches = 4000000000\n";
    assert!(
        said(pipeline).starts_with("f.toml:11: workload.0.microbatches: "),
        "{}",
        said(pipeline)
    );
}

/// Breaks if a schedule is taken for other files than it was resolved with, or its unit is lost.
#[test]
fn schedules_are_read_by_path_and_checksum() {
    let text = format!("{FABRIC}kind = \"goal\"\npath = \"ring.goal\"\ntime_unit = \"us\"\n");
    let case = cases(&text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
    assert!(case.toml.contains("checksum = "), "{}", case.toml);
    let WorkloadKind::Job(job) = &case.spec.workloads[0].kind else { panic!("no job") };
    let JobKind::Goal(spec) = &job.what else { panic!("no schedule") };
    assert!(spec.file.ends_with("ring.goal"));
    let other = format!("{text}checksum = \"0000000000000000\"\n");
    let error = cases(&other, &[]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("the file has changed since"), "{error}");
}

/// Breaks if what SimAI's text says is run otherwise than the scenario wants, or not written out.
#[test]
fn workload_texts_are_read_by_path_and_checksum() {
    let text = format!("{FABRIC}kind = \"simai\"\npath = \"step.txt\"\nchannels = 2\n");
    let case = cases(&text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
    for key in ["checksum = ", "time_unit = \"ns\"", "algorithm = \"ring\"", "iterations = 1"] {
        assert!(case.toml.contains(key), "{key} is not in\n{}", case.toml);
    }
    let WorkloadKind::Job(job) = &case.spec.workloads[0].kind else { panic!("no job") };
    let JobKind::Simai(spec) = &job.what else { panic!("no step") };
    assert!(spec.file.ends_with("step.txt"));
    assert_eq!(spec.how.channels, 2);
}

/// Breaks if a rank's trace is left out, one too many is taken, or another file of any rank is taken for the same.
#[test]
fn traces_are_those_of_all_ranks() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = |rank: u32| folder.join(format!("scenario.{rank}.et"));
    for (rank, text) in [(0, "a"), (1, "b"), (2, "c"), (4, "d")] {
        std::fs::write(file(rank), text).expect("a writable directory for tests");
    }
    let text = format!("{FABRIC}kind = \"chakra\"\npath = \"{}\"\n", file(0).display());
    let case = cases(&text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
    let WorkloadKind::Job(job) = &case.spec.workloads[0].kind else { panic!("no job") };
    let JobKind::Chakra(spec) = &job.what else { panic!("no traces") };
    assert_eq!(spec.files, [file(0), file(1), file(2)]);
    let error =
        case.memory(None, u64::MAX).err().map(|error| error.to_string()).unwrap_or_default();
    let place = format!("{}: found a length beyond the end (byte 1)", file(0).display());
    assert!(error.starts_with(&place), "{error}");
    let again = cases(&case.toml, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0);
    assert_eq!(case.toml, again.toml);
    std::fs::write(file(2), "other").expect("a writable directory for tests");
    let error = cases(&case.toml, &[]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("the file has changed since"), "{error}");
}
