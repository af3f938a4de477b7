//! Poisson packets at one queue.

use super::{Case, Row, SEEDS, queue_law};
use crate::common::*;
use leafspine_core::{Bytes, PacketMeta, Rate, Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::edge::{EdgeContext, FlowView, HostEdge};
use leafspine_sim::spec::*;
use leafspine_sim::{Factories, Output, UNFINISHED};

/// A full packet's time at the queue, 12 us.
fn service() -> f64 {
    Rate::from_gbps(1).time_for(1500).0 as f64
}

/// Flows of one packet, Poisson, from the 50 hosts of a leaf over `uplinks` links of 1 Gb/s to the other
/// leaf; `load` of each uplink. What follows an uplink is as fast, so nothing waits twice.
fn poisson(load: f64, uplinks: u32, packets: u64, seed: u64) -> Spec {
    let mut spec = base();
    spec.topology.kind = leaf_spine(2, uplinks, 50);
    // Hosts' links are 1000 times faster: two packets that meet there wait for 12 ns.
    spec.topology.host_link = link(Rate::from_gbps(1000), Span::from_nanos(10));
    spec.topology.fabric_link = link(Rate::from_gbps(1), Span::from_nanos(10));
    spec.aqm = scheme("droptail");
    spec.switch.buffer = Amount::Packets(1_000_000);
    spec.transport.handshake = false;
    // No packet is sent twice.
    spec.transport.min_rto = Span::from_millis(10_000);
    let mut workload = fixed_flows(packets, 1460, 1.0);
    workload.senders = HostSet::Under("leaf0".to_owned());
    workload.receivers = HostSet::Under("leaf1".to_owned());
    workload.kind = WorkloadKind::Poisson {
        arrivals: Arrivals::Interarrival(apart(service(), load * f64::from(uplinks))),
        stop: Stop::Flows(packets),
    };
    spec.workloads = vec![workload];
    spec.run.seed = seed;
    spec
}

/// Mean time between starts for a load, given a packet's mean time at the queue in ps.
fn apart(mean_service: f64, load: f64) -> Span {
    Span((mean_service / load) as u64)
}

fn seeds<T>(figure: impl FnMut(u64) -> T) -> Vec<T> {
    (1..=SEEDS).map(figure).collect()
}

/// Waits of the flows' packets in services: what they took longer than alone.
fn waits(output: &Output, of: impl Fn(usize) -> bool) -> Vec<f64> {
    let flows = &output.flows;
    let over = (0..flows.len()).filter(|i| of(*i) && flows.fct_ps[*i] != UNFINISHED);
    over.map(|i| (flows.fct_ps[i] - flows.ideal_fct_ps[i]) as f64 / service()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The 99th percentile by nearest rank.
fn p99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * 99).div_ceil(100) - 1]
}

/// M/D/1: mean and 99th percentile of the wait.
pub fn one_size() -> Case {
    let mut rows = Vec::new();
    for (load, packets) in [(0.5, 50_000), (0.8, 100_000), (0.95, 300_000)] {
        let found = seeds(|seed| {
            let output = run_long(&poisson(load, 1, packets, seed));
            let all = waits(&output, |_| true);
            (port(&output, "leaf0-spine0").delay_mean_ps / service(), p99(all))
        });
        let (means, tails): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
        let (law, tail) = (queue_law::mean_wait(load), queue_law::wait_quantile(load, 0.99));
        let at = format!("load {load}");
        rows.push(Row::by_chance(at.as_str(), "mean wait, services", law, &means));
        rows.push(Row::by_chance(at, "99 % wait at most, services", tail, &tails));
    }
    Case {
        title: "M/D/1: Poisson packets of one size",
        law: "Mean wait ρ / (2 (1 − ρ)) services; its distribution by Franx's sum over the numbers in the system.",
        source: "Pollaczek and Khinchine; Franx, 2001",
        setup: "Flows of one packet from 50 hosts over one 1 Gb/s link; 50,000, 100,000 and 300,000 packets a run.",
        domain: "A run begins empty, so a load near 1 needs runs of many times 1 / (1 − ρ)² services.",
        rows,
    }
}

/// M/G/1 with two sizes: a packet's time must be that of its bytes.
pub fn two_sizes() -> Case {
    let (short, long) = (0.8, 12.0);
    let (first, second) = ((short + long) / 2.0, (short * short + long * long) / 2.0);
    let row = |load: f64| {
        let found = seeds(|seed| {
            let mut spec = poisson(load, 1, 100_000, seed);
            let sizes = [60, 1460].map(|bytes| (0.5, SizeSpec::Fixed(Bytes(bytes))));
            let flows = 100_000;
            let workload = &mut spec.workloads[0];
            workload.sizes = SizeSpec::Mix(sizes.to_vec());
            let arrivals = Arrivals::Interarrival(apart(first * 1e6, load));
            workload.kind = WorkloadKind::Poisson { arrivals, stop: Stop::Flows(flows) };
            port(&run_long(&spec), "leaf0-spine0").delay_mean_ps / 1e6
        });
        let law = load / first * second / (2.0 * (1.0 - load));
        Row::by_chance(format!("load {load}"), "mean wait, us", law, &found)
    };
    Case {
        title: "M/G/1: Poisson packets of two sizes",
        law: "Mean wait λ E[S²] / (2 (1 − λ E[S])), S the time on the line.",
        source: "Pollaczek and Khinchine",
        setup: "As above; half of the packets have 100 bytes on the wire (0.8 us), half 1,500 (12 us).",
        domain: "Of the first queue on the way only: behind it, short packets run into long ones.",
        rows: [0.5, 0.8].map(row).into(),
    }
}

/// Gives packets the class of their host's number: even ones 0, odd ones 1.
struct ByHost(u8);

impl HostEdge for ByHost {
    fn sending(&mut self, packet: &mut PacketMeta, _: &mut FlowView<'_>, _: &mut EdgeContext<'_>) {
        packet.class = self.0 % 2;
    }
}

/// Two classes under strict priority.
pub fn priority() -> Case {
    let mut rows = Vec::new();
    for load in [0.5, 0.8] {
        let found = seeds(|seed| {
            let mut spec = poisson(load, 1, 100_000, seed);
            spec.switch.queues = 2;
            spec.switch.weights = vec![1, 1];
            spec.switch.scheduler = SchedulerKind::Strict;
            spec.switch.classifier = Classifier::Stage;
            let edge = |env: &leafspine_schemes::edge::HostEnv| -> Box<dyn HostEdge> {
                Box::new(ByHost(env.host.0 as u8))
            };
            let output = run_long_with(
                &spec,
                &Factories { edge: Some(Box::new(edge)), ..Factories::default() },
            );
            let class = |odd: u16| mean(&waits(&output, |flow| output.flows.src[flow] % 2 == odd));
            (class(0), class(1))
        });
        let (upper, lower): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
        // What is left of the packet on the line, on average; each class is half of the load.
        let rest = load / 2.0;
        let (first, both) = (1.0 - load / 2.0, 1.0 - load);
        let at = format!("load {load}");
        let (high, low) = (rest / first, rest / (first * both));
        rows.push(Row::by_chance(at.as_str(), "mean wait of queue 0, services", high, &upper));
        rows.push(Row::by_chance(at, "mean wait of queue 1, services", low, &lower));
    }
    Case {
        title: "Strict priority: two classes of Poisson packets",
        law: "Mean waits W₀ = R / (1 − ρ₀) and W₁ = R / ((1 − ρ₀)(1 − ρ₀ − ρ₁)), R = ρ / 2 services.",
        source: "Cobham, 1954",
        setup: "As M/D/1, 100,000 packets a run; hosts of even number send to queue 0, the others to queue 1.",
        domain: "The packet on the line is never interrupted, here as in the law.",
        rows,
    }
}

/// A buffer of five packets: how many find it full.
pub fn full_buffer() -> Case {
    let row = |load: f64| {
        let found = seeds(|seed| {
            let mut spec = poisson(load, 1, 100_000, seed);
            spec.switch.buffer = Amount::Packets(5);
            spec.switch.host_ports = HostPorts::Unlimited;
            // Before anything is sent again.
            spec.run.until = Some(Time(Span::from_millis(9_000).0));
            let output = run_long(&spec);
            let queue = port(&output, "leaf0-spine0");
            100.0 * queue.drops as f64 / (queue.drops + queue.packets) as f64
        });
        let law = 100.0 * queue_law::full(load, 5);
        Row::by_chance(format!("load {load}"), "packets dropped, %", law, &found)
    };
    Case {
        title: "M/D/1/K: a buffer of five packets",
        law: "Share dropped 1 − 1 / (ρ + p₀), p₀ the share of departures that leave nothing behind; K = 6.",
        source: "The embedded chain of M/G/1/K, e.g. Gross and Harris, Fundamentals of Queueing Theory",
        setup: "As M/D/1, 100,000 packets a run; drop-tail, and nothing is sent again within the run.",
        domain: "A buffer of n holds n besides the packet on the line: K = n + 1.",
        rows: [0.7, 0.9, 1.2].map(row).into(),
    }
}

/// Random spraying splits a Poisson stream into Poisson streams.
pub fn sprayed() -> Case {
    let row = |load: f64| {
        let found = seeds(|seed| {
            let mut spec = poisson(load, 4, 200_000, seed);
            spec.balancer = scheme("rps");
            let output = run_long(&spec);
            let uplinks: Vec<f64> = (0..4)
                .map(|n| port(&output, &format!("leaf0-spine{n}")).delay_mean_ps / service())
                .collect();
            mean(&uplinks)
        });
        let law = queue_law::mean_wait(load);
        Row::by_chance(format!("load {load}"), "mean wait, services", law, &found)
    };
    Case {
        title: "Random packet spraying: four M/D/1 queues",
        law: "A Poisson stream that is split at random is as many Poisson streams: each uplink is M/D/1.",
        source: "Splitting of the Poisson process; Pollaczek and Khinchine",
        setup: "As M/D/1 with four uplinks and RPS, 200,000 packets a run; the mean over the uplinks.",
        domain: "Packets of flows are no Poisson stream: real flows come in trains, and wait longer.",
        rows: [0.5, 0.8].map(row).into(),
    }
}
