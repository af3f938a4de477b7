//! How long flows share links.

use super::{Case, Row, SEEDS};
use crate::common::*;
use leafspine_core::{PacketMeta, Rate, Span, Time};
use leafspine_schemes::edge::{EdgeContext, FlowView, HostEdge, HostEnv};
use leafspine_sim::spec::*;
use leafspine_sim::{Factories, Output};

/// Gives every packet of a host the host's number as its class.
struct ByHost(u8);

impl HostEdge for ByHost {
    fn sending(&mut self, packet: &mut PacketMeta, _: &mut FlowView<'_>, _: &mut EdgeContext<'_>) {
        packet.class = self.0;
    }
}

fn by_host() -> Factories<'static> {
    let make = |env: &HostEnv| -> Box<dyn HostEdge> { Box::new(ByHost(env.host.0 as u8)) };
    Factories { edge: Some(Box::new(make)), ..Factories::default() }
}

/// Packets that arrived, flow by flow.
fn arrived(output: &Output) -> Vec<f64> {
    output.flows.packets.iter().map(|p| f64::from(*p)).collect()
}

/// Three hosts send to a fourth, each in its own queue at the switch, all backlogged.
pub fn shares() -> Case {
    let mut rows = Vec::new();
    for (scheduler, name) in [(SchedulerKind::Wrr, "WRR"), (SchedulerKind::Dwrr, "DWRR")] {
        for weights in [[4, 2, 1], [8, 1, 1]] {
            let mut spec = base();
            spec.topology.kind = TopologyKind::Star { hosts: 4 };
            spec.topology.host_link = link(Rate::from_gbps(1), Span::from_micros(5));
            spec.switch.queues = 3;
            spec.switch.scheduler = scheduler;
            spec.switch.weights = weights.to_vec();
            spec.switch.classifier = Classifier::Stage;
            spec.workloads = vec![long_flows(3, 1 << 30, hosts(&[0, 1, 2]), hosts(&[3]))];
            spec.run.until = Some(Time(Span::from_millis(200).0));
            let got = arrived(&run_long_with(&spec, &by_host()));
            let (total, sum) = (got.iter().sum::<f64>(), weights.iter().sum::<u32>());
            for queue in 0..3 {
                let law = 100.0 * f64::from(weights[queue]) / f64::from(sum);
                let setting = format!("{name} {weights:?}, queue {queue}");
                let why = "1 % of the share: the flows' starts are in it";
                let found = [100.0 * got[queue] / total];
                let row =
                    Row::bounded(setting, "share of the line, %", law, &found, law / 100.0, why);
                rows.push(row);
            }
        }
    }
    Case {
        title: "Weighted round robin: shares",
        law: "Queues that are never empty share the line by their weights.",
        source: "By definition; Shreedhar and Varghese, 1995 for DWRR",
        setup: "1 Gb/s, three DCTCP flows, one a queue, for 200 ms from their start.",
        domain: "WRR counts packets, DWRR bytes: the same where packets are equally long. An empty queue's share goes to the others.",
        rows,
    }
}

/// Mb/s of full packets, flow by flow, from 0.5 to 2.5 s.
fn rates(spec: &Spec, factories: &Factories<'_>) -> Vec<f64> {
    let until = |ms: u64| -> Vec<f64> {
        let mut spec = spec.clone();
        spec.run.until = Some(Time(Span::from_millis(ms).0));
        arrived(&run_long_with(&spec, factories))
    };
    // The same run, ended twice.
    let (early, late) = (until(500), until(2500));
    early.iter().zip(late).map(|(early, late)| (late - early) * 12_000.0 / 2e6).collect()
}

/// Flows a to d of the fabric: a and b share the uplink of leaf 0, a, c and d the downlink to leaf 1.
fn two_links(queues: bool, control: &str) -> Vec<f64> {
    let mut spec = base();
    spec.topology.kind = leaf_spine(4, 1, 2);
    spec.topology.host_link = link(Rate::from_gbps(10), Span::from_micros(5));
    spec.topology.fabric_link = link(Rate::from_gbps(1), Span::from_micros(5));
    // Drop-tail queues would be found full by the same flow again and again.
    spec.topology.host_jitter = Span::from_micros(2);
    spec.transport.scheme = scheme(control);
    if control == "newreno" {
        spec.aqm = scheme("droptail");
    }
    if queues {
        spec.switch.queues = 8;
        spec.switch.weights = vec![1; 8];
        spec.switch.scheduler = SchedulerKind::Dwrr;
        spec.switch.classifier = Classifier::Stage;
    }
    // Hosts 0 and 1 are under leaf 0, 2 and 3 under leaf 1, and so on.
    let pair = |from: u16, to: u16| long_flows(1, 1 << 32, hosts(&[from]), hosts(&[to]));
    spec.workloads = vec![pair(0, 2), pair(1, 4), pair(6, 2), pair(7, 3)];
    rates(&spec, &by_host())
}

/// So many DCTCP flows over one link: Jain's index of their rates.
fn jain(flows: u16, seed: u64) -> f64 {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: u32::from(flows) + 1 };
    spec.topology.host_link = link(Rate::from_gbps(1), Span::from_micros(20));
    spec.topology.host_jitter = Span::from_micros(12);
    spec.run.seed = seed;
    let from: Vec<u16> = (0..flows).collect();
    spec.workloads = vec![long_flows(u32::from(flows), 1 << 32, hosts(&from), hosts(&[flows]))];
    let rates = rates(&spec, &Factories::default());
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    rates.iter().sum::<f64>().powi(2) / (f64::from(flows) * squares)
}

/// One and two bottlenecks.
pub fn max_min() -> Case {
    let mut rows = Vec::new();
    for (queues, control, name) in [
        (true, "dctcp", "DWRR, a queue a flow, DCTCP"),
        (true, "newreno", "DWRR, a queue a flow, NewReno"),
        (false, "dctcp", "one FIFO queue, DCTCP"),
        (false, "newreno", "one FIFO queue, NewReno"),
    ] {
        let fair = [1000.0 / 3.0, 2000.0 / 3.0, 1000.0 / 3.0, 1000.0 / 3.0];
        for ((flow, law), found) in
            ["a", "b", "c", "d"].iter().zip(fair).zip(two_links(queues, control))
        {
            let (setting, figure) = (format!("{name}, flow {flow}"), "rate, Mb/s");
            rows.push(if queues {
                let why = "1 %: a queue runs empty now and then after a cut";
                Row::bounded(setting, figure, law, &[found], law / 100.0, why)
            } else {
                let why = "flow a is marked or dropped at two queues and waits in both";
                Row::outside(setting, figure, law, &[found], why)
            });
        }
    }
    for flows in [2, 8] {
        let found: Vec<f64> = (1..=SEEDS).map(|seed| jain(flows, seed)).collect();
        let setting = format!("one link, one FIFO queue, {flows} DCTCP flows");
        let why = "a tenth of the rate as the spread of two seconds' means: its square";
        rows.push(Row::bounded(setting, "Jain's index", 1.0, &found, 0.01, why));
    }
    Case {
        title: "Max-min fairness of long flows",
        law: "Nobody's rate can grow without taking from one who has no more. Flow a crosses two full links, with b the first, with c and d the second: 1/3, 2/3, 1/3, 1/3 of a link.",
        source: "Bertsekas and Gallager, Data Networks, chapter 6",
        setup: "Links of 1 Gb/s between leaves, hosts at 10 Gb/s, rates of full packets from 0.5 s to 2.5 s; Jain's index over the same time, 16 runs.",
        domain: "Over one link any congestion control with equal round trips comes near it. Over several, only with a queue a flow: in FIFO queues a flow over two full links gets less than its part, with DCTCP much less.",
        rows,
    }
}
