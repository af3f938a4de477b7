//! What AQ-CAR makes of a fabric: its own setting (§III), with 4 leaves, spines and hosts a leaf instead
//! of 12.

use super::common::*;
use super::{numbers, probe, uplink_packets};
use leafspine_core::{Rate, Span};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{Output, Simulation};

const SMALL: u64 = 100_000;

/// 10 Gb/s, a round trip of about 85 us of which 80 are the hosts', web search at load 0.8. The baseline:
/// ECMP and DCTCP over three queues of equal weight, flows hashed to them, K = 64 each.
fn baseline(seed: u64) -> Spec {
    let mut spec = base();
    let link = link(Rate::from_gbps(10), Span::from_nanos(200));
    (spec.topology.host_link, spec.topology.fabric_link) = (link, link);
    spec.topology.host_delay = Span::from_micros(20);
    spec.switch.buffer = Amount::Packets(200);
    spec.switch.queues = 3;
    spec.switch.scheduler = SchedulerKind::Wrr;
    spec.switch.weights = vec![1; 3];
    spec.aqm = scheme_with("ecn-threshold", "threshold", Value::Amount(Amount::Packets(64)));
    spec.transport.init_cwnd = Amount::Packets(16);
    spec.transport.min_rto = Span::from_millis(5);
    spec.workloads = vec![WorkloadSpec {
        sizes: leafspine_sim::workload::named("web-search").expect("ships"),
        ..fixed_flows(600, 1, 0.8)
    }];
    spec.run.seed = seed;
    spec
}

/// The bundle `aq-car` over the same flows, with this balancer.
fn aq_car(spec: Spec, balancer: SchemeSpec) -> Spec {
    let mut spec = spec;
    spec.balancer = balancer;
    spec.aqm = scheme("ml-ecn");
    spec.edge = Some(edge("aq-car"));
    spec.switch.weights = vec![4, 2, 1];
    spec.switch.classifier = Classifier::Stage;
    spec.switch.stage_queues = vec![0, 1, 1, 1, 1, 2];
    spec
}

/// The balancer as its text was read first: what it costs medium flows was measured so.
fn first_read() -> SchemeSpec {
    let word = |text: &str| Value::Word(text.to_owned());
    let mut found = scheme("aq-car");
    for (key, value) in [
        ("reroute_stages", word("upper-half")),
        ("stop_level", Value::Int(1)),
        ("uncongested_only", Value::Bool(false)),
        ("large_sharing", word("one-leaf")),
    ] {
        found.params = found.params.with(key, value);
    }
    found
}

fn without(key: &str) -> SchemeSpec {
    let found = first_read();
    SchemeSpec { params: found.params.with(key, Value::Bool(false)), ..found }
}

/// Mean completion time of flows up to `SMALL`, in us.
fn small_fct(output: &Output) -> f64 {
    let flows = &output.flows;
    let small = flows.bytes.iter().zip(&flows.fct_ps).filter(|(bytes, _)| **bytes <= SMALL);
    let fct: Vec<f64> = small.map(|(_, fct)| *fct as f64 / 1e6).collect();
    fct.iter().sum::<f64>() / fct.len() as f64
}

/// Mean time that data packets of flows up to `SMALL` wait at the ports that are watched, in us.
fn small_wait(output: &Output) -> f64 {
    let (flow, size) = (numbers(&output.probes[0], "flow"), numbers(&output.probes[0], "size"));
    let waited = numbers(&output.probes[0], "waited_ps");
    let bytes = |flow: u64| output.flows.bytes[flow as usize];
    let small = |at: &usize| size[*at] > 40 && bytes(flow[*at]) <= SMALL;
    let waits: Vec<u64> = (0..flow.len()).filter(small).map(|at| waited[at]).collect();
    assert!(waits.len() > 1_000, "{} packets", waits.len());
    waits.iter().sum::<u64>() as f64 / waits.len() as f64 / 1e6
}

/// Breaks if short flows do not see a shorter queue (§III-A2a). They must: hashed to one of three equal
/// queues, a short flow's packet waits behind long flows' up to K and gets a third of the line; in
/// AQ-CAR's small queue it waits behind short flows and ACKs only, and gets four turns in seven.
#[test]
fn short_flows_wait_less_than_with_ecmp_and_dctcp() {
    let run_watched = |mut spec: Spec| {
        spec.probes = vec![probe(ProbeKind::Packets, "spine*-leaf*", Span::ZERO)];
        run(&spec)
    };
    let before = run_watched(baseline(1));
    let after = run_watched(aq_car(baseline(1), first_read()));
    let (waited, waits) = (small_wait(&before), small_wait(&after));
    assert!(waits < 0.5 * waited, "{waits} us, {waited} us with ECMP and DCTCP");
    let (took, takes) = (small_fct(&before), small_fct(&after));
    assert!(takes < 0.75 * took, "{takes} us, {took} us with ECMP and DCTCP");
    // 64 for the whole port instead of 64 for each of three queues: fewer losses, too (§III-C).
    assert!(after.counters.dropped[0] * 4 < before.counters.dropped[0]);
}

/// Breaks if medium flows do not move, or if moving reorders: a flow moves to a path that is expected to
/// take longer than what its last packet has still to wait (§II-B2b, eqs. 1 to 3). The estimates are of
/// quarters of K, so some packets overtake; beyond these, only changes of queue reorder (a flow that
/// becomes medium leaves a queue that may be longer).
#[test]
fn medium_flows_move_with_little_reordering() {
    let moved = |output: &Output| {
        let flows = &output.flows;
        let medium = |at: &usize| (SMALL + 1..=10_000_000).contains(&flows.bytes[*at]);
        (0..flows.bytes.len()).filter(medium).filter(|at| flows.path_changes[*at] > 0).count()
    };
    let on = run(&aq_car(baseline(1), first_read()));
    let off = run(&aq_car(baseline(1), without("medium_rerouting")));
    assert!(moved(&on) >= 30 && moved(&off) <= 3, "{} and {} moved", moved(&on), moved(&off));
    let share = |output: &Output| {
        output.counters.reordered_packets as f64 / output.counters.data_packets as f64
    };
    assert!(share(&on) < 0.001, "{} of all packets", share(&on));
    // Over the same queues, packets sprayed without a look at what is ahead of them.
    let sprayed = share(&run(&aq_car(baseline(1), scheme("rps"))));
    assert!(share(&on) * 50.0 < sprayed, "{} and {sprayed} sprayed", share(&on));
}

/// Mean length of the queues of all ports from one tier to another, in packets.
fn mean_queue(output: &Output, from: &str, to: &str) -> f64 {
    let between = |name: &str| name.starts_with(from) && name.contains(to);
    let queues: Vec<f64> = output
        .ports
        .iter()
        .filter(|port| between(&port.name))
        .map(|port| port.queue_mean_packets)
        .collect();
    assert_eq!(queues.len(), 16);
    queues.iter().sum::<f64>() / 16.0
}

/// States what is true and not what the paper claims (§III-A1b: lower completion times of medium flows).
/// Medium routing clears the spines' queues and fills the leaves': eq. 3 admits only paths on which the
/// next packet waits longer than the last one still does, and a flow behind a congested spine finds that
/// on an uplink whose own queue is long. Stamps are the spines', so nothing moves it away from there.
/// Breaks if one of the two is no longer so.
#[test]
fn medium_routing_moves_queues_from_spines_to_uplinks() {
    let (mut spines, mut uplinks) = ([0.0; 2], [0.0; 2]);
    for seed in [1, 2] {
        for (at, balancer) in [first_read(), without("medium_rerouting")].into_iter().enumerate() {
            let output = run(&aq_car(baseline(seed), balancer));
            spines[at] += mean_queue(&output, "spine", "-leaf");
            uplinks[at] += mean_queue(&output, "leaf", "-spine");
        }
    }
    assert!(spines[0] < 0.9 * spines[1], "{spines:?} packets with and without");
    assert!(uplinks[0] > 1.1 * uplinks[1], "{uplinks:?} packets with and without");
}

/// Four flows of 40 MB between the hosts of two leaves with four spines: no more than the uplinks can
/// carry, if each takes its own. The last one's completion time in ms, over seeds.
fn four_large_flows(balancer: &SchemeSpec) -> Vec<f64> {
    let last = |seed| {
        let mut spec = aq_car(baseline(seed), balancer.clone());
        spec.topology.kind = leaf_spine(2, 4, 4);
        spec.workloads =
            vec![long_flows(4, 40_000_000, hosts(&[0, 1, 2, 3]), hosts(&[4, 5, 6, 7]))];
        let fct = run(&spec).flows.fct_ps;
        *fct.iter().max().expect("four") as f64 / 1e9
    };
    (1..=6).map(last).collect()
}

/// Breaks if large flows on one port are not parted (§II-B2c). Their first paths are drawn (all queues are
/// empty): with four flows and uplinks two share one in 9 of 10 runs, and the last of them takes 64 ms or more
/// instead of 33. They are parted when both have sent 10 MB.
#[test]
fn large_flows_are_parted() {
    let mut only_large = without("medium_rerouting");
    let parted = four_large_flows(&only_large);
    only_large.params = only_large.params.with("large_rerouting", Value::Bool(false));
    let shared = four_large_flows(&only_large);
    let sum = |ms: &[f64]| ms.iter().sum::<f64>();
    assert!(sum(&parted) < 0.85 * sum(&shared), "{parted:?} ms, {shared:?} ms left alone");
    for (parted, shared) in parted.iter().zip(&shared) {
        assert!(*parted < shared * 1.02, "{parted} ms, {shared} ms left alone");
    }
}

/// Breaks if the small table does not come back with the SYN-ACK, or is not heeded: the link from spine 0
/// to leaf 1 is ten times slower, so its small queue stands and new flows avoid the spine. ECMP sends
/// it a quarter of the flows, and again what they lose; AQ-CAR the SYNs, and what it takes to see the queue.
/// (Not nothing: a queue that has drained is level 0, and the next flows try again.)
#[test]
fn new_flows_avoid_a_congested_spine() {
    let share = |balancer: SchemeSpec| {
        let mut spec = aq_car(baseline(1), balancer);
        spec.topology.kind = leaf_spine(2, 4, 4);
        spec.changes = vec![LinkChange {
            rate: Some(Rate::from_gbps(1)),
            ..change("leaf1-spine0", Span::ZERO)
        }];
        spec.measure.window = Window::All;
        spec.workloads = vec![WorkloadSpec {
            senders: HostSet::Under("leaf0".to_owned()),
            receivers: HostSet::Under("leaf1".to_owned()),
            ..fixed_flows(2_000, 73_000, 0.6)
        }];
        let packets = uplink_packets(&run(&spec), 4);
        packets[0] as f64 / packets.iter().sum::<u64>() as f64
    };
    let (ecmp, aq_car) = (share(scheme("ecmp")), share(first_read()));
    assert!(ecmp > 0.22, "{ecmp}");
    assert!(aq_car < 0.5 * ecmp, "{aq_car} of the packets, {ecmp} with ECMP");
}

/// Breaks if AQ-CAR loses count of packets, sends into dead links or strands flows when links fail and
/// return: `run` checks that packets are conserved and that every flow has its bytes exactly once.
#[test]
fn packets_are_conserved_when_links_fail() {
    let mut spec = aq_car(baseline(2), first_read());
    let at =
        |link: &str, ms, up| LinkChange { up: Some(up), ..change(link, Span::from_millis(ms)) };
    spec.changes = vec![
        at("leaf0-spine1", 5, false),
        at("leaf2-spine1", 8, false),
        at("leaf0-spine2", 10, false),
        at("leaf0-spine1", 20, true),
        at("leaf1-spine0", 25, false),
        at("leaf0-spine2", 30, true),
        at("leaf1-spine0", 40, true),
        at("leaf2-spine1", 45, true),
    ];
    let output = run(&spec);
    assert!(output.counters.lost > 0, "something was on the links");
    assert_eq!(output.counters.dropped[3], 0, "there was always a way");
}

/// Breaks if the system is taken where ports do not read stages: every packet would be of one class.
#[test]
fn it_needs_ports_that_read_stages() {
    let mut spec = aq_car(baseline(1), first_read());
    spec.switch.classifier = Classifier::Hash;
    let error = Simulation::new(&spec).err().expect("refused").to_string();
    assert!(error.starts_with("load_balancer.scheme: found switch.stage_queues = []"), "{error}");
}
