//! DCTCP's queue: a sawtooth.

use super::{Case, Row, mean_and_error};
use crate::common::*;
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Column;
use leafspine_sim::spec::*;

/// A bottleneck, its threshold and its flows.
#[derive(Clone, Copy)]
struct Setting {
    gbps: u64,
    round_trip_us: u64,
    /// K, packets.
    threshold: u32,
    /// The estimator's gain is 1 over this.
    gain: u32,
    flows: u32,
}

impl Setting {
    /// Packets of 1500 bytes on the way and at the threshold: C x RTT + K.
    fn room(self) -> f64 {
        (self.gbps * self.round_trip_us) as f64 / 12.0 + f64::from(self.threshold)
    }

    /// What the law leaves out, in packets.
    fn left_out(self) -> f64 {
        let flows = f64::from(self.flows);
        flows * (1.5 + self.room() / flows / f64::from(self.gain) / 4.0)
    }

    /// What waits at the bottleneck, every 10 us of a second, half a second after the start.
    fn queue(self) -> Vec<f64> {
        let mut spec = base();
        spec.topology.kind = TopologyKind::Star { hosts: self.flows + 1 };
        // Two links each way: 2 x 12 us + 2 x 0.32 us of transmission at 1 Gb/s, the rest on the wire.
        let line = 24_640_000 / self.gbps;
        let delay = Span((self.round_trip_us * 1_000_000 - line) / 4);
        spec.topology.host_link = link(Rate::from_gbps(self.gbps), delay);
        let threshold = Value::Amount(Amount::Packets(self.threshold));
        spec.aqm = scheme_with("ecn-threshold", "threshold", threshold);
        let gain = Value::Float(1.0 / f64::from(self.gain));
        spec.transport.scheme = scheme_with("dctcp", "g", gain);
        spec.switch.buffer = Amount::Packets(10_000);
        spec.switch.host_ports = HostPorts::Unlimited;
        let (senders, receiver): (Vec<u16>, u16) =
            ((0..self.flows as u16).collect(), self.flows as u16);
        let flows = long_flows(self.flows, 1 << 32, hosts(&senders), hosts(&[receiver]));
        spec.workloads = vec![flows];
        spec.run.until = Some(Time(Span::from_millis(1500).0));
        spec.probes = vec![ProbeSpec {
            kind: ProbeKind::Queue,
            ports: format!("switch0-host{receiver}"),
            flows: Vec::new(),
            every: Span::from_micros(10),
            name: "queue".to_owned(),
        }];
        let output = run_long(&spec);
        let found = output.probes[0].columns.iter().find(|(name, _)| *name == "packets");
        let Some((_, Column::U64(packets))) = found else { panic!("packets are whole numbers") };
        packets[50_000..].iter().map(|p| *p as f64).collect()
    }
}

/// Mean height and mean top of the queue's cycles. A cycle begins whenever the queue rises half a
/// standard deviation above its mean after having been as much below.
fn cycles(queue: &[f64]) -> (f64, f64) {
    let mean = mean_and_error(queue).0;
    let squares: f64 = queue.iter().map(|q| (q - mean).powi(2)).sum();
    let half = (squares / queue.len() as f64).sqrt() / 2.0;
    let (mut tops, mut heights) = (Vec::new(), Vec::new());
    let (mut low, mut top, mut bottom) = (false, 0.0f64, f64::MAX);
    for q in queue {
        low |= *q < mean - half;
        if low && *q > mean + half {
            tops.push(top);
            heights.push(top - bottom);
            (low, top, bottom) = (false, 0.0, f64::MAX);
        }
        (top, bottom) = (top.max(*q), bottom.min(*q));
    }
    // The first began before the figures did.
    (mean_and_error(&heights[1..]).0, mean_and_error(&tops[1..]).0)
}

/// Amplitude and maximum, where the law holds and where not.
pub fn sawtooth() -> Case {
    let small = Setting { gbps: 1, round_trip_us: 100, threshold: 65, gain: 16, flows: 0 };
    let large = Setting { gbps: 10, round_trip_us: 500, threshold: 200, gain: 256, flows: 0 };
    let at = |setting: Setting, flows| Setting { flows, ..setting };
    let holds = "N / 2 for the round trip in which marks come back and nothing grows, N g W* / 4 for \
                 alpha's own ripple, N for windows of whole packets";
    let cut = "windows of 6 to 8 whole packets; the flows, in step, cut 2.3 each instead of 1.9";
    let two = "windows of 1.8 packets (N = 40) or less, and one is the least";
    let quick = "with g above 1.39 / √(2 (C × RTT + K)) = 0.039: alpha follows the cycle";
    let cases = [
        (at(small, 2), None),
        (at(small, 10), Some(cut)),
        (at(small, 40), Some(two)),
        (at(small, 80), Some(two)),
        (at(large, 2), None),
        (at(large, 10), None),
        (at(large, 20), None),
        (Setting { gain: 16, ..at(large, 2) }, Some(quick)),
    ];
    let mut rows = Vec::new();
    for (set, outside) in cases {
        let n = f64::from(set.flows);
        let name = format!(
            "{} Gb/s, {} us, K = {}, g = 1/{}, N = {}",
            set.gbps, set.round_trip_us, set.threshold, set.gain, set.flows
        );
        let (height, top) = cycles(&set.queue());
        let amplitude = (2.0 * n * set.room()).sqrt() / 2.0;
        let most = f64::from(set.threshold) + n;
        let (how, maximum) = ("amplitude, packets", "maximum, packets");
        rows.push(match outside {
            None => Row::bounded(name.as_str(), how, amplitude, &[height], set.left_out(), holds),
            Some(why) => Row::outside(name.as_str(), how, amplitude, &[height], why),
        });
        rows.push(if n <= 20.0 {
            Row::bounded(name, maximum, most, &[top], 1.0, "queues are whole packets")
        } else {
            Row::outside(name, maximum, most, &[top], two)
        });
    }
    Case {
        title: "DCTCP: the queue of synchronised long flows",
        law: "Amplitude √(2 N (C × RTT + K)) / 2, maximum K + N.",
        source: "Alizadeh et al., DCTCP, SIGCOMM 2010, §3.3, eq. 8 and 10",
        setup: "A star; N flows start at once to one receiver; the queue at its port every 10 us of a second, half a second after the start; means over the cycles.",
        domain: "Large windows W* = (C × RTT + K) / N and a small g. With W* of 8 packets and less alpha is not small (the law takes α = √(2 / W*)) and flows in step cut by whole packets: the amplitude is larger than predicted, the maximum still right. With W* below 2 windows cannot shrink any more, and the queue stands at N packets less what is on the way.",
        rows,
    }
}
