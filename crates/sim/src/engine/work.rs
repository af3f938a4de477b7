//! How much a run will have to do, from its flows, before it does any of it.

use super::build::fabric;
use crate::SetupError;
use crate::spec::Spec;
use crate::workload::{Fabric, FlowSource, jobs};
use leafspine_core::{HostId, SwitchId, Time};
use leafspine_fabric::Graph;
use leafspine_schemes::Neighbour;
use std::collections::{HashMap, HashSet};

/// Flows that are looked at; of more, the rest is taken to be like these. Of a trace, which does not say how many
/// there are, all are.
const LOOKED_AT: u64 = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// What a run will do, if no packet is sent twice.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Work {
    /// Flows, up to the run's end.
    pub flows: u64,
    /// Of them, messages of jobs.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets of data.
    pub packets: u64,
    /// Arrivals of packets at switches and hosts: data, acknowledgments, handshakes. Where the run
    /// is ended, of the packets that hosts' links can have carried by then.
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
        let mut count = Count {
            spec,
            distances: Distances { graph: &graph, of: HashMap::new() },
            busy: HashMap::new(),
            work: Work { exact: true, ..Work::default() },
        };
        count.flows(&fabric(&graph))?;
        count.jobs(&fabric(&graph))?;
        Ok(count.work)
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
            messages: self.messages,
            bytes: times(self.bytes),
            packets: times(self.packets),
            packet_hops: times(self.packet_hops),
            last_start: Time(times(self.last_start.0)),
            exact: false,
        }
    }
}

/// What a spec's flows ask for, so far.
struct Count<'a> {
    spec: &'a Spec,
    distances: Distances<'a>,
    /// Until when a host's link has sent, or received, what was counted.
    busy: HashMap<(HostId, bool), u128>,
    work: Work,
}

impl Count<'_> {
    /// The flows that wait for nothing.
    fn flows(&mut self, fabric: &Fabric) -> Result<(), SetupError> {
        let Spec { workloads, run, transport, .. } = self.spec;
        let mut source = FlowSource::new(workloads, fabric, run.seed)?;
        let opening = u64::from(transport.handshake) * 2
            + u64::from(transport.handshake && transport.handshake_ack);
        while let Some(flow) = source.next()? {
            if run.until.is_some_and(|until| flow.start >= until) {
                break;
            }
            let packets = flow.bytes.div_ceil(u64::from(transport.mss));
            let by_then = self.carried((flow.src, flow.dst), (flow.bytes, packets), flow.start);
            self.add((flow.src, flow.dst), (flow.bytes, by_then), opening, 1);
            self.work.last_start = flow.start;
            if self.work.flows == LOOKED_AT
                && let Some(all) = source.expected()
            {
                self.work = self.work.of_all(all, run.until);
                break;
            }
        }
        Ok(())
    }

    /// The messages of jobs. How many of them an end of the run cuts off is unknown before.
    fn jobs(&mut self, fabric: &Fabric) -> Result<(), SetupError> {
        let Spec { workloads, run, transport, .. } = self.spec;
        let Some(dags) = jobs(workloads, fabric, run.seed)? else { return Ok(()) };
        self.work.exact &= run.until.is_none();
        self.work.messages = dags.messages();
        for job in &dags.jobs {
            let times = u64::from(job.iterations);
            let mut connections = HashSet::new();
            for (src, dst, bytes, channel) in job.each_message() {
                let packets = bytes.div_ceil(u64::from(transport.mss));
                self.add((src, dst), (bytes, packets), 0, times);
                if transport.handshake && connections.insert((src, dst, channel)) {
                    let hops = self.hops(src, dst);
                    self.work.packet_hops += (2 + u64::from(transport.handshake_ack)) * hops;
                }
            }
        }
        Ok(())
    }

    /// Links between two hosts.
    fn hops(&mut self, src: HostId, dst: HostId) -> u64 {
        let tor = |host: HostId| self.distances.graph.host_tor[usize::from(host.0)].0;
        let (from, to) = (tor(src), tor(dst));
        2 + self.distances.between(from, to)
    }

    /// How many of a flow's packets the links of its hosts can have carried by the end of the run,
    /// each one flow after the other: what they carry in all does not depend on how flows share
    /// them.
    fn carried(
        &mut self,
        (src, dst): (HostId, HostId),
        (bytes, packets): (u64, u64),
        start: Time,
    ) -> u64 {
        let Some(until) = self.spec.run.until else { return packets };
        let header = u128::from(self.spec.transport.header);
        let bits = 8 * (u128::from(bytes) + u128::from(packets) * header);
        [(src, false), (dst, true)].into_iter().fold(packets, |carried, (host, receives)| {
            let graph = self.distances.graph;
            let port = graph.host_port[usize::from(host.0)];
            let rate = u128::from(graph.ports[port as usize].rate.0);
            let takes = (bits * 1_000_000_000_000 / rate).max(1);
            let busy = self.busy.entry((host, receives)).or_default();
            let begin = (*busy).max(u128::from(start.0));
            *busy = begin + takes;
            let left = u128::from(until.0).saturating_sub(begin).min(takes);
            // What has begun counts whole.
            let by_then = (u128::from(packets) * left).div_ceil(takes);
            carried.min(u64::try_from(by_then).unwrap_or(u64::MAX))
        })
    }

    /// A flow that is sent so often, of so many bytes and as many packets by the end of the run,
    /// with so many packets before its data.
    fn add(
        &mut self,
        (src, dst): (HostId, HostId),
        (bytes, by_then): (u64, u64),
        opening: u64,
        times: u64,
    ) {
        let transport = &self.spec.transport;
        let packets = bytes.div_ceil(u64::from(transport.mss));
        let acks = if transport.delayed_ack.is_some() { by_then.div_ceil(2) } else { by_then };
        let hops = (by_then + acks + opening) * self.hops(src, dst);
        let work = &mut self.work;
        work.flows += times;
        work.bytes += bytes * times;
        work.packets += packets * times;
        work.packet_hops += hops * times;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{TraceSpec, WorkloadKind, WorkloadSpec};
    use crate::specs::{base, fixed_flows};
    use std::fmt::Write;

    /// Breaks if a run's end leaves in what links cannot carry by then, or takes out what they can:
    /// of flows that start at once between two hosts, a link's time decides and not their sizes.
    #[test]
    fn an_end_cuts_off_what_links_cannot_carry() {
        let mut rows = "start_us,src,dst,bytes\n".to_owned();
        (0..4).for_each(|_| rows += "0,0,1,14600000\n");
        let file = std::env::temp_dir().join(format!("leafspine-cut-{}.csv", std::process::id()));
        std::fs::write(&file, rows).expect("a file");
        let mut spec = base();
        let kind = WorkloadKind::Trace(TraceSpec::new(&file));
        let like = fixed_flows(1, 1_460, 0.5);
        spec.workloads = vec![WorkloadSpec { kind, ..like }];
        let whole = Work::of(&spec).expect("rows");
        let packet = u64::from(spec.transport.mss + spec.transport.header);
        // As long as 15,000 packets of the 40,000 take.
        let second = 1_000_000_000_000_u128;
        let rate = u128::from(spec.topology.host_link.rate.0);
        let until = u128::from(15_000 * packet * 8) * second / rate;
        spec.run.until = Some(Time(until as u64 + 1));
        let cut = Work::of(&spec).expect("rows");
        std::fs::remove_file(&file).expect("it was there");
        assert_eq!((cut.flows, cut.packets), (whole.flows, whole.packets));
        let share = cut.packet_hops as f64 / whole.packet_hops as f64;
        assert!((share - 15.0 / 40.0).abs() < 0.001, "{share}");
    }

    /// Breaks if short packets count as full ones: links would seem to be taken by then.
    #[test]
    fn short_flows_are_carried_whole() {
        let mut spec = base();
        spec.workloads = vec![fixed_flows(2_000, 100, 0.3)];
        let whole = Work::of(&spec).expect("flows");
        spec.run.until = Some(Time(whole.last_start.0 + 1_000_000_000));
        assert_eq!(Work::of(&spec).expect("flows").packet_hops, whole.packet_hops);
    }

    /// Breaks if more flows than are looked at are counted as so many: drawn ones, or a trace's.
    #[test]
    fn more_flows_than_are_looked_at() {
        let mut spec = base();
        let flows = LOOKED_AT + 300;
        spec.workloads = vec![fixed_flows(flows, 1_460, 0.5)];
        let drawn = Work::of(&spec).expect("flows");
        assert_eq!((drawn.flows, drawn.exact), (flows, false));

        let mut rows = "start_us,src,dst,bytes\n".to_owned();
        (0..flows).for_each(|row| writeln!(rows, "{row},0,1,1460").expect("memory"));
        let file = std::env::temp_dir().join(format!("leafspine-work-{}.csv", std::process::id()));
        std::fs::write(&file, rows).expect("a file");
        let kind = WorkloadKind::Trace(TraceSpec::new(&file));
        spec.workloads = vec![WorkloadSpec { kind, ..spec.workloads.remove(0) }];
        let traced = Work::of(&spec);
        std::fs::remove_file(&file).expect("it was there");
        let traced = traced.expect("rows");
        assert_eq!((traced.flows, traced.bytes, traced.exact), (flows, flows * 1_460, true));
    }
}
