//! How much a run will have to do, from its flows, before it does any of it.

use super::build::fabric;
use crate::SetupError;
use crate::spec::Spec;
use crate::workload::FlowSource;
use leafspine_core::{SwitchId, Time};
use leafspine_fabric::Graph;
use leafspine_schemes::Neighbour;
use std::collections::HashMap;

/// Flows that are looked at; of more, the rest is taken to be like these.
const LOOKED_AT: u64 = 1 << 20;

/// What a run will do, if no packet is sent twice.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// Flows, up to the run's end.
    pub flows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets of data.
    pub packets: u64,
    /// Arrivals of packets at switches and hosts: data, acknowledgments, handshakes.
    pub packet_hops: u64,
    /// When the last flow starts.
    pub last_start: Time,
    /// Whether all of it is from the flows themselves, and no part from what the first ones are like.
    pub exact: bool,
}

impl Work {
    /// What a run of `spec` will do. Its flows are drawn, as the run will draw them.
    ///
    /// # Errors
    /// What makes the run impossible: as [`Simulation::new`](super::Simulation::new).
    pub fn of(spec: &Spec) -> Result<Work, SetupError> {
        let graph = Graph::build(&spec.topology)?;
        let mut source = FlowSource::new(&spec.workloads, &fabric(&graph), spec.run.seed)?;
        let mut distances = Distances { graph: &graph, of: HashMap::new() };
        let (mss, transport) = (u64::from(spec.transport.mss), &spec.transport);
        let mut work = Work { exact: true, ..Work::default() };
        let within = |start: Time| spec.run.until.is_none_or(|until| start < until);
        while let Some(flow) = source.next()? {
            if !within(flow.start) {
                break;
            }
            let packets = flow.bytes.div_ceil(mss);
            let acks = if transport.delayed_ack.is_some() { packets.div_ceil(2) } else { packets };
            let opening = u64::from(transport.handshake) * 2
                + u64::from(transport.handshake && transport.handshake_ack);
            let (from, to) = (
                graph.host_tor[usize::from(flow.src.0)].0,
                graph.host_tor[usize::from(flow.dst.0)].0,
            );
            work.flows += 1;
            work.bytes += flow.bytes;
            work.packets += packets;
            work.packet_hops += (packets + acks + opening) * (2 + distances.between(from, to));
            work.last_start = flow.start;
            if work.flows == LOOKED_AT {
                let all = source.expected().unwrap_or(work.flows);
                return Ok(work.of_all(all, spec.run.until));
            }
        }
        Ok(work)
    }

    /// The same of so many flows, of which these are the first.
    fn of_all(self, flows: u64, until: Option<Time>) -> Work {
        let mut share = flows as f64 / self.flows.max(1) as f64;
        if let Some(until) = until {
            share = share.min(until.0 as f64 / self.last_start.0.max(1) as f64);
        }
        if share <= 1.0 {
            return self;
        }
        let times = |number: u64| (number as f64 * share) as u64;
        Work {
            flows: times(self.flows),
            bytes: times(self.bytes),
            packets: times(self.packets),
            packet_hops: times(self.packet_hops),
            last_start: Time(times(self.last_start.0)),
            exact: false,
        }
    }
}

/// Links between switches that have hosts, from those that flows come from.
struct Distances<'a> {
    graph: &'a Graph,
    of: HashMap<u16, Vec<u8>>,
}

impl Distances<'_> {
    fn between(&mut self, from: u16, to: u16) -> u64 {
        let graph = self.graph;
        let all = self.of.entry(from).or_insert_with(|| breadth_first(graph, from));
        u64::from(all[usize::from(graph.tor_switch[usize::from(to)].0)])
    }
}

/// The links from a switch with hosts to every switch.
fn breadth_first(graph: &Graph, from: u16) -> Vec<u8> {
    let start = graph.tor_switch[usize::from(from)];
    let mut distance = vec![u8::MAX; graph.switches.len()];
    distance[usize::from(start.0)] = 0;
    let mut edge: Vec<SwitchId> = vec![start];
    while !edge.is_empty() {
        let mut next = Vec::new();
        for switch in edge {
            let on = distance[usize::from(switch.0)].saturating_add(1);
            for port in graph.fabric_ports_of(switch) {
                let Neighbour::Switch(other, _) = graph.neighbour(port) else { continue };
                let known = &mut distance[usize::from(other.0)];
                if *known == u8::MAX {
                    *known = on;
                    next.push(other);
                }
            }
        }
        edge = next;
    }
    distance
}
