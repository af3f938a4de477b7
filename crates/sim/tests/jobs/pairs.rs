//! Jobs over queue pairs.

use super::*;
use leafspine_schemes::Value;

/// A ring on a star, over queue pairs whose receivers acknowledge whole messages.
fn ring_on_star(n: u32, what: CollectiveSpec, roce: RoceSpec) -> Spec {
    let mut spec = star(n, JobSpec::once(JobKind::Collective(what)));
    carry_by_pairs(&mut spec, RoceSpec { ack_every: 1 << 16, ..roce });
    spec
}

/// An ACK has 4 bytes more than data has in its header: at 100 Gb/s.
const ACK: u64 = 3_520;

/// Breaks if a ring over queue pairs takes another time than over TCP with windows that never
/// limit: 2 (n - 1)/n x size / rate, and a latency for each step; the ACK of a step's message goes
/// before the next step's data, at the port that they share. To the picosecond, whatever the
/// recovery, with rate control that has nothing to do and without, and under flow control that
/// never pauses.
#[test]
fn rings() {
    use Collective::{AllGather, AllReduce, ReduceScatter};
    for (recovery, window, control) in
        [(Recovery::GoBackN, None, PairControl::LineRate), (IRN, Some(1 << 20), by_dcqcn())]
    {
        let roce = RoceSpec { recovery, window, control, ..roce() };
        for n in [2, 3, 8] {
            for (what, rounds) in [(AllReduce, 2), (AllGather, 1), (ReduceScatter, 1)] {
                let what = of(what, Algorithm::Ring, u64::from(n) * 100_000);
                let mut spec = ring_on_star(n, what, roce);
                let steps = rounds * u64::from(n - 1);
                let expected = steps * alone(&spec, 100_000) + (steps - 1) * ACK;
                assert_eq!(took(&run(&spec), 0), expected, "{what:?} of {n}");
                flow_control(&mut spec);
                assert_eq!(took(&run(&spec), 0), expected, "{what:?} of {n} under flow control");
            }
        }
    }
}

/// Breaks if ACKs wait behind data. A step's message has 12 packets; 2 us after it is on the second
/// link, a packet is at the neighbour, whose ACK goes before the data that the neighbour has still
/// to send: the first seven of them do, and each puts off the last packet by its own time.
#[test]
fn acknowledgments_go_first() {
    let what = of(Collective::AllReduce, Algorithm::Ring, 400_000);
    let mut spec = star(4, JobSpec::once(JobKind::Collective(what)));
    carry_by_pairs(&mut spec, roce());
    assert_eq!(took(&run(&spec), 0), 6 * (alone(&spec, 100_000) + 7 * ACK) + 5 * ACK);
}

/// Breaks if messages of a queue pair are sent side by side, or with a gap: ten packets of 9,000
/// bytes each, and one ACK of the other direction's messages.
#[test]
fn messages_of_a_queue_pair_follow_each_other() {
    let what = of(Collective::AllGather, Algorithm::Ring, 1_792_000);
    let what = CollectiveSpec { chunk: Some(Bytes(89_600)), ..what };
    let output = run(&ring_on_star(2, what, roce()));
    let apart = ends_apart(&output);
    assert_eq!(apart.len(), 9);
    assert!(apart.iter().all(|apart| [7_200_000, 7_200_000 + ACK].contains(apart)), "{apart:?}");
}

/// Breaks if messages of a queue pair have a window each: a hundred of one packet, four in a round trip of 400 us.
#[test]
fn short_messages_keep_to_the_window() {
    let what = of(Collective::AllGather, Algorithm::Ring, 2 * 100 * 8_960);
    let what = CollectiveSpec { chunk: Some(Bytes(8_960)), ..what };
    let window = Some(4 * 8_960);
    let mut spec = ring_on_star(2, what, RoceSpec { recovery: IRN, window, ..roce() });
    spec.topology.host_link.delay = Span::from_micros(100);
    let trips = took(&run(&spec), 0) / 400_000_000;
    assert!((24..=26).contains(&trips), "{trips}");
}

/// Breaks if each message of a queue pair begins at the line's rate, or has CNPs of its own:
/// through a link of a tenth of the hosts' rate, which marks all that waits, a hundred messages of
/// ten packets cause one CNP in 50 us, and the queue stays short: without rate control it holds
/// most of them.
#[test]
fn rates_are_kept() {
    let what = of(Collective::AllGather, Algorithm::Ring, 2 * 100 * 89_600);
    let what = CollectiveSpec { chunk: Some(Bytes(89_600)), ..what };
    let of = |control| {
        let mut spec = star(2, JobSpec::once(JobKind::Collective(what)));
        let timeout = Span::from_millis(100);
        carry_by_pairs(&mut spec, RoceSpec { control, timeout, classes: (1, 0), ..roce() });
        // CNPs come back through the other direction's queue, and go first there.
        (spec.switch.queues, spec.switch.classifier) = (2, Classifier::Dscp);
        (spec.switch.scheduler, spec.switch.weights) = (SchedulerKind::Strict, vec![1; 2]);
        spec.topology.kind = leaf_spine(2, 1, 1);
        spec.topology.fabric_link = link(Rate::from_gbps(10), Span::from_micros(1));
        spec.aqm = scheme_with("ecn-threshold", "threshold", Value::Amount(Amount::Packets(5)));
        let output = run(&spec);
        let cnps = output.counters.sent - 2 * output.counters.data_packets;
        let longest = port(&output, "leaf0-spine0").queue_max_packets;
        (cnps, took(&output, 0) / 50_000_000, longest)
    };
    let (cnps, intervals, queue) = of(by_dcqcn());
    let (none, _, longest) = of(PairControl::LineRate);
    println!("{cnps} CNPs in {intervals} intervals, queue {queue}, {longest}");
    assert!(none == 0 && cnps > 10 && cnps <= 2 * (intervals + 1), "{cnps} in {intervals}");
    assert!(queue * 4 < longest, "{queue} {longest}");
}

/// Breaks if a driver, or the number of parts, changes anything of jobs over queue pairs (`run`
/// compares them): rings, trees and exchanges beside other flows, lossless under ECMP and sprayed
/// with losses.
#[test]
fn drivers_agree() {
    use Algorithm::{Direct, HalvingDoubling, Ring, Tree};
    use Collective::{AllReduce, AllToAll};
    for (collective, algorithm) in
        [(AllReduce, Ring), (AllReduce, Tree), (AllReduce, HalvingDoubling), (AllToAll, Direct)]
    {
        let what = of(collective, algorithm, 800_000);
        let mut spec = determinism::shared(Placement::Random, what);
        spec.aqm = scheme("ecn-threshold");
        spec.workloads.push(fixed_flows(60, 100_000, 0.3));
        carry_by_pairs(&mut spec, RoceSpec { control: by_dcqcn(), ..roce() });
        flow_control(&mut spec);
        let output = run(&spec);
        assert_eq!((output.counters.dropped, output.not_started), ([0; 4], Some(0)));

        (spec.switch.pfc, spec.switch.shared) = (None, None);
        let window = Some(60_000);
        carry_by_pairs(
            &mut spec,
            RoceSpec { control: by_dcqcn(), recovery: IRN, window, ..roce() },
        );
        spec.topology.fabric_link.loss = 0.001;
        spec.balancer = scheme("rps");
        let output = run(&spec);
        let jobs = output.jobs.as_ref().expect("jobs");
        assert!(jobs.collectives.iter().all(|row| row.end.is_some()));
        assert!(output.flows.retransmits.iter().any(|again| *again > 0));
    }
}

/// Breaks if pipelines over queue pairs do not end when they would over TCP: one hop's difference
/// is the ACKs' four bytes.
#[test]
fn pipelines() {
    let what = PipelineSpec {
        bytes: Bytes(8_960),
        microbatches: 6,
        forward: Span::from_micros(100),
        backward: Span::from_micros(200),
        schedule: Schedule::AllForward,
    };
    let mut spec = star(4, JobSpec::once(JobKind::Pipeline(what)));
    carry_by_pairs(&mut spec, roce());
    let work = 9 * 300_000_000;
    let expected = work + 6 * alone(&spec, 8_960);
    let found = took(&run(&spec), 0);
    assert!(found.abs_diff(expected) <= 6 * ACK, "{found} instead of {expected}");
}
