//! What a congestion control makes of a loss rate.

use super::{Case, Row, SEEDS};
use crate::common::*;
use leafspine_core::{PacketMeta, PortId, Rate, Rng, Span, Time};
use leafspine_schemes::aqm::{Admit, Aqm};
use leafspine_schemes::{Amount, QueueView, SwitchEnv};
use leafspine_sim::spec::*;
use leafspine_sim::{Factories, Output};

/// One flow from host 0 to host 1 on a line that it never fills, with a round trip of `rtt`, measured
/// after a tenth of `time`.
fn one_flow(control: SchemeSpec, rtt: Span, time: Span, seed: u64) -> Spec {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: 2 };
    let line = 2 * (1_200_000 + 32_000);
    spec.topology.host_link = link(Rate::from_gbps(10), Span((rtt.0 - line) / 4));
    spec.aqm = scheme("droptail");
    spec.switch.buffer = Amount::Packets(100_000);
    spec.switch.host_ports = HostPorts::Unlimited;
    spec.transport.scheme = control;
    spec.transport.handshake = false;
    // Ten round trips.
    spec.transport.min_rto = Span(rtt.0 * 10);
    spec.workloads = vec![long_flows(1, 1 << 40, hosts(&[0]), hosts(&[1]))];
    spec.run.seed = seed;
    spec.run.until = Some(Time(time.0));
    spec.measure.window = Window::Between(Time(time.0 / 10), Time(time.0));
    spec
}

/// Packets sent a round trip, on average.
fn per_round_trip(output: &Output, rtt: Span) -> f64 {
    let packets = port(output, "host0-switch0").packets as f64;
    packets * rtt.as_secs_f64() / (output.window.1.as_secs_f64() - output.window.0.as_secs_f64())
}

/// Drops every n-th data packet of a port: the periodic loss of Mathis et al.
struct EveryNth {
    n: u64,
    seen: u64,
}

impl Aqm for EveryNth {
    fn admit(&mut self, packet: &PacketMeta, _: &QueueView, _: Time, _: &mut Rng) -> Admit {
        self.seen += u64::from(packet.is_data());
        if packet.is_data() && self.seen.is_multiple_of(self.n) { Admit::Drop } else { Admit::Take }
    }
}

fn periodic(n: u64) -> Factories<'static> {
    let make =
        move |_: &SwitchEnv, _: PortId| -> Box<dyn Aqm> { Box::new(EveryNth { n, seen: 0 }) };
    Factories { aqm: Some(Box::new(make)), ..Factories::default() }
}

/// The constant of the law for losses that strike each packet alike. Between losses W² / 2 grows by
/// one a packet, and a loss divides it by 4: at a random packet it is the sum of 4^-k E_k, the E_k
/// exponential with mean 1 / p. Packets per time are 1 / E[1 / W].
fn random_constant() -> f64 {
    let transform =
        |u: f64| (0..40).map(|k| 1.0 / (1.0 + u * u * 0.25f64.powi(k))).product::<f64>();
    // E[Y^-1/2] = 2 / sqrt(pi) times the integral over u of E[exp(-u^2 Y)]. With u = v / (1 - v), midpoints.
    let steps = 100_000;
    let at = |i: i32| {
        let v = (f64::from(i) + 0.5) / f64::from(steps);
        transform(v / (1.0 - v)) / (1.0 - v).powi(2)
    };
    let integral = (0..steps).map(at).sum::<f64>() / f64::from(steps);
    2f64.sqrt() / (2.0 / std::f64::consts::PI.sqrt() * integral)
}

/// What the law leaves out, of a rate of `law` packets a round trip with a loss in every `n` packets.
fn first_order(law: f64, n: f64) -> f64 {
    3.0 * law / n * law
}

/// Why so much.
const FIRST_ORDER: &str = "3 p W of W: a loss is noticed a round trip late, repaired in another, and windows \
                           are whole packets, of 1 / (p W) round trips between losses";

/// Random and periodic losses.
pub fn square_root() -> Case {
    let (rtt, figure) = (Span::from_millis(1), "packets a round trip");
    let mut rows = Vec::new();
    for (p, holds) in [(3e-4, true), (1e-3, true), (1e-2, false), (3e-2, false), (1e-1, false)] {
        let law = random_constant() / f64::sqrt(p);
        // Two hundred losses a run.
        let time = Span::from_secs_f64(200.0 / p / law * rtt.as_secs_f64());
        let found: Vec<f64> = (1..=SEEDS)
            .map(|seed| {
                let mut spec = one_flow(scheme("newreno"), rtt, time, seed);
                let lossy = LinkChange { loss: Some(p), ..change("host1-switch0", Span::ZERO) };
                spec.changes = vec![lossy];
                per_round_trip(&run_long(&spec), rtt)
            })
            .collect();
        let setting = format!("random, p = {p}");
        let chance = Row::by_chance(setting.as_str(), figure, law, &found);
        rows.push(if holds {
            let allowed = chance.allowed.map(|chance| chance + first_order(law, 1.0 / p));
            Row { allowed, why: format!("{FIRST_ORDER}; and 4.07 standard errors"), ..chance }
        } else {
            Row::outside(setting, figure, law, &found, "timeouts")
        });
    }
    for n in [10_000, 1000, 100] {
        let law = f64::sqrt(1.5 * n as f64);
        let time = Span::from_secs_f64(100.0 * n as f64 / law * rtt.as_secs_f64());
        let spec = one_flow(scheme("newreno"), rtt, time, 1);
        let found = [per_round_trip(&run_long_with(&spec, &periodic(n)), rtt)];
        let (setting, allowed) = (format!("every {n}th"), first_order(law, n as f64));
        rows.push(if n >= 1000 {
            Row::bounded(setting, figure, law, &found, allowed, FIRST_ORDER)
        } else {
            Row::outside(setting, figure, law, &found, "eight round trips between losses")
        });
    }
    Case {
        title: "The square-root law: NewReno under random and under periodic loss",
        law: "c / √p packets a round trip: c = 1.3098 if every packet is lost with probability p, c = √(3/2) = 1.2247 if every (1/p)-th is.",
        source: "Mathis, Semke, Mahdavi and Ott, 1997; Ott, Kemperman and Mathis, 1996",
        setup: "One flow, 10 Gb/s, round trip 1 ms, SACK, every packet acknowledged; 16 runs of 200 losses on a link with `loss = p` in both directions, or a queue that drops every n-th packet.",
        domain: "p up to some 0.001. With windows of ten packets and less, three duplicate ACKs may not come and a lost retransmission always costs a timeout; the law knows none. With delayed ACKs c is smaller by √2.",
        rows,
    }
}

/// A steady flow of CUBIC that loses every n-th packet: its mean over the second half of a hundred
/// cycles.
fn cubic_flow(rtt: Span, n: u64, law: f64) -> f64 {
    let time = Span::from_secs_f64(100.0 * n as f64 / law * rtt.as_secs_f64());
    let mut spec = one_flow(scheme("cubic"), rtt, time, 1);
    spec.measure.window = Window::Between(Time(time.0 / 2), Time(time.0));
    per_round_trip(&run_long_with(&spec, &periodic(n)), rtt)
}

/// CUBIC's own region and the one where it follows Reno.
pub fn cubic() -> Case {
    let figure = "packets a round trip";
    let mut rows = Vec::new();
    let (c, beta) = (0.4f64, 0.7f64);
    let rtt = Span::from_millis(100);
    for n in [10_000, 30_000] {
        let seconds = rtt.as_secs_f64() * n as f64;
        let law = (c * (3.0 + beta) / (4.0 * (1.0 - beta))).powf(0.25) * seconds.powf(0.75);
        // K, the length of a cycle in seconds.
        let k = seconds / law;
        let allowed = 0.75 * (1.0 / c).cbrt() / k * law;
        let why = "a cycle that ends so near W_max that less than a packet is missing, 1.36 s, repeats itself: 3/4 of this in K";
        let setting = format!("100 ms, every {n}th");
        rows.push(Row::bounded(setting, figure, law, &[cubic_flow(rtt, n, law)], allowed, why));
    }
    let (rtt, n) = (Span::from_millis(10), 10_000);
    let law = f64::sqrt(1.5 * n as f64);
    let (setting, allowed) = (format!("10 ms, every {n}th"), first_order(law, n as f64));
    let found = [cubic_flow(rtt, n, law)];
    rows.push(Row::bounded(setting, figure, law, &found, allowed, FIRST_ORDER));
    Case {
        title: "CUBIC under periodic loss",
        law: "(C (3 + β) / (4 (1 − β)))^(1/4) (RTT / p)^(3/4) packets a round trip, or Reno's √(3 / 2p) if that is more.",
        source: "RFC 9438 §5.1, §4.3",
        setup: "As above, with CUBIC; the second half of a hundred cycles.",
        domain: "At W_max the cubic is flat, so a cycle that ends a little early or late restores next to nothing; in whole packets it restores nothing. Coming from above, the window stays above.",
        rows,
    }
}
