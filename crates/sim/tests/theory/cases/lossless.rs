//! Queue pairs over lossless Ethernet: a lone one, several that share a link, and pauses.

use super::{Case, Row};
use crate::common::*;
use leafspine_core::{Bytes, Rate, Span, Time};
use leafspine_fabric::kinds::{Defaults, Edge, Vertex, Wiring};
use leafspine_schemes::Amount;
use leafspine_schemes::rdma::HpccSettings;
use leafspine_sim::spec::*;
use std::sync::Arc;

/// DCQCN, or none.
fn controlled(by_dcqcn: bool) -> PairControl {
    if by_dcqcn { PairControl::Dcqcn(dcqcn()) } else { PairControl::LineRate }
}

/// A queue pair that has the fabric to itself.
pub fn lone() -> Case {
    let mut rows = Vec::new();
    for (gbps, control) in [(10, false), (100, false), (100, true), (400, true)] {
        for packets in [1u64, 100, 10_000] {
            let flow = long_flows(1, 1000 * packets, hosts(&[0]), hosts(&[5]));
            let roce = RoceSpec { control: controlled(control), ..roce() };
            let mut spec = pairs(leaf_spine(2, 2, 4), roce, vec![flow]);
            let link = link(Rate::from_gbps(gbps), Span::from_micros(1));
            (spec.topology.host_link, spec.topology.fabric_link) = (link, link);
            // A packet of 1,050 bytes on a line; three more lines than its own, and four delays.
            let line = 1050 * 8000 / gbps;
            let law = (packets + 3) * line + 4_000_000;
            let found = run_long(&spec).flows.fct_ps[0];
            let s = if packets == 1 { "" } else { "s" };
            let rate = if control { "DCQCN" } else { "line rate" };
            let setting = format!("{packets} packet{s}, {gbps} Gb/s, {rate}");
            rows.push(Row::exact(setting, "completion time, ps", law as f64, found as f64));
        }
    }
    Case {
        title: "A lone queue pair: the line's rate",
        law: "n packets back to back over h links: (n + h − 1) × size / rate + h delays.",
        source: "Store and forward, by hand",
        setup: "Four links of 1 us, flow control, packets of 1,050 bytes on the wire; DCQCN without marks stays at the line's rate.",
        domain: "As long as nothing marks.",
        rows,
    }
}

/// What keeps several queue pairs to one host from sending more than the line takes.
#[derive(Clone, Copy, PartialEq)]
enum Restraint {
    Pauses,
    Dcqcn,
    Hpcc,
}

/// Packets of each of `n` senders to one host that came from 100 to 200 ms after they started, and how many bytes
/// each has on the last link.
fn come(n: u16, restraint: Restraint) -> (Vec<f64>, f64) {
    let senders: Vec<u16> = (0..n).collect();
    let flows = long_flows(n.into(), 1 << 32, hosts(&senders), hosts(&[8]));
    let (control, size) = match restraint {
        Restraint::Pauses => (PairControl::LineRate, 1050.0),
        Restraint::Dcqcn => (PairControl::Dcqcn(dcqcn()), 1050.0),
        // Telemetry: two bytes from the host on, eight more of the switch.
        Restraint::Hpcc => (PairControl::Hpcc(HPCC), 1060.0),
    };
    let roce = RoceSpec { control, ..roce() };
    let mut spec = pairs(TopologyKind::Star { hosts: 9 }, roce, vec![flows]);
    spec.aqm = scheme("ecn-threshold");
    let mut until = |ms: u64| -> Vec<f64> {
        spec.run.until = Some(Time(Span::from_millis(ms).0));
        run_long(&spec).flows.packets.iter().map(|packets| f64::from(*packets)).collect()
    };
    let (half, whole) = (until(100), until(200));
    (whole.iter().zip(half).map(|(whole, half)| whole - half).collect(), size)
}

/// Several queue pairs to one host: by pauses alone, by DCQCN, and by HPCC.
pub fn shares() -> Case {
    use Restraint::{Dcqcn, Hpcc, Pauses};
    let mut rows = Vec::new();
    for (n, restraint) in
        [(2, Pauses), (4, Pauses), (8, Pauses), (2, Dcqcn), (8, Dcqcn), (2, Hpcc), (8, Hpcc)]
    {
        let (got, size) = come(n, restraint);
        let total: f64 = got.iter().sum();
        let squares: f64 = got.iter().map(|packets| packets * packets).sum();
        let rate = match restraint {
            Pauses => "flow control alone",
            Dcqcn => "DCQCN",
            Hpcc => "HPCC",
        };
        let setting = format!("{n} senders, {rate}");
        if restraint == Pauses {
            let law = 100.0 / f64::from(n);
            let least = 100.0 * got.iter().copied().fold(f64::INFINITY, f64::min) / total;
            let figure = "smallest share of the line, %";
            let why = "1 % of the share: a pause begins and ends with whole packets";
            rows.push(Row::bounded(&setting, figure, law, &[least], law / 100.0, why));
        }
        let used = 100.0 * total * size * 8.0 / (10e9 * 0.1);
        rows.push(used_of_the_line(&setting, restraint, used));
        let jain = total * total / (f64::from(n) * squares);
        let why = "a tenth of the rate as the spread of a tenth of a second's means: its square";
        rows.push(Row::bounded(&setting, "Jain's index", 1.0, &[jain], 0.01, why));
    }
    Case {
        title: "Queue pairs that share a link",
        law: "N senders to one host have a share of 1/N each, and all together the line: of HPCC's its eta, 95 %.",
        source: "By symmetry; Zhu et al., DCQCN, SIGCOMM 2015, §5, whose fluid model has no other fixed point; Li et al., HPCC, SIGCOMM 2019, §3.2",
        setup: "A star at 10 Gb/s, one queue pair a host, what comes from 100 to 200 ms after they start; flow control with marks at a threshold, or without rate control. What all have together is of bytes on the wire.",
        domain: "Of one bottleneck. Flow control alone shares by ingress ports, not by flows: several flows behind one port would share its part.",
        rows,
    }
}

/// What all senders together have of the line, in percent.
fn used_of_the_line(setting: &str, restraint: Restraint, used: f64) -> Row {
    let (law, allowed, why) = match restraint {
        Restraint::Pauses => {
            (100.0, 1.0, "1 % of the line: a pause begins and ends with whole packets")
        }
        // Half, a quarter, ... a thirty-second, over the five steps of fast recovery.
        Restraint::Dcqcn => (
            100.0,
            100.0 * 31.0 / 32.0 / 5.0,
            "a fifth of the line is what DCQCN may leave: a cut takes half of the rate at most, and each of the five steps of fast recovery gives half of what is missing back",
        ),
        Restraint::Hpcc => (
            95.0,
            100.0 * 1060.0 * 8.0 / (HPCC.base_rtt.0 as f64 / 100.0),
            "HPCC takes what waits for use: a packet of 1,060 bytes in the mean stands for 15 % of the line at a round trip of 5.8 us",
        ),
    };
    Row::bounded(setting, "all together, % of the line", law, &[used], allowed, why)
}

/// HPCC by its paper's constants; the round trip of a star of 10 Gb/s and 1 us.
const HPCC: HpccSettings =
    HpccSettings { base_rtt: Span(5_800_000), eta: 0.95, stages: 5, additive: 8 };

/// Two switches of a host each, between which the link is fast, and the way to host 1 is slow.
fn two_switches(slow_mbps: u64) -> Spec {
    let vertex = |name: &str, host| Vertex { name: name.to_owned(), host: Some(host), tier: None };
    let vertices =
        [vertex("h0", true), vertex("h1", true), vertex("s0", false), vertex("s1", false)];
    let edge = |ends, mbps| Edge {
        ends,
        rate: Some(Rate::from_mbps(mbps)),
        delay: Some(Span::from_micros(1)),
        loss: None,
    };
    let edges = [edge((0, 2), 10_000), edge((1, 3), slow_mbps), edge((2, 3), 10_000)];
    let none = Defaults { host: None, fabric: None };
    let wiring = Wiring::new(&vertices, &edges, &none).expect("a fabric");
    let flows = long_flows(1, 1000 * 1450, hosts(&[0]), hosts(&[1]));
    let mut spec = pairs(TopologyKind::File(Arc::new(wiring)), roce(), vec![flows]);
    // 1,500 bytes on the wire.
    spec.transport.mss = 1450;
    spec.switch.shared = Some(SharedBuffer { size: Bytes(1_000_000), alpha: 1.0 });
    spec.switch.buffer = Amount::Bytes(1_000_000);
    spec.switch.pfc = Some(PfcSpec {
        lossless: 1,
        threshold: PfcThreshold::Static(Bytes(6_000)),
        reserve: Bytes(0),
        resume: Bytes(3_000),
        headroom: None,
        watchdog: None,
    });
    spec
}

/// A line of 10 Gb/s and 1,500 bytes, a pause frame of 64 on it, and a link's delay, ps.
const LINE: u64 = 1_200_000;
const FRAME: u64 = 51_200;
const DELAY: u64 = 1_000_000;

/// When the first switch stops and goes on, if the second sends a packet in `slow` ps: see [`pauses`].
fn first_pause(slow: u64) -> (u64, u64) {
    // Packet k, from 1, is at s1 then; there packet j begins at the other.
    let comes = |k: u64| (k + 1) * LINE + 2 * DELAY;
    let leaves = |j: u64| comes(1) + (j - 1) * slow;
    let waiting = |k: u64| k - ((comes(k) - comes(1)) / slow + 1);
    let full = (1..).find(|k| waiting(*k) == 5).expect("a packet that is one too many");
    let stop = comes(full) + FRAME + DELAY;
    // What s0 has begun to send comes.
    let last = (1..).take_while(|k| k * LINE + DELAY < stop).last().expect("one at least");
    (stop, leaves(last - 2) + FRAME + DELAY)
}

/// Pause and resume on two switches.
pub fn pauses() -> Case {
    let mut rows = Vec::new();
    for slow in [500, 1_000, 6_000] {
        let (stop, on) = first_pause(1500 * 8_000_000 / slow);
        let mut spec = two_switches(slow);
        let mut until = |time: u64| {
            spec.run.until = Some(Time(time));
            port(&run_long(&spec), "s0-s1").pause_ps as f64
        };
        // A moment before it goes on it has stood still since it stopped; a moment later it has for the whole time.
        let (before, after) = (until(on - 1), until(on + 1));
        let setting = format!("to a host at {} Gb/s", slow as f64 / 1000.0);
        let stopped = (on - 1) as f64 - before;
        rows.push(Row::exact(&setting, "the first switch stops, ps", stop as f64, stopped));
        let law = (on - stop) as f64;
        rows.push(Row::exact(&setting, "and stands still for, ps", law, after));
    }
    Case {
        title: "Priority flow control: pause and resume",
        law: "A switch asks for a pause when more than the threshold waits of what came in by a link, and lets go on when 3,000 bytes less do; a frame takes 64 bytes' time and the link's delay.",
        source: "IEEE 802.1Qbb, by hand",
        setup: "Host, switch, switch, host at 10 Gb/s and 1 us, a slow last link, packets of 1,500 bytes from the start; threshold 6,000 bytes. Five packets wait at the second switch: the first stops a frame and a delay later. Two are left of what it had begun to send by then: it goes on likewise.",
        domain: "A frame behind a packet on its line comes that much later.",
        rows,
    }
}
