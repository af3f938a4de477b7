//! One iteration of a job.

use leafspine_core::{HostId, Span};

/// Bytes from one host to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub(crate) bytes: u64,
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
    /// Messages of one channel of a pair of hosts share a connection.
    pub(crate) channel: u16,
    pub(crate) phase: u16,
}

/// Time in which a host computes; without any, a point at which it waits for several operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Compute {
    pub(crate) span: Span,
    pub(crate) host: HostId,
    /// A processor does one thing at a time.
    pub(crate) processor: u8,
    /// Whether the job's jitter makes it longer.
    pub(crate) jittered: bool,
    pub(crate) phase: u16,
}

/// A part of an iteration that is measured: a collective, or what lies between.
#[derive(Clone, PartialEq, Debug)]
pub struct Phase {
    /// What it is called: `all-reduce`.
    pub name: String,
    /// The bytes that its bandwidth is counted in; zero of a phase that has none.
    pub bytes: u64,
    /// Bytes that must cross a rank's link, over `bytes`: what bus bandwidth counts.
    pub bus_factor: f64,
    /// Whether it is a collective, which has a completion time.
    pub measured: bool,
}

impl Phase {
    /// What lies between collectives.
    pub(crate) fn unmeasured(name: &str) -> Phase {
        Phase { name: name.to_owned(), bytes: 0, bus_factor: 0.0, measured: false }
    }
}

/// What is between two operations, beside the number of the second.
pub(super) const AT_START: u32 = 1 << 31;
/// The second is of the next iteration.
pub(super) const NEXT: u32 = 1 << 30;
/// The number of the second: messages are numbered first.
pub(super) const NUMBER: u32 = NEXT - 1;

/// The operations of an iteration: messages first, then computations.
#[derive(Debug, Default)]
pub(crate) struct Template {
    pub(super) messages: Vec<Message>,
    pub(super) computes: Vec<Compute>,
    /// Per operation and one more: where those that wait for it begin in `then`.
    pub(super) first: Vec<u32>,
    /// Operations that wait for another, with [`AT_START`] and [`NEXT`].
    pub(super) then: Vec<u32>,
    /// Per operation: how many of its iteration, and of the one before, it waits for.
    pub(super) waits: Vec<[u32; 2]>,
    pub(crate) phases: Vec<Phase>,
}

impl Template {
    /// Those that wait for an operation.
    pub(super) fn then(&self, of: u32) -> &[u32] {
        let of = of as usize;
        &self.then[self.first[of] as usize..self.first[of + 1] as usize]
    }

    /// How many messages it has.
    pub(crate) fn messages(&self) -> u64 {
        self.messages.len() as u64
    }

    /// How many messages and computations it has.
    pub(crate) fn operations(&self) -> usize {
        self.messages.len() + self.computes.len()
    }

    /// The most messages that are as many steps from the beginning as each other.
    pub(super) fn widest(&self) -> u64 {
        let mut left: Vec<u32> = self.waits.iter().map(|[own, _]| *own).collect();
        let mut now: Vec<u32> =
            (0..).zip(&left).filter(|(_, waits)| **waits == 0).map(|(at, _)| at).collect();
        let (mut widest, messages) = (0, self.messages.len() as u32);
        while !now.is_empty() {
            widest = widest.max(now.iter().filter(|at| **at < messages).count() as u64);
            let mut next = Vec::new();
            for at in now {
                for then in self.then(at).iter().filter(|then| **then & NEXT == 0) {
                    let then = then & NUMBER;
                    left[then as usize] -= 1;
                    if left[then as usize] == 0 {
                        next.push(then);
                    }
                }
            }
            now = next;
        }
        widest
    }

    /// Per phase: its operations.
    pub(crate) fn phase_sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.phases.len()];
        let messages = self.messages.iter().map(|message| message.phase);
        let computes = self.computes.iter().map(|compute| compute.phase);
        messages.chain(computes).for_each(|phase| sizes[usize::from(phase)] += 1);
        sizes
    }
}
