//! What queue pairs carry over links that lose packets at random.

use super::{Case, Row};
use crate::common::*;
use leafspine_core::Span;
use leafspine_schemes::Amount;
use leafspine_sim::spec::*;

const PACKETS: u32 = 60_000;
const RUNS: u64 = 4;
/// How long a packet of 1,050 bytes keeps a line of 10 Gb/s, ps: the slot in which the closed forms count.
const LINE: f64 = 840_000.0;
/// The round trip in slots: a packet on two links, an answer of 54 bytes on two, four delays of 1 us.
const ROUND_TRIP: f64 = 2.0 + (2.0 * 43_200.0 + 4_000_000.0) / LINE;

/// What arrives, in percent of what the line carries, in runs of other seeds.
fn goodput(recovery: Recovery, loss: f64, timeout: Span) -> Vec<f64> {
    let flow = long_flows(1, 1000 * u64::from(PACKETS), hosts(&[0]), hosts(&[1]));
    let roce = RoceSpec { recovery, timeout, max_timeout: timeout, ..roce() };
    let mut spec = pairs(TopologyKind::Star { hosts: 2 }, roce, vec![flow]);
    (spec.switch.pfc, spec.switch.shared) = (None, None);
    spec.switch.buffer = Amount::Packets(1000);
    spec.transport.min_rto = timeout;
    spec.transport.max_rto = timeout;
    spec.topology.host_link.loss = loss;
    let run = |seed| {
        spec.run.seed = seed;
        100.0 * f64::from(PACKETS) * LINE / run_long(&spec).flows.fct_ps[0] as f64
    };
    (1..=RUNS).map(run).collect()
}

/// A packet, or an answer, that passes two links is lost with this probability.
fn lost(loss: f64) -> f64 {
    1.0 - (1.0 - loss) * (1.0 - loss)
}

/// Packets that IRN sends for each that comes, if the oldest that is missing holds all others back.
///
/// A packet is known to have come if its own NAK came, too: it is not with `unknown`. It is sent,
/// once more in the same recovery if it is lost, or if its answer is while one before it is missing
/// (`recovering`; the next answer is for both otherwise), and at each timeout (`n` slots) for as
/// long as nothing has told of it and it, or one before it, is missing. A packet that is lost
/// misses for a round trip, one that is lost again until a timeout: `missing` at a time, Poisson.
/// Of the `n` packets between two timeouts `own` miss after `k` times, of older ones `older`. What
/// is on its way when a timeout comes is not sent again, unless it is the oldest that is missing.
fn sent_by_irn(q: f64, n: f64) -> f64 {
    let unknown = 1.0 - (1.0 - q) * (1.0 - q);
    let later: f64 = (2..40)
        .map(|k| {
            let (own, older) = (n * q.powi(k), n * q.powi(k + 1) / (1.0 - q));
            let held = 1.0 - (-older).exp() * (1.0 - (-own).exp()) / own;
            q.powi(k) + (unknown.powi(k) - q.powi(k)) * held
        })
        .sum();
    let missing = q * (ROUND_TRIP + 1.0) + n * q * q / (1.0 - q);
    let recovering = 1.0 - (-missing).exp();
    1.0 + q + (unknown - q) * recovering + later
}

/// Slots that go-back-N loses with a packet: until it is sent again and comes. The first packet
/// behind it that comes causes a NAK, a round trip after its start. If that is lost, or the packet
/// once more, the timeout passes since the last news.
fn lost_by_go_back_n(q: f64, timeout: f64) -> f64 {
    let told = 1.0 / (1.0 - q) + ROUND_TRIP.ceil();
    let untold = (timeout + ROUND_TRIP - 1.0).ceil() + q / (1.0 - q) * timeout;
    (1.0 - q) * ((1.0 - q) * told + q * untold) + q * untold
}

/// Goodput under random loss.
///
/// Breaks if IRN sends again what it has been told of, tells of a packet that comes once more by
/// anything but a NAK, or leaves the line idle while there is something to send; if go-back-N does
/// not begin again at once, goes on after a gap as if nothing were, or if a timeout does not count
/// from the last progress.
pub fn under_loss() -> Case {
    let figure = "goodput, % of the line";
    let mut rows = Vec::new();
    let mut row = |name: &str, loss: f64, law: f64, found: &[f64], within: f64, why: &str| {
        let setting = format!("{name}, {} % of packets lost on each link", 100.0 * loss);
        rows.push(Row::bounded(setting, figure, law, found, law * within, why));
    };
    let few = "a thousandth: the timeout of the last packets";
    let some = "half a percent: as below, and timeouts at the flow's end";
    let irn = "1 %: how many miss at a time is taken as independent of who is late";
    let many = "2 %: recoveries that overlap are counted as if each were alone, and the flow's end";
    for (loss, within, why) in
        [(0.001, 0.001, few), (0.01, 0.005, some), (0.05, 0.01, irn), (0.1, 0.01, irn)]
    {
        let sent = sent_by_irn(lost(loss), 320_000_000.0 / LINE);
        let found = goodput(IRN, loss, Span::from_micros(320));
        row("IRN", loss, 100.0 / sent, &found, within, why);
    }
    for (loss, within, why) in [(0.001, 0.001, few), (0.01, 0.02, many), (0.1, 0.02, many)] {
        let q = lost(loss);
        let law = 100.0 / (1.0 + q * lost_by_go_back_n(q, 100_000_000.0 / LINE));
        let found = goodput(Recovery::GoBackN, loss, Span::from_micros(100));
        row("go-back-N", loss, law, &found, within, why);
    }
    Case {
        title: "IRN and go-back-N under random loss",
        law: "IRN sends each packet 1 / (1 − q) times (q: lost on its way), and more often where its answer is lost while an older packet misses, most of all where that waits for a timeout; go-back-N loses a round trip, or a timeout, with each packet that is lost.",
        source: "Renewal arguments by hand, after Mittal et al., IRN, SIGCOMM 2018, §3; formulas in crates/sim/tests/theory/cases/recovery.rs",
        setup: "One queue pair of 60,000 packets, two links of 10 Gb/s and 1 us, each of which loses packets in both directions; timeouts of 320 us (IRN) and 100 us; four runs.",
        domain: "No window, no other flow. The plain 1 / (1 − q) holds for IRN only where recoveries are rare: at 1 % it is 0.7 % too high, at 10 % a fifth.",
        rows,
    }
}
