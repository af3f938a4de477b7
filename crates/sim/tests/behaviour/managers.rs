//! What queue managers make of a bottleneck, each against the number it is after.

use super::common::*;
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{Output, PortRow};

/// Eight long flows into one 10 Gb/s link for 50 ms, measured from 10 ms on; with `queues` service
/// queues of equal weight, flows hashed to them. The round trip of the empty network is 6.5 us.
fn bottleneck(transport: &str, aqm: SchemeSpec, queues: u8) -> Output {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 9 };
    spec.transport.scheme = scheme(transport);
    spec.aqm = aqm;
    if queues > 1 {
        spec.switch.queues = queues;
        spec.switch.scheduler = SchedulerKind::Dwrr;
        spec.switch.weights = vec![1; usize::from(queues)];
    }
    spec.workloads = vec![long_flows(8, 1_000_000_000, HostSet::Rest, HostSet::First(1))];
    let end = Time(Span::from_millis(50).0);
    spec.measure.window = Window::Between(Time(Span::from_millis(10).0), end);
    spec.run.until = Some(end);
    run(&spec)
}

fn last_hop(output: &Output) -> &PortRow {
    port(output, "switch0-host0")
}

fn threshold(name: &str, k: u32) -> SchemeSpec {
    scheme_with(name, "threshold", Value::Amount(Amount::Packets(k)))
}

/// Breaks if MQ-ECN does not share one threshold among the busy queues: four queues of equal weight
/// have a quarter of K each, so the port's queue is about K, where a full threshold a queue lets it
/// grow to four K (the latency that the paper sets out to save). The line stays busy with both.
#[test]
fn mq_ecn_shares_one_threshold() {
    let shared = bottleneck("dctcp", threshold("mq-ecn", 64), 4);
    let each = bottleneck("dctcp", threshold("ecn-threshold", 64), 4);
    let (shared, each) = (last_hop(&shared), last_hop(&each));
    let ratio = each.queue_mean_packets / shared.queue_mean_packets;
    assert!(ratio > 2.0, "{} against {}", each.queue_mean_packets, shared.queue_mean_packets);
    assert!(shared.queue_mean_packets < 64.0 + 8.0, "{}", shared.queue_mean_packets);
    assert!(shared.utilisation > 0.999 && each.utilisation > 0.999);
}

/// Breaks if MQ-ECN takes the time for which a port was idle for a round of its scheduler: bursts of ten
/// packets a millisecond apart, in two queues, never have more waiting than the ten, a seventh of K. A
/// round of a millisecond would leave each queue a threshold of less than a packet.
#[test]
fn mq_ecn_marks_no_sparse_bursts() {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 1, 4);
    spec.topology.host_link.rate = Rate::from_gbps(40);
    spec.switch.queues = 2;
    spec.switch.scheduler = SchedulerKind::Wrr;
    spec.switch.weights = vec![1, 1];
    spec.aqm = scheme("mq-ecn");
    spec.workloads = vec![WorkloadSpec {
        kind: WorkloadKind::Poisson {
            arrivals: Arrivals::Interarrival(Span::from_millis(1)),
            stop: Stop::Flows(200),
        },
        ..fixed_flows(200, 14_600, 0.1)
    }];
    assert_eq!(run(&spec).counters.marks, 0);
}

/// Breaks if TCN's threshold on the time is not one on the length where the rate is fixed: T of 64
/// packet times holds DCTCP's queue where K = 64 does.
#[test]
fn tcn_is_a_threshold_in_time() {
    let time = Value::Span(Span::from_nanos(64 * 1_200));
    let by_time = bottleneck("dctcp", scheme_with("tcn", "rtt", time), 1);
    let by_length = bottleneck("dctcp", threshold("ecn-threshold", 64), 1);
    let (time, length) =
        (last_hop(&by_time).queue_mean_packets, last_hop(&by_length).queue_mean_packets);
    assert!((time / length - 1.0).abs() < 0.1, "{time} against {length}");
    assert!(last_hop(&by_time).utilisation > 0.999);
}

/// Breaks if CoDel lets drop-tail's standing queue stand: NewReno fills 256 packets, CoDel's target
/// of 20 packet times brings the mean down to a few times that, by drops where nothing is
/// ECN-capable, and the buffer itself drops nothing once the start is over.
#[test]
fn codel_ends_a_standing_queue() {
    let mut codel = scheme_with("codel", "target", Value::Span(Span::from_nanos(20 * 1_200)));
    codel.params = codel.params.with("interval", Value::Span(Span::from_micros(400)));
    let controlled = bottleneck("newreno", codel, 1);
    let standing = bottleneck("newreno", scheme("droptail"), 1);
    let (with, without) = (last_hop(&controlled), last_hop(&standing));
    let ratio = without.queue_mean_packets / with.queue_mean_packets;
    assert!(ratio > 2.0, "{} against {}", without.queue_mean_packets, with.queue_mean_packets);
    assert!(controlled.counters.dropped[1] > 0, "{:?}", controlled.counters.dropped);
    assert!(with.utilisation > 0.97, "{}", with.utilisation);
}

/// Breaks if A-ECN's threshold does not come down where no queue ever runs empty: eight DCTCP flows
/// keep the line busy at any threshold, so the queue ends well below the fixed one's.
#[test]
fn a_ecn_takes_what_is_not_needed() {
    let adaptive = bottleneck("dctcp", threshold("a-ecn", 65), 1);
    let fixed = bottleneck("dctcp", threshold("ecn-threshold", 65), 1);
    let (with, without) = (last_hop(&adaptive), last_hop(&fixed));
    assert!(
        with.queue_mean_packets < 0.6 * without.queue_mean_packets,
        "{} against {}",
        with.queue_mean_packets,
        without.queue_mean_packets
    );
    assert!(with.utilisation > 0.99, "{}", with.utilisation);
}
