//! Traces as operations that wait for each other.

use super::nodes::{Node, Trace, What};
use crate::spec::{ChakraSpec, Collective};
use crate::workload::WorkloadError;
use crate::workload::collective;
use crate::workload::dag::{Draft, Op, Phase, Template};
use leafspine_core::{HostId, Span};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A host's processor does one thing at a time, beside its accelerator, which is number 0.
const CPU: u8 = 1;
/// Collectives are counted in 16 bits.
const COLLECTIVES: usize = 65_000;

/// What waits for others when a node does, and what others wait for.
#[derive(Clone, Default)]
struct Ends {
    begin: Option<Op>,
    end: Vec<Op>,
}

/// A node: its rank, and its place in the rank's trace.
type Place = (usize, usize);

/// An iteration of traces on these hosts.
///
/// # Errors
/// A dependency on a node that is not there, a message or a collective that the other ranks do not have.
pub(crate) fn template(
    traces: &[Trace],
    hosts: &[HostId],
    spec: &ChakraSpec,
) -> Result<Template, WorkloadError> {
    let mut graph = Graph {
        draft: Draft::default(),
        traces,
        hosts,
        spec,
        ends: traces.iter().map(|trace| vec![Ends::default(); trace.nodes.len()]).collect(),
    };
    let phase = Phase { name: "messages".to_owned(), bytes: 0, bus_factor: 0.0, measured: true };
    let messages = traces.iter().flat_map(|trace| &trace.nodes);
    let messages = messages.filter(|node| matches!(node.what, What::Send { .. })).count() > 0;
    graph.draft.phase(if messages { phase } else { Phase::unmeasured("compute") });
    graph.own()?;
    graph.messages()?;
    graph.collectives()?;
    graph.wait()?;
    graph.draft.finish().map_err(|error| {
        let found = format!("operations that wait for each other in a ring ({error:?})");
        WorkloadError::at("path", found, "traces that can end")
    })
}

struct Graph<'a> {
    draft: Draft,
    traces: &'a [Trace],
    hosts: &'a [HostId],
    spec: &'a ChakraSpec,
    ends: Vec<Vec<Ends>>,
}

impl<'a> Graph<'a> {
    /// All nodes, with their places.
    fn nodes(&self) -> impl Iterator<Item = (Place, &'a Node)> + use<'a> {
        let ranks = self.traces.iter().enumerate();
        ranks.flat_map(|(rank, trace)| {
            trace.nodes.iter().enumerate().map(move |(at, node)| ((rank, at), node))
        })
    }

    fn set(&mut self, (rank, at): Place, begin: Op, end: Vec<Op>) {
        self.ends[rank][at] = Ends { begin: Some(begin), end };
    }

    fn wrong(&self, (rank, at): Place, found: &str, allowed: &str) -> WorkloadError {
        self.traces[rank].wrong(&self.traces[rank].nodes[at], found, allowed)
    }

    /// What a rank does alone: computations, and points.
    fn own(&mut self) -> Result<(), WorkloadError> {
        for (place, node) in self.nodes() {
            let host = self.hosts[place.0];
            let op = match node.what {
                What::Compute { micros, on_cpu } => {
                    let span = Span(micros.saturating_mul(1_000_000));
                    let processor = if on_cpu { CPU } else { 0 };
                    self.draft.compute_on(host, processor, span, false)
                }
                What::Point | What::Receive { .. } => self.draft.point(host),
                What::Send { .. } | What::Collective { .. } => continue,
            };
            self.set(place, op, vec![op]);
        }
        Ok(())
    }

    /// Sends and receives, which belong together by ranks and tag, in the order of the files.
    fn messages(&mut self) -> Result<(), WorkloadError> {
        let ranks = self.hosts.len() as u64;
        let mut awaited: HashMap<(u64, u64, u64), VecDeque<(Place, u64)>> = HashMap::new();
        for (place, node) in self.nodes() {
            if let What::Receive { from, bytes, tag } = node.what {
                let key = (from, place.0 as u64, tag);
                awaited.entry(key).or_default().push_back((place, bytes));
            }
        }
        for (place, node) in self.nodes() {
            let What::Send { to, bytes, tag } = node.what else { continue };
            let (rank, host) = (place.0 as u64, self.hosts[place.0]);
            if to >= ranks {
                let allowed = format!("a rank, 0 to {}", ranks - 1);
                return Err(self.wrong(place, &format!("comm_dst {to}"), &allowed));
            }
            let receive = awaited.get_mut(&(rank, to, tag)).and_then(VecDeque::pop_front);
            let Some((receive, wanted)) = receive else {
                let found = format!("a message to {to} with tag {tag} that nobody receives");
                return Err(self.wrong(place, &found, "a COMM_RECV_NODE for every COMM_SEND_NODE"));
            };
            if wanted != bytes {
                let found = format!("{wanted} bytes of a message that has {bytes}");
                return Err(self.wrong(receive, &found, "its size"));
            }
            // A rank's message to itself takes no time.
            let op = match to == rank {
                true => self.draft.point(host),
                false => self.draft.message(host, self.hosts[to as usize], bytes.max(1), 0),
            };
            self.set(place, op, vec![op]);
            let begin = self.ends[receive.0][receive.1].begin;
            begin.into_iter().for_each(|begin| self.draft.after(op, begin));
        }
        let left = awaited.into_values().filter_map(|left| left.front().copied()).min();
        match left {
            None => Ok(()),
            Some((place, _)) => {
                let found = "a receive of what nobody sends";
                Err(self.wrong(place, found, "a COMM_SEND_NODE for every COMM_RECV_NODE"))
            }
        }
    }

    /// Collectives: the ranks of a group are those whose traces name it, and the first of each is one, the second...
    fn collectives(&mut self) -> Result<(), WorkloadError> {
        let mut groups: BTreeMap<&str, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
        for ((rank, at), node) in self.nodes() {
            if let What::Collective { group, .. } = &node.what {
                groups.entry(group).or_default().entry(rank).or_default().push(at);
            }
        }
        let count: usize = groups.values().flat_map(|ranks| ranks.values()).map(Vec::len).sum();
        if count > COLLECTIVES * self.traces.len() {
            let found = format!("{count} collectives");
            return Err(WorkloadError::at("path", found, "at most 65,000 of a rank"));
        }
        for (group, ranks) in groups {
            let whole = group.is_empty() && ranks.len() < self.traces.len();
            let most = ranks.values().map(Vec::len).max().unwrap_or_default();
            for turn in 0..most {
                let places: Vec<Option<Place>> =
                    ranks.iter().map(|(rank, own)| Some((*rank, *own.get(turn)?))).collect();
                let missing = places.iter().position(Option::is_none);
                let places: Vec<Place> = places.into_iter().flatten().collect();
                if whole || missing.is_some() {
                    let absent = missing.and_then(|at| ranks.keys().nth(at).copied());
                    let absent = absent
                        .or_else(|| (0..self.traces.len()).find(|rank| !ranks.contains_key(rank)));
                    let found = format!(
                        "collective {turn} of group \"{group}\", which rank {} does not have",
                        absent.unwrap_or_default()
                    );
                    return Err(self.wrong(places[0], &found, "as many of each rank of a group"));
                }
                self.collective(&places)?;
            }
        }
        Ok(())
    }

    /// One of them, of these nodes.
    fn collective(&mut self, places: &[Place]) -> Result<(), WorkloadError> {
        let node = |(rank, at): Place| &self.traces[rank].nodes[at];
        let first = node(places[0]);
        let What::Collective { what, bytes, .. } = first.what else { return Ok(()) };
        for place in places {
            let other = node(*place);
            if !matches!(other.what, What::Collective { what: w, bytes: b, .. } if (w, b) == (what, bytes))
            {
                let found =
                    format!("{:?} beside {:?} of rank {}", other.what, first.what, places[0].0);
                return Err(self.wrong(*place, &found, "the same collective and size"));
            }
        }
        let hosts: Vec<HostId> = places.iter().map(|(rank, _)| self.hosts[*rank]).collect();
        let begin: Vec<Op> = hosts.iter().map(|host| self.draft.point(*host)).collect();
        if hosts.len() < 2 {
            self.set(places[0], begin[0], vec![begin[0]]);
            return Ok(());
        }
        let spec = self.spec.how.of(what, self.size(what, bytes, hosts.len()));
        self.draft.phase(collective::named_phase(&spec, hosts.len(), &first.name));
        let ready: Vec<Vec<Op>> = begin.iter().map(|begin| vec![*begin]).collect();
        let ends = collective::add(&mut self.draft, (&hosts, &ready), &spec)?;
        for ((place, begin), ends) in places.iter().zip(begin).zip(ends) {
            // Those that wait for it wait for one point, not for each message.
            let end = self.draft.point(self.hosts[place.0]);
            ends.into_iter().for_each(|message| self.draft.after(message, end));
            self.draft.after(begin, end);
            self.set(*place, begin, vec![end]);
        }
        Ok(())
    }

    /// A rank's buffer, the larger of what goes in and what comes out: `comm_size` is what goes in.
    fn size(&self, what: Collective, bytes: u64, ranks: usize) -> u64 {
        match what {
            Collective::AllGather => bytes.saturating_mul(ranks as u64),
            _ => bytes,
        }
    }

    /// Every node begins when all have ended that it depends on.
    fn wait(&mut self) -> Result<(), WorkloadError> {
        for (rank, trace) in self.traces.iter().enumerate() {
            let mut known: HashMap<u64, usize> = HashMap::with_capacity(trace.nodes.len());
            for (at, node) in trace.nodes.iter().enumerate() {
                if known.insert(node.id, at).is_some() {
                    return Err(trace.wrong(
                        node,
                        "a node's id for the second time",
                        "each id once",
                    ));
                }
            }
            for (at, node) in trace.nodes.iter().enumerate() {
                for id in &node.after {
                    let Some(of) = known.get(id) else {
                        let found = format!("a dependency on node {id}, which is not there");
                        return Err(trace.wrong(node, &found, "nodes of the same rank"));
                    };
                    let (before, then) =
                        (self.ends[rank][*of].end.clone(), self.ends[rank][at].begin);
                    for (before, then) in before.iter().zip(then.iter().cycle()) {
                        self.draft.after(*before, *then);
                    }
                }
            }
        }
        Ok(())
    }
}
