//! What a run will need, in bytes, told before it starts.

use std::fmt;

/// The memory that a run is expected to need at most at once, by what needs it. An estimate: fabrics
/// and tables are known, flows under way and packets are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// Hosts, switches, ports with their queues, routes.
    pub fabric: u64,
    /// The tables of the schemes.
    pub schemes: u64,
    /// A result row for every flow, and both ends of those under way.
    pub flows: u64,
    /// Packets under way, and their events.
    pub packets: u64,
    /// Rows of the probes whose number can be foreseen.
    pub probes: u64,
    /// Flows in all: what becomes of the result has to be multiplied by it.
    pub rows: u64,
}

impl Memory {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.fabric, self.schemes, self.flows, self.packets, self.probes]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// The run would hold more than it may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overrun {
    /// Bytes held.
    pub held: u64,
    /// Of which results of flows and probes.
    pub results: u64,
    /// Bytes that it may hold.
    pub most: u64,
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
        write!(
            f,
            "the run holds {} MB, {} of them rows of flows and probes, and may hold {}",
            megabytes(self.held),
            megabytes(self.results),
            megabytes(self.most)
        )
    }
}

impl std::error::Error for Overrun {}
