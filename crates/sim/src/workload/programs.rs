//! Programs that run in hosts that are kernels: which, where and when.

use super::{Fabric, HostSets, WorkloadError};
use crate::spec::{Pattern, ProgramSpec, WorkloadKind, WorkloadSpec};
use leafspine_core::{HostId, Time};
use leafspine_linux::orders::Program;

/// A program that one host runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Launch {
    /// The workload that it is of.
    pub(crate) workload: u16,
    /// Where it runs.
    pub(crate) host: HostId,
    /// When it starts.
    pub(crate) start: Time,
    /// Whether the run does not wait for its end.
    pub(crate) background: bool,
    /// What its host's kernel is told.
    pub(crate) program: Program,
}

/// The address of a host.
fn address(host: HostId) -> String {
    let [high, low] = host.0.to_be_bytes();
    format!("10.0.{high}.{low}")
}

/// What a host is called: `names` has those of a fabric in a file.
fn name(host: HostId, names: &[String]) -> String {
    names.get(usize::from(host.0)).cloned().unwrap_or_else(|| format!("host{}", host.0))
}

/// What all hosts have in `/etc/hosts`: each host by its name, and by its number where that is another.
fn hosts_file(fabric: &Fabric, names: &[String]) -> String {
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for host in fabric.all() {
        let (own, plain) = (name(host, names), format!("host{}", host.0));
        let more = if own == plain { String::new() } else { format!(" {plain}") };
        text += &format!("{} {own}{more}\n", address(host));
    }
    text
}

/// The programs of a run, by workload and in the order of its hosts.
///
/// # Errors
/// What [`HostSets::resolve`] refuses.
pub(crate) fn programs(
    workloads: &[WorkloadSpec],
    fabric: &Fabric,
    names: &[String],
    seed: u64,
) -> Result<Vec<Launch>, WorkloadError> {
    let mut all = Vec::new();
    for (workload, spec) in workloads.iter().enumerate() {
        let WorkloadKind::Program(program) = &spec.kind else { continue };
        let any = WorkloadSpec { pattern: Pattern::Any, ..spec.clone() };
        let hosts = HostSets::resolve(&any, fabric, seed, workload).map_err(|error| {
            let key = error.key.replace("senders", "hosts");
            WorkloadError { key, ..error }.within(workload)
        })?;
        let hosts = hosts.senders;
        let peers: Vec<String> = hosts.iter().map(|host| name(*host, names)).collect();
        for (rank, host) in hosts.iter().enumerate() {
            let told = Program {
                folder: program.folder.display().to_string(),
                name: peers[rank].clone(),
                names: hosts_file(fabric, names),
                command: program.command.clone(),
                environment: environment(program, (*host, rank), &peers, fabric.hosts()),
            };
            all.push(Launch {
                workload: workload as u16,
                host: *host,
                start: spec.start,
                background: program.background,
                program: told,
            });
        }
    }
    Ok(all)
}

/// What all programs have in their environment. Nothing of it is this machine's.
const ALWAYS: [&str; 5] = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/tmp",
    "LANG=C.UTF-8",
    // What a program has printed is there when the run's end cuts it off.
    "PYTHONUNBUFFERED=1",
    "PYTHONDONTWRITEBYTECODE=1",
];

fn environment(
    program: &ProgramSpec,
    (host, rank): (HostId, usize),
    peers: &[String],
    hosts: usize,
) -> Vec<String> {
    let own = [
        format!("LEAFSPINE_HOST={}", host.0),
        format!("LEAFSPINE_HOSTS={hosts}"),
        format!("LEAFSPINE_ADDRESS={}", address(host)),
        format!("LEAFSPINE_RANK={rank}"),
        format!("LEAFSPINE_PEERS={}", peers.join(",")),
    ];
    let given = program.environment.iter().map(|(key, value)| format!("{key}={value}"));
    // Of a key that is there twice programs see the first.
    given.chain(ALWAYS.map(str::to_owned)).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{HostSet, SizeSpec};
    use leafspine_core::Bytes;

    fn workload(hosts: HostSet) -> WorkloadSpec {
        let program = ProgramSpec {
            command: vec!["true".to_owned()],
            environment: vec![("LANG".to_owned(), "C".to_owned())],
            folder: "/here".into(),
            background: true,
        };
        WorkloadSpec {
            kind: WorkloadKind::Program(Box::new(program)),
            sizes: SizeSpec::Fixed(Bytes(1)),
            senders: hosts,
            receivers: HostSet::All,
            pattern: Pattern::InterLeaf,
            start: Time(5),
            class: None,
        }
    }

    fn fabric() -> Fabric {
        Fabric::of_hosts(300)
    }

    /// Breaks if a host is told another's address, name or place, or a given variable is not the one that counts.
    #[test]
    fn programs_know_where_they_are() {
        let list = HostSet::List(vec![HostId(258), HostId(1)]);
        let all = programs(&[workload(list)], &fabric(), &[], 1).unwrap();
        let [first, second] = &all[..] else { panic!("{all:?}") };
        assert_eq!((first.host, second.host, first.start), (HostId(258), HostId(1), Time(5)));
        assert!(first.background);
        let program = &first.program;
        assert_eq!((&*program.name, &*program.folder), ("host258", "/here"));
        assert!(program.names.contains("\n10.0.1.2 host258\n"));
        assert!(program.names.starts_with("127.0.0.1 localhost\n10.0.0.0 host0\n"));
        let has = |key: &str| {
            program.environment.iter().find_map(|entry| entry.strip_prefix(&format!("{key}=")))
        };
        assert_eq!(has("LANG"), Some("C"));
        assert_eq!(has("LEAFSPINE_ADDRESS"), Some("10.0.1.2"));
        assert_eq!((has("LEAFSPINE_RANK"), has("LEAFSPINE_HOSTS")), (Some("0"), Some("300")));
        assert_eq!(has("LEAFSPINE_PEERS"), Some("host258,host1"));
    }

    /// Breaks if a host that is not there is refused under another key than the file has.
    #[test]
    fn a_host_that_is_not_there() {
        let list = HostSet::List(vec![HostId(300)]);
        let error = programs(&[workload(list)], &fabric(), &[], 1).unwrap_err();
        assert_eq!(error.key, "workload.0.hosts");
    }

    /// Breaks if names of a fabric in a file are not those that programs know hosts by.
    #[test]
    fn hosts_with_names() {
        let names: Vec<String> = (0..300).map(|host| format!("node{host}")).collect();
        let all = programs(&[workload(HostSet::First(1))], &fabric(), &names, 1).unwrap();
        assert!(all[0].program.names.contains("\n10.0.0.1 node1 host1\n"));
        assert_eq!(all[0].program.name, "node0");
    }
}
