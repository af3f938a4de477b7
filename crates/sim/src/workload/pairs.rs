//! Who may send to whom, and the draw of a pair in constant time.

use super::WorkloadError;
use super::hosts::{Fabric, HostSets};
use crate::spec::Pattern;
use leafspine_core::{HostId, Rng, TorId};

/// Marks a host that does not receive.
const NOT_THERE: u32 = u32::MAX;

/// The senders, and for each host the receivers that it may send to.
///
/// Receivers are kept switch by switch, so that those a sender may reach are one run of the list
/// with one gap in it: no draw is ever rejected.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    pattern: Pattern,
    senders: Vec<HostId>,
    /// Receivers ordered by switch.
    receivers: Vec<HostId>,
    /// Receivers under switch `t` stand at `starts[t]..starts[t + 1]`.
    starts: Vec<u32>,
    /// Where each host stands among the receivers.
    position: Vec<u32>,
    tor_of: Vec<TorId>,
}

/// Receivers at `first..`, `count` of them after leaving out `gap` from `gap_at`.
struct Reach {
    first: u32,
    gap_at: u32,
    gap: u32,
    count: u32,
}

impl Pairs {
    pub(super) fn new(sets: &HostSets, fabric: &Fabric, pattern: Pattern) -> Pairs {
        let mut receivers = sets.receivers.clone();
        receivers.sort_unstable_by_key(|host| (fabric.tor(*host), *host));
        let mut position = vec![NOT_THERE; fabric.hosts()];
        let mut starts = vec![0u32; fabric.tor_names.len() + 1];
        for (at, host) in receivers.iter().enumerate() {
            position[usize::from(host.0)] = at as u32;
            starts[usize::from(fabric.tor(*host).0) + 1] += 1;
        }
        for tor in 1..starts.len() {
            starts[tor] += starts[tor - 1];
        }
        let (senders, tor_of) = (sets.senders.clone(), fabric.tor_of.clone());
        Pairs { pattern, senders, receivers, starts, position, tor_of }
    }

    /// The senders in the set's order.
    pub(super) fn senders(&self) -> &[HostId] {
        &self.senders
    }

    /// The switch of a host.
    #[inline]
    pub(super) fn tor(&self, host: HostId) -> TorId {
        self.tor_of[usize::from(host.0)]
    }

    /// Receivers under the host's own switch, as positions.
    fn own(&self, host: HostId) -> (u32, u32) {
        let tor = usize::from(self.tor(host).0);
        (self.starts[tor], self.starts[tor + 1])
    }

    fn reach(&self, sender: HostId) -> Reach {
        let (low, high) = self.own(sender);
        let all = self.receivers.len() as u32;
        let me = self.position[usize::from(sender.0)];
        let gap = u32::from(me != NOT_THERE);
        match self.pattern {
            Pattern::Any => Reach { first: 0, gap_at: me, gap, count: all - gap },
            Pattern::IntraLeaf => Reach { first: low, gap_at: me, gap, count: high - low - gap },
            Pattern::InterLeaf => {
                Reach { first: 0, gap_at: low, gap: high - low, count: all - (high - low) }
            }
        }
    }

    /// How many receivers `sender` may send to.
    pub(super) fn choices(&self, sender: HostId) -> u32 {
        self.reach(sender).count
    }

    /// Whether the pattern has flows from `src` to `dst`, which are a sender and a receiver.
    pub(super) fn allows(&self, src: HostId, dst: HostId) -> bool {
        let together = self.tor(src) == self.tor(dst);
        match self.pattern {
            Pattern::Any => src != dst,
            Pattern::IntraLeaf => src != dst && together,
            Pattern::InterLeaf => !together,
        }
    }

    /// A sender, and one of its receivers, each equally likely. Draws two words.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> (HostId, HostId) {
        let sender = self.senders[rng.below(self.senders.len() as u64) as usize];
        let reach = self.reach(sender);
        let at = reach.first + rng.below(u64::from(reach.count)) as u32;
        let at = if at >= reach.gap_at { at + reach.gap } else { at };
        (sender, self.receivers[at as usize])
    }

    /// The share of drawn flows whose ends are under different switches.
    pub(super) fn crossing(&self) -> f64 {
        let share = |sender: &HostId| {
            let (low, high) = self.own(*sender);
            match self.pattern {
                Pattern::IntraLeaf => 0.0,
                Pattern::InterLeaf => 1.0,
                Pattern::Any => {
                    let away = self.receivers.len() as f64 - f64::from(high - low);
                    away / f64::from(self.choices(*sender))
                }
            }
        };
        self.senders.iter().map(share).sum::<f64>() / self.senders.len() as f64
    }

    /// Refuses senders that no receiver is left for.
    pub(super) fn require_a_receiver_for_each(&self) -> Result<(), WorkloadError> {
        match self.senders.iter().find(|sender| self.choices(**sender) == 0) {
            None => Ok(()),
            Some(sender) => Err(self.no_pair(&format!("host {}, which sends", sender.0))),
        }
    }

    /// An error for someone who finds no other end.
    pub(super) fn no_pair(&self, who: &str) -> WorkloadError {
        let (found, allowed) = match self.pattern {
            Pattern::Any => ("any other host", "any"),
            Pattern::InterLeaf => ("a host under another switch", "inter-leaf"),
            Pattern::IntraLeaf => ("another host under its own switch", "intra-leaf"),
        };
        WorkloadError::at(
            "receivers",
            format!("{who}, without {found} to pair it with"),
            format!("senders and receivers that the pattern \"{allowed}\" can pair"),
        )
    }
}
