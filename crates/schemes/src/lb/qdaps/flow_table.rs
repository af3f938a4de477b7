//! The flow table (§III-D, "Flow Table"): flow number, bytes sent, age bit, and until when the last
//! packet is on its way.

use super::crc16::crc16;
use leafspine_core::{FiveTuple, PortId, Span, Time};

/// No port has this number: the entry is free.
const NONE: PortId = PortId(u16::MAX);

/// What a switch remembers of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flow {
    /// When the last packet's delay is over: `t_i + QD_i`. With it alone eq. 2 needs one
    /// subtraction; the paper keeps both parts.
    pub(super) departs: Time,
    /// The interval between two sweeps in which the last packet came: it stands for the age bit.
    seen: u64,
    /// Bytes the flow has sent through this switch, on the wire.
    pub(super) sent: u32,
    /// Where the last packet went.
    pub(super) port: PortId,
}

const FREE: Flow = Flow { departs: Time::ZERO, seen: 0, sent: 0, port: NONE };

/// When idle entries are removed.
#[derive(Clone, Copy, Debug)]
struct Sweeps {
    every: Span,
    /// How many there have been.
    done: u64,
    next: Time,
}

impl Sweeps {
    /// Carries out those that are due. They cost nothing until an entry is read.
    #[inline]
    fn advance(&mut self, now: Time) {
        if now >= self.next {
            let due = (now - self.next).0 / self.every.0 + 1;
            self.done += due;
            self.next = Time(self.next.0.saturating_add(self.every.0.saturating_mul(due)));
        }
    }

    /// Whether a sweep has removed `flow`. The age bit is set by a packet; the sweep that ends that
    /// interval clears it, and the one that ends the next interval finds it clear and removes the
    /// entry. While the last packet is still on its way it waits (unless `strict`) for the first
    /// sweep thereafter.
    #[inline]
    fn removed(&self, flow: &Flow, strict: bool) -> bool {
        let last = Time(self.next.0 - self.every.0);
        self.done - flow.seen >= 2 && (strict || flow.departs <= last)
    }
}

/// A hashed table. Flows of one number share an entry, as in hardware.
pub(super) struct FlowTable {
    flows: Vec<Flow>,
    sweeps: Sweeps,
    strict: bool,
}

impl FlowTable {
    /// `entries` of at most 2^16, swept `every` so often.
    pub(super) fn new(entries: usize, every: Span, strict: bool) -> FlowTable {
        let sweeps = Sweeps { every, done: 0, next: Time(every.0) };
        FlowTable { flows: vec![FREE; entries], sweeps, strict }
    }

    /// The flow's number: its CRC, spread over the entries there are.
    #[inline]
    pub(super) fn number(&self, tuple: FiveTuple) -> usize {
        (usize::from(crc16(tuple)) * self.flows.len()) >> 16
    }

    /// What is remembered of flow `number`; nothing if it is new or has been removed.
    #[inline]
    pub(super) fn last(&mut self, number: usize, now: Time) -> Option<Flow> {
        self.sweeps.advance(now);
        let flow = self.flows[number];
        (flow.port != NONE && !self.sweeps.removed(&flow, self.strict)).then_some(flow)
    }

    /// Remembers a packet of flow `number`: `sent` bytes with it, gone to `port` until `departs`.
    #[inline]
    pub(super) fn remember(&mut self, number: usize, sent: u32, port: PortId, departs: Time) {
        self.flows[number] = Flow { departs, seen: self.sweeps.done, sent, port };
    }

    /// Bytes of an entry.
    pub(super) const ENTRY: u32 = size_of::<Flow>() as u32;

    pub(super) fn entries(&self) -> u32 {
        self.flows.len() as u32
    }

    /// Entries that are taken at `now`.
    pub(super) fn occupied(&self, now: Time) -> u32 {
        let mut sweeps = self.sweeps;
        sweeps.advance(now);
        let taken = |flow: &&Flow| flow.port != NONE && !sweeps.removed(flow, self.strict);
        self.flows.iter().filter(taken).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Span = Span::from_micros(200);

    fn table(strict: bool) -> FlowTable {
        FlowTable::new(1 << 16, EVERY, strict)
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// Breaks if the age bit is not set by every packet, or if an entry goes at another sweep than
    /// the first that finds the bit clear (§III-D): a packet at 150 us sets it, the sweep at 200
    /// clears it, the one at 400 removes the entry; at 399.999999 us it is still there.
    #[test]
    fn the_second_sweep_removes_an_idle_flow() {
        for (came, goes) in [(0, 400), (150, 400), (199, 400), (200, 600), (399, 600)] {
            let mut table = table(false);
            table.last(7, us(came));
            table.remember(7, 1500, PortId(3), us(came));
            let before = Time(us(goes).0 - 1);
            assert_eq!(table.last(7, before).map(|flow| flow.sent), Some(1500), "{came}");
            assert_eq!((table.last(7, us(goes)), table.occupied(us(goes))), (None, 0), "{came}");
        }
    }

    /// Breaks if a flow that sends in every interval ever loses its entry.
    #[test]
    fn a_busy_flow_stays() {
        let mut table = table(true);
        table.remember(7, 0, PortId(3), Time::ZERO);
        for n in 1..1_000 {
            let now = us(200 * n + n % 200);
            let flow = table.last(7, now).expect("an entry");
            table.remember(7, flow.sent + 1, PortId(3), now);
        }
        assert_eq!(table.last(7, us(200_100)).unwrap().sent, 999);
    }

    /// Breaks if a sweep removes a flow whose last packet is still on its way, keeps it beyond the
    /// first sweep thereafter, or if `strict` does not: a packet with a delay until 900 us, or 800.
    #[test]
    fn a_flow_with_a_packet_on_its_way_stays() {
        let stays = |strict, departs, at| {
            let mut table = table(strict);
            table.remember(7, 1500, PortId(3), us(departs));
            table.last(7, us(at)).is_some()
        };
        assert!(stays(false, 900, 850) && stays(false, 900, 999) && !stays(false, 900, 1_000));
        assert!(stays(false, 800, 799) && !stays(false, 800, 800), "nothing is left at the sweep");
        assert!(stays(true, 900, 399) && !stays(true, 900, 400));
    }

    /// Breaks if a long silence is counted sweep by sweep, or overflows.
    #[test]
    fn many_sweeps_are_one_step() {
        let mut table = table(false);
        table.remember(7, 1, PortId(3), us(5));
        assert_eq!(table.last(7, Time::END), None);
        assert_eq!(table.sweeps.done, Time::END.0 / EVERY.0);
        assert_eq!(table.last(7, Time::MAX), None);
    }

    /// Breaks if a smaller table leaves entries out: 64 of them share 65,536 numbers evenly.
    #[test]
    fn small_tables_are_used_evenly() {
        let table = FlowTable::new(64, EVERY, false);
        let mut uses = [0; 64];
        for sport in 0..=u16::MAX {
            uses[table.number(FiveTuple(u64::from(sport) << 16))] += 1;
        }
        assert_eq!(uses, [1024; 64]);
    }
}
