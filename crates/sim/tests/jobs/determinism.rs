//! Whatever drives the nodes, and beside whatever else, the packets are the same.

use super::*;
use leafspine_sim::{Output, Progress, Simulation};

/// Four leaves, four spines, ECMP and DCTCP, with two jobs side by side.
pub(super) fn shared(placement: Placement, what: CollectiveSpec) -> Spec {
    let mut spec = base();
    let what = CollectiveSpec { channels: 2, chunk: Some(Bytes(40_000)), ..what };
    spec.workloads = vec![workload(JobSpec {
        jobs: 2,
        ranks: Some(8),
        placement,
        iterations: 3,
        compute: Span::from_micros(50),
        compute_jitter: Span::from_micros(20),
        ..JobSpec::once(JobKind::Collective(what))
    })];
    spec
}

/// Breaks if a driver, or the number of parts, changes anything of jobs: `run` compares them.
#[test]
fn drivers_agree() {
    use Algorithm::{Direct, HalvingDoubling, Pairwise, Ring, Tree};
    use Collective::{AllReduce, AllToAll};
    for (collective, algorithm) in [
        (AllReduce, Ring),
        (AllReduce, Tree),
        (AllReduce, HalvingDoubling),
        (AllToAll, Direct),
        (AllToAll, Pairwise),
    ] {
        let output = run(&shared(Placement::Random, of(collective, algorithm, 800_000)));
        let jobs = output.jobs.as_ref().expect("jobs");
        assert_eq!((jobs.collectives.len(), jobs.ranks.len()), (6, 16));
        assert!(jobs.collectives.iter().all(|row| row.end.is_some()));
    }
}

/// Breaks if flows that wait for nothing and messages are mixed up: in a run with both, with losses, a
/// link that changes, an edge that holds packets back, probes and an end that cuts jobs off.
#[test]
fn jobs_and_other_flows() {
    let mut spec = shared(Placement::Packed, of(Collective::AllReduce, Algorithm::Ring, 800_000));
    spec.workloads.push(fixed_flows(60, 100_000, 0.3));
    spec.topology.fabric_link.loss = 0.001;
    spec.changes = vec![LinkChange {
        rate: Some(Rate::from_gbps(2)),
        ..change("leaf0-spine1", Span::from_micros(300))
    }];
    spec.balancer = scheme("presto");
    spec.edge = Some(edge("presto"));
    let probe = |kind, name: &str| ProbeSpec {
        kind,
        ports: "leaf0-*".to_owned(),
        flows: Vec::new(),
        every: Span::from_micros(20),
        name: name.to_owned(),
    };
    spec.probes = vec![probe(ProbeKind::Window, "window"), probe(ProbeKind::Packets, "packets")];
    let output = run(&spec);
    let columns = &output.jobs.as_ref().expect("jobs").columns;
    let others = columns.job.iter().filter(|job| **job == u32::MAX).count();
    assert_eq!(others, 60, "flows that wait for nothing have no job");
    assert!(output.flows.start_ps.is_sorted(), "flows are in the order of their starts");
    assert_eq!(output.not_started, Some(0));

    spec.run.until = Some(Time(1_500_000_000));
    let cut = run(&spec);
    assert!(cut.not_started > Some(0), "messages that have not started are counted");
    assert_eq!(cut.flows.len() as u64 + cut.not_started.unwrap_or(0), output.flows.len() as u64);
}

/// Breaks if ranks that wait for ever are busier than those that have ended: a job that the run's end cuts off
/// has lasted until then, none of its ranks has an end, and one that came to its own end keeps it.
#[test]
fn ranks_of_a_job_that_is_cut_off_idle_to_the_end() {
    let mut spec = shared(Placement::Packed, of(Collective::AllReduce, Algorithm::Ring, 400_000));
    let whole = run(&spec);
    let ends = |job: u32, output: &Output| {
        let ranks = &output.jobs.as_ref().expect("jobs").ranks;
        let own: Vec<_> = ranks.iter().filter(|rank| rank.job == job).collect();
        let last = own.iter().filter_map(|rank| rank.end).max();
        assert!(own.iter().all(|rank| rank.until == own[0].until), "{own:?}");
        assert!(own.iter().all(|rank| rank.end.is_some() == last.is_some()), "{own:?}");
        (last, own[0].until)
    };
    let (first, second) = (ends(0, &whole), ends(1, &whole));
    assert_eq!((first.0, second.0), (Some(first.1), Some(second.1)));
    let (until, later) = (first.1.min(second.1), first.1.max(second.1));
    spec.run.until = Some(Time(until.0.midpoint(later.0)));
    let cut = run(&spec);
    let mut found = [ends(0, &cut), ends(1, &cut)];
    found.sort();
    assert_eq!(found, [(None, cut.end), (Some(until), until)]);
}

/// Breaks if racks of hosts (Hermes), or links without latency, which only the calendar drives, do
/// without jobs.
#[test]
fn jobs_run_everywhere() {
    let mut spec = shared(Placement::Random, of(Collective::AllReduce, Algorithm::Ring, 400_000));
    spec.balancer = scheme("pinned");
    spec.edge = Some(edge("hermes"));
    run(&spec);
    let mut spec = shared(Placement::Random, of(Collective::AllToAll, Algorithm::Direct, 400_000));
    spec.topology.host_link.delay = Span::ZERO;
    spec.topology.fabric_link.delay = Span::ZERO;
    run(&spec);
}

/// Breaks if a job starts before its workload does, if the window of ports opens at another time, or if
/// what another seed places is the same.
#[test]
fn starts_and_places() {
    let mut spec = shared(Placement::Random, of(Collective::AllReduce, Algorithm::Ring, 400_000));
    spec.workloads[0].start = Time(5_000_000);
    let output = run(&spec);
    assert_eq!(output.window, (Time(5_000_000), output.end));
    let start = output.flows.start_ps[0];
    assert!((55_000_000..=75_000_000).contains(&start), "{start}: after 50 to 70 us of computing");
    let places = |spec: &Spec| {
        let simulation = Simulation::new(spec).expect("a valid spec");
        let output = simulation.run(&Progress::default()).expect("a run that ends");
        let ranks = output.jobs.expect("jobs").ranks;
        ranks.iter().map(|rank| rank.host).collect::<Vec<u16>>()
    };
    let one = places(&spec);
    spec.run.seed = 2;
    let two = places(&spec);
    assert_ne!(one, two);
    let mut all = one.clone();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 16, "no two ranks share a host");
}

/// Breaks if what cannot be divided or placed is run.
#[test]
fn what_cannot_be_is_refused() {
    let said = |spec: Spec| match Simulation::new(&spec) {
        Ok(_) => panic!("should be refused"),
        Err(error) => error.to_string(),
    };
    let ring = of(Collective::AllReduce, Algorithm::Ring, 800_000);
    let mut spec = shared(Placement::Packed, ring);
    spec.workloads[0].senders = HostSet::First(15);
    assert_eq!(
        said(spec),
        "workload.0.ranks: found 2 jobs of 8 ranks; allowed: at most 15 ranks in all: each has a host of its own"
    );
    let spec = shared(Placement::Packed, CollectiveSpec { bytes: Bytes(15), ..ring });
    assert_eq!(
        said(spec),
        "workload.0.bytes: found 15B; allowed: at least 16B: a byte for each rank and channel"
    );
    let mut halving = JobSpec::once(JobKind::Collective(of(
        Collective::AllGather,
        Algorithm::HalvingDoubling,
        99,
    )));
    halving.ranks = Some(6);
    assert_eq!(
        said(Spec { workloads: vec![workload(halving)], ..base() }),
        "workload.0.ranks: found 6 ranks; allowed: a power of two for this algorithm, such as 4, or \"ring\""
    );
    let wrong = of(Collective::AllGather, Algorithm::Tree, 9_000);
    let text = said(Spec {
        workloads: vec![workload(JobSpec::once(JobKind::Collective(wrong)))],
        ..base()
    });
    assert!(text.contains("workload.0.algorithm"), "{text}");
}
