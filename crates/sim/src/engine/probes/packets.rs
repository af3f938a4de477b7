//! Every packet that ports send.

use super::{Columns, port_names};
use crate::output::Column;
use leafspine_core::{Span, Time};
use leafspine_fabric::Graph;
use leafspine_node::Seen;

/// The flow of a scheme's own packet.
const NO_FLOW: u32 = u32::MAX;

pub(super) struct PacketsProbe {
    /// By global number.
    ports: Vec<u32>,
    /// In the order in which the ports told of them.
    hops: Vec<Hop>,
}

/// A packet sent: a row, because rows are put in order before they become columns.
struct Hop {
    start: Time,
    waited: Span,
    /// By global number.
    port: u32,
    flow: u32,
    segment: u32,
    size: u16,
    flags: u8,
    ecn: u8,
}

impl PacketsProbe {
    pub(super) fn new(ports: Vec<u32>) -> PacketsProbe {
        PacketsProbe { ports, hops: Vec::new() }
    }

    /// The ports watched, by global number.
    pub(super) fn ports(&self) -> &[u32] {
        &self.ports
    }

    pub(super) fn rows(&self) -> usize {
        self.hops.len()
    }

    /// `flow` is the number of the packet's flow, if it is no scheme's own.
    pub(super) fn record(&mut self, seen: &Seen, flow: Option<u32>) {
        let Seen { port, start, waited, segment, size, flags, ecn, .. } = *seen;
        let flow = flow.unwrap_or(NO_FLOW);
        self.hops.push(Hop { start, waited, port, flow, segment, size, flags, ecn });
    }

    /// Rows in the order of their transmissions, less those that had not begun at `end`: the
    /// one-event port tells of packets when they are queued.
    pub(super) fn columns(mut self, graph: &Graph, end: Time) -> Columns {
        self.hops.retain(|hop| hop.start <= end);
        self.hops.sort_by_key(|hop| (hop.start, hop.port));
        let place = |port| self.ports.iter().position(|at| *at == port).unwrap_or(0) as u32;
        let u32s = |of: fn(&Hop) -> u32| Column::U32(self.hops.iter().map(of).collect());
        let u64s = |of: fn(&Hop) -> u64| Column::U64(self.hops.iter().map(of).collect());
        Columns {
            kind: "packets",
            names: port_names(graph, &self.ports),
            columns: vec![
                ("time_ps", u64s(|hop| hop.start.0)),
                ("port", Column::Index(self.hops.iter().map(|hop| place(hop.port)).collect())),
                ("flow", u32s(|hop| hop.flow)),
                ("segment", u32s(|hop| hop.segment)),
                ("size", u32s(|hop| u32::from(hop.size))),
                ("flags", u32s(|hop| u32::from(hop.flags))),
                ("ecn", u32s(|hop| u32::from(hop.ecn))),
                ("waited_ps", u64s(|hop| hop.waited.0)),
            ],
        }
    }
}
