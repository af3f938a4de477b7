//! CONGA: its rate estimator, and what its leaves converge to.

use super::{Case, Row, SEEDS};
use crate::common::*;
use leafspine_core::{PacketMeta, PortId, Rate, Span, Time};
use leafspine_schemes::lb::{Arrival, LoadBalancer, Needs};
use leafspine_schemes::{Context, Inspect, Paths, SwitchEnv, Value, registry};
use leafspine_sim::Factories;
use leafspine_sim::spec::*;
use std::sync::{Arc, Mutex};

/// Metrics that packets brought, one an entry.
type Seen = Arc<Mutex<Vec<u8>>>;

/// CONGA at a spine, and a look at the metric (CE) that each full packet brings from its leaf's uplink.
struct Tapped {
    inner: Box<dyn LoadBalancer>,
    seen: Seen,
}

impl LoadBalancer for Tapped {
    fn needs(&self) -> Needs {
        Needs { arrived: true, ..self.inner.needs() }
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        self.inner.pick(packet, paths, cx)
    }

    fn arrived(&mut self, packet: &mut PacketMeta, from: PortId, cx: &mut Context<'_>) -> Arrival {
        if packet.payload == 1460 && cx.now >= Time(Span::from_millis(20).0) {
            let metric = (packet.header.0[0] >> 16) as u8;
            self.seen.lock().expect("one thread").push(metric);
        }
        self.inner.arrived(packet, from, cx)
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, cx: &mut Context<'_>) {
        self.inner.leaving(packet, to, at, cx);
    }

    fn inspect(&self) -> &dyn Inspect {
        self.inner.inspect()
    }
}

/// A flow at `mbps` of its host's line over a link of 10 Gb/s: metrics of eight bits.
fn metrics(mbps: u64) -> Vec<u8> {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 1, 1);
    spec.topology.host_link = link(Rate::from_mbps(mbps), Span::from_micros(1));
    spec.aqm = scheme("droptail");
    spec.switch.host_ports = HostPorts::Unlimited;
    spec.transport.scheme = scheme("newreno");
    spec.transport.init_cwnd = leafspine_schemes::Amount::Packets(200);
    spec.workloads = vec![long_flows(1, 1 << 32, hosts(&[0]), hosts(&[1]))];
    spec.run.until = Some(Time(Span::from_millis(100).0));
    let seen = Seen::default();
    let make = |env: &SwitchEnv| -> Box<dyn LoadBalancer> {
        let params = scheme_with("conga", "bits", Value::Int(8)).params;
        let entry = registry::load_balancer("conga").expect("is registered");
        let inner = (entry.build)(&params, env).expect("fits a leaf-spine");
        let spine = env.tor.is_none();
        if spine { Box::new(Tapped { inner, seen: seen.clone() }) } else { inner }
    };
    run_once(&spec, &Factories { balancer: Some(Box::new(make)), ..Factories::default() });
    std::mem::take(&mut *seen.lock().expect("one thread"))
}

/// A known rate.
pub fn estimator() -> Case {
    let mut rows = Vec::new();
    for mbps in [1000, 2500, 5000, 9000] {
        let seen: Vec<f64> = metrics(mbps).into_iter().map(f64::from).collect();
        let rate = mbps as f64 / 10_000.0;
        let most = seen.iter().copied().fold(0.0, f64::max);
        let least = seen.iter().copied().fold(256.0, f64::min);
        let packet = 1500.0 / 200_000.0 * 256.0;
        let full = rate * 256.0;
        let level = "a level, which is what a metric is rounded down to";
        let (setting, slack) = (format!("{mbps} Mb/s"), format!("a packet and {level}"));
        let law = 0.9 * full + packet / 2.0 - 0.5;
        let mean = super::mean_and_error(&seen).0;
        rows.extend([
            Row::bounded(setting.as_str(), "mean metric", law, &[mean], 0.5, "half a level"),
            Row::bounded(
                setting.as_str(),
                "highest metric",
                full,
                &[most],
                1.0 + packet,
                slack.as_str(),
            ),
            Row::bounded(setting, "lowest metric", 0.8 * full, &[least], 1.0 + packet, slack),
        ]);
    }
    Case {
        title: "CONGA's rate estimator against a known rate",
        law: "X rises to R τ before each discount and falls to (1 − α) R τ: the metric goes between R / C and 0.8 R / C of full scale, 0.9 R / C and half a packet on average.",
        source: "Alizadeh et al., CONGA, SIGCOMM 2014, §3.2",
        setup: "A flow that fills its host's line of so many Mb/s goes over an uplink of 10 Gb/s; τ = 160 us, α = 0.2, metrics of 8 bits (256 levels) as packets bring them to the spine, 80 ms.",
        domain: "Of steady rates; a rate that changes is followed within some τ. A packet must be small against C τ (0.75 % here; at 100 Mb/s it would be 75 %).",
        rows,
    }
}

/// Two ways from leaf 0 to leaf 1, one of which has `slow` on it, at half the rate.
#[derive(Clone, Copy)]
struct Ways {
    name: &'static str,
    slow: &'static str,
    /// The ports that decide: of the fast way, of the slow one.
    decides: [&'static str; 2],
}

/// How much busier the fast way is than the slow one, in percent points: flows of `bytes`, `gbps` in all.
fn difference(ways: Ways, gbps: u64, bytes: u64, seed: u64) -> f64 {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, 2, 16);
    spec.balancer = scheme("conga");
    spec.transport.handshake = false;
    let slow = LinkChange { rate: Some(Rate::from_gbps(5)), ..change(ways.slow, Span::ZERO) };
    spec.changes = vec![slow];
    let mut workload = fixed_flows(1, bytes, 1.0);
    let arrivals = Arrivals::Rate(Rate::from_gbps(gbps));
    workload.kind = WorkloadKind::Poisson { arrivals, stop: Stop::Flows(50_000_000 / bytes) };
    workload.senders = HostSet::Under("leaf0".to_owned());
    workload.receivers = HostSet::Under("leaf1".to_owned());
    spec.workloads = vec![workload];
    spec.run.seed = seed;
    let output = run_long(&spec);
    let [fast, slow] = ways.decides.map(|name| 100.0 * port(&output, name).utilisation);
    fast - slow
}

/// Local and remote asymmetry.
pub fn equal_metrics() -> Case {
    let here = Ways {
        name: "slow uplink",
        slow: "leaf0-spine1",
        decides: ["leaf0-spine0", "leaf0-spine1"],
    };
    let there = Ways {
        name: "slow downlink",
        slow: "leaf1-spine1",
        decides: ["spine0-leaf1", "spine1-leaf1"],
    };
    let mut rows = Vec::new();
    for ways in [here, there] {
        for (bytes, loads) in [(1460, [5, 8, 11].as_slice()), (14_600, &[5, 11])] {
            for gbps in loads {
                let found: Vec<f64> =
                    (1..=SEEDS).map(|seed| difference(ways, *gbps, bytes, seed)).collect();
                let setting = format!("{}, {gbps} Gb/s of flows of {bytes} B", ways.name);
                let figure = "difference in utilisation, percent points";
                rows.push(if bytes == 1460 {
                    let why = "a level of the metric, an eighth: below it CONGA is blind";
                    Row::bounded(setting, figure, 0.0, &found, 12.5, why)
                } else {
                    let why = "a flow of 15,000 B on the wire is 1.2 levels of the slow link";
                    Row::outside(setting, figure, 0.0, &found, why)
                });
            }
        }
    }
    Case {
        title: "CONGA: equal metrics",
        law: "Traffic goes where the larger metric of the way is least, so the ways' busiest links become equally busy.",
        source: "Alizadeh et al., CONGA, SIGCOMM 2014, §3.5, §6",
        setup: "Two uplinks of 10 Gb/s, one way has a link of 5 Gb/s; Poisson flows of one packet, each its own flowlet, 50 MB a run.",
        domain: "Of traffic that is smooth against τ, within a level of the metric. The register sees bursts: a flowlet that alone fills a level of the slow link keeps the next ones away from it, the more so the lower the load.",
        rows,
    }
}
