//! Where what waits at a switch came in: how much of the buffer each ingress port and priority has.

use super::PRIORITIES;
use crate::egress::Shared;
use crate::spec::{PfcSpec, PfcThreshold, WatchdogSpec};
use leafspine_core::Time;

/// The ingress port of a packet that is not counted: a host's, a balancer's, one of a lossy priority.
pub const NO_INGRESS: u16 = u16::MAX;

/// Bytes that packets of one ingress port and priority have of the buffer. What comes fills the reserve,
/// then the shared pool up to the threshold, then the headroom; what leaves empties them in turn, the headroom
/// first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// In what is the group's own.
    pub reserve: u64,
    /// In the pool that all share.
    pub shared: u64,
    /// In the headroom.
    pub headroom: u64,
}

impl Held {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.reserve + self.shared + self.headroom
    }
}

/// An ingress port's packets of one priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// What they have of the buffer.
    pub held: Held,
    /// Whether the far end should stop.
    pub stop: bool,
    /// Whether the last frame about it said so.
    pub announced: bool,
    /// When that is said again, if it still should.
    pub(crate) again: Time,
    /// When it is next looked whether that is due; [`Time::MAX`] if no event is pending. One at any
    /// other time came to be too late, when the link became faster, and an earlier one was planned.
    pub(crate) look: Time,
}

/// The groups of an ingress port.
#[derive(Clone, Debug)]
pub struct PortGroups {
    /// Headroom of each lossless priority, bytes.
    pub headroom: u64,
    /// By priority.
    pub groups: [Group; PRIORITIES],
    /// Priorities of which the far end does not know the latest, a bit each.
    pub(crate) pending: u8,
    /// Priorities whose pause is to be renewed.
    pub(crate) renew: u8,
}

impl PortGroups {
    /// Whether the far end was told to stop a priority, or is to be. If neither, there is nothing that it
    /// does not know.
    #[inline(always)]
    pub(crate) fn may_tell(&self, queue: usize) -> bool {
        let group = &self.groups[queue];
        group.stop | group.announced | (self.pending != 0)
    }
}

/// Flow control at a switch, or at a host, which counts nothing and only obeys.
#[derive(Clone, Debug)]
pub struct Pfc {
    /// The lossless priorities, a bit each.
    pub lossless: u8,
    /// Of the shared pool, how much a group may have.
    pub threshold: PfcThreshold,
    /// What is each group's own, bytes.
    pub reserve: u64,
    /// The far end goes on when a group has so many bytes less than the threshold.
    pub resume: u64,
    /// What becomes of a port that stays paused, if anything.
    pub watchdog: Option<WatchdogSpec>,
    /// By ingress port; empty at a host.
    pub ports: Vec<PortGroups>,
}

impl Pfc {
    /// Flow control with this much headroom at each ingress port.
    #[must_use]
    pub fn new(spec: &PfcSpec, headrooms: impl IntoIterator<Item = u64>) -> Pfc {
        let fresh = Group { look: Time::MAX, ..Group::default() };
        let port =
            |headroom| PortGroups { headroom, groups: [fresh; PRIORITIES], pending: 0, renew: 0 };
        Pfc {
            lossless: spec.lossless,
            threshold: spec.threshold,
            reserve: spec.reserve.0,
            resume: spec.resume.0,
            watchdog: spec.watchdog,
            ports: headrooms.into_iter().map(port).collect(),
        }
    }

    /// Whether packets of this service queue are never dropped for want of room.
    #[inline]
    #[must_use]
    pub fn is_lossless(&self, queue: usize) -> bool {
        queue < PRIORITIES && self.lossless >> queue & 1 == 1
    }

    /// What a group may have of the pool now.
    #[inline(always)]
    fn most(&self, pool: &Shared) -> u64 {
        match self.threshold {
            PfcThreshold::Static(bytes) => bytes.0,
            // Less than half of what 64 bits count: signed conversions are one instruction each.
            PfcThreshold::Dynamic(alpha) => (alpha * pool.free() as i64 as f64) as i64 as u64,
        }
    }

    /// Takes in `size` bytes of a group; `false` if there is no room for them, the headroom included.
    #[inline(always)]
    pub(crate) fn take(&mut self, from: u16, queue: usize, size: u32, pool: &mut Shared) -> bool {
        let most = self.most(pool);
        let port = &mut self.ports[usize::from(from)];
        let group = &mut port.groups[queue];
        let mut left = u64::from(size);
        let own = left.min(self.reserve - group.held.reserve);
        left -= own;
        let shared = left.min(most.saturating_sub(group.held.shared)).min(pool.free());
        left -= shared;
        if group.held.headroom + left > port.headroom {
            return false;
        }
        group.held.reserve += own;
        group.held.shared += shared;
        group.held.headroom += left;
        pool.used += shared;
        // Beyond the threshold the headroom begins.
        group.stop |= group.held.headroom > 0;
        true
    }

    /// Gives the room of `size` bytes back; the far end may go on once enough is free.
    #[inline(always)]
    pub(crate) fn give(&mut self, from: u16, queue: usize, size: u32, pool: &mut Shared) {
        let port = &mut self.ports[usize::from(from)];
        let held = &mut port.groups[queue].held;
        let left = u64::from(size);
        let headroom = left.min(held.headroom);
        let shared = (left - headroom).min(held.shared);
        held.headroom -= headroom;
        held.shared -= shared;
        held.reserve -= left - headroom - shared;
        pool.used -= shared;
        let Group { held, stop, .. } = port.groups[queue];
        if stop && !self.keeps_stopped(held, pool) {
            self.ports[usize::from(from)].groups[queue].stop = false;
        }
    }

    /// Whether a group that has this much keeps its far end stopped.
    #[inline]
    #[must_use]
    pub fn keeps_stopped(&self, held: Held, pool: &Shared) -> bool {
        let few = held.shared == 0 || held.shared + self.resume <= self.most(pool);
        held.headroom > 0 || !few
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_core::Bytes;

    fn pfc(threshold: PfcThreshold) -> Pfc {
        let spec = PfcSpec {
            lossless: 1,
            threshold,
            reserve: Bytes(1_000),
            resume: Bytes(500),
            headroom: None,
            watchdog: None,
        };
        Pfc::new(&spec, [3_000, 3_000])
    }

    fn held(pfc: &Pfc, from: usize) -> (u64, u64, u64, bool) {
        let Group { held, stop, .. } = pfc.ports[from].groups[0];
        (held.reserve, held.shared, held.headroom, stop)
    }

    /// Breaks if the reserve is not filled first, if the threshold bounds anything but the shared part, if
    /// the far end is stopped before the headroom begins or goes on before the rest is `resume` below the
    /// threshold, or if what leaves empties the headroom last.
    #[test]
    fn a_static_threshold_by_hand() {
        let (mut pfc, mut pool) =
            (pfc(PfcThreshold::Static(Bytes(2_000))), Shared::new(10_000, 1.0));
        assert!(pfc.take(0, 0, 1_500, &mut pool));
        assert_eq!((held(&pfc, 0), pool.used), ((1_000, 500, 0, false), 500));
        assert!(pfc.take(0, 0, 1_500, &mut pool));
        assert_eq!(held(&pfc, 0), (1_000, 2_000, 0, false));
        assert!(pfc.take(0, 0, 1_500, &mut pool));
        assert_eq!((held(&pfc, 0), pool.used), ((1_000, 2_000, 1_500, true), 2_000));
        assert!(pfc.take(0, 0, 1_500, &mut pool));
        assert!(!pfc.take(0, 0, 1, &mut pool), "the headroom is full");
        assert_eq!(held(&pfc, 0), (1_000, 2_000, 3_000, true));
        for (after, stops) in [(1_500, true), (0, true)] {
            pfc.give(0, 0, 1_500, &mut pool);
            assert_eq!(held(&pfc, 0), (1_000, 2_000, after, stops));
        }
        pfc.give(0, 0, 499, &mut pool);
        assert_eq!(held(&pfc, 0), (1_000, 1_501, 0, true));
        pfc.give(0, 0, 1, &mut pool);
        assert_eq!((held(&pfc, 0), pool.used), ((1_000, 1_500, 0, false), 1_500));
        pfc.give(0, 0, 2_500, &mut pool);
        assert_eq!((held(&pfc, 0), pool.used), ((0, 0, 0, false), 0));
    }

    /// Breaks if a dynamic threshold is not alpha times what is free of the pool, or if one group's bytes
    /// leave another's threshold as it was.
    #[test]
    fn a_dynamic_threshold_falls_with_what_others_have() {
        let (mut pfc, mut pool) = (pfc(PfcThreshold::Dynamic(1.0)), Shared::new(10_000, 1.0));
        assert!(pfc.take(0, 0, 7_000, &mut pool));
        assert_eq!(
            held(&pfc, 0),
            (1_000, 6_000, 0, false),
            "half of the pool and more: as much was free"
        );
        assert!(pfc.take(1, 0, 5_001, &mut pool));
        assert_eq!(held(&pfc, 1), (1_000, 4_000, 1, true));
        assert_eq!(pool.free(), 0);
    }
}
