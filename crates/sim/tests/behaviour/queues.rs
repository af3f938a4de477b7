//! What transports make of a bottleneck's queue.

use super::common::*;
use leafspine_core::{Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// `senders` long flows into one 10 Gb/s link for so many ms, ports measured from 10 ms on. The
/// round trip of an empty network is 6.5 us, 5 packets.
fn bottleneck(senders: u32, transport: &str, aqm: SchemeSpec, ms: u64) -> Output {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: senders + 1 };
    spec.transport.scheme = scheme(transport);
    spec.aqm = aqm;
    spec.workloads = vec![long_flows(senders, 1_000_000_000, HostSet::Rest, HostSet::First(1))];
    let end = Time(Span::from_millis(ms).0);
    spec.measure.window = Window::Between(Time(Span::from_millis(10).0), end);
    spec.run.until = Some(end);
    run(&spec)
}

fn marks_at(k: u32) -> SchemeSpec {
    scheme_with("ecn-threshold", "threshold", Value::Amount(Amount::Packets(k)))
}

/// Breaks if DCTCP does not hold a queue near K: the windows' sum passes K by at most one segment
/// a flow and round trip before the marks are back, so the queue peaks at K + N (SIGCOMM 2010,
/// eq. 10), and its sawtooth is well under K deep (eq. 8), so the line never idles.
#[test]
fn dctcp_holds_the_queue_near_k() {
    for (k, senders) in [(20, 2), (65, 2), (65, 8)] {
        let output = bottleneck(senders, "dctcp", marks_at(k), 50);
        let queue = port(&output, "switch0-host0");
        let (most, mean) = (queue.queue_max_packets, queue.queue_mean_packets);
        let k64 = f64::from(k);
        assert!(most >= k && most <= k + senders + 2, "K {k}, {senders} flows: peak {most}");
        assert!(mean > 0.5 * k64 && mean < k64 + f64::from(senders), "K {k}: mean {mean}");
        assert!(queue.utilisation > 0.999, "K {k}: {}", queue.utilisation);
        assert_eq!(output.counters.dropped, [0; 4]);
    }
}

/// Breaks if NewReno stops before the buffer is full: only a loss tells it to, so a drop-tail queue
/// of 256 fills to the brim, and as it halves a window of 256 it stays above half on average.
#[test]
fn newreno_fills_a_droptail_buffer() {
    let output = bottleneck(2, "newreno", scheme("droptail"), 50);
    let queue = port(&output, "switch0-host0");
    assert_eq!(queue.queue_max_packets, 255, "the last packet that fits finds 255");
    assert!(queue.drops > 0 && queue.queue_mean_packets > 128.0, "{}", queue.queue_mean_packets);
    assert!(queue.utilisation > 0.999);
}

/// Breaks if DCTCP's flows do not share alike: all see the same marks, so equal windows are the
/// fixed point. Windows are nine segments here and wander for hundreds of round trips (85 us each),
/// so shares are counted over 400 ms, the start included: Jain's index.
#[test]
fn dctcp_flows_share_fairly() {
    let output = bottleneck(8, "dctcp", marks_at(65), 400);
    let got: Vec<f64> = output.flows.packets.iter().map(|n| f64::from(*n)).collect();
    let sum: f64 = got.iter().sum();
    let squares: f64 = got.iter().map(|x| x * x).sum();
    let jain = sum * sum / (got.len() as f64 * squares);
    assert!(jain > 0.95, "{jain}: {got:?}");
}
