//! What is counted at a port, most of it while the measurement window is open.

use super::histogram::Histogram;
use leafspine_core::Span;

/// Delays are kept in this many picoseconds (about a nanosecond).
const DELAY_UNIT_SHIFT: u32 = 10;

/// Counts and queue statistics of one port, over the measurement window.
///
/// The queue's mean length is the integral of packets waiting over time, divided by the window.
/// The integral is summed packet by packet (each adds its own wait), and put right at the window's
/// edges for packets that wait across them, so the mean is exact.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct PortStats {
    /// Packets accepted.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time the line was sending, ps.
    pub busy: i64,
    /// Packets accepted in the window that have begun transmission.
    pub left: u64,
    /// Packet-picoseconds waited.
    pub waited: i128,
    /// Byte-picoseconds waited.
    pub byte_waited: i128,
    /// Sum of the waits of the packets in `left`, not cut by the window.
    pub total_wait: u128,
    delays: Histogram,
    lengths: Histogram,
    /// The most packets that an accepted one found waiting.
    pub max_packets: u32,
    /// Packets marked here.
    pub marks: u64,
    /// Packets dropped here.
    pub drops: u64,
    /// Packets lost on the link.
    pub lost: u64,
    /// Packets trimmed here.
    pub trims: u64,
    /// Packets marked and dropped here since the run began, whatever the window: what probes see.
    pub ever: Signals,
    /// Time for which some priority was paused, ps.
    pub paused: i64,
    /// Pauses that have begun.
    pub pauses: i64,
}

/// What a port has told transports of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Signals {
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets trimmed.
    pub trims: u64,
}

impl PortStats {
    /// A packet of `size` bytes found `found` packets waiting and will have waited `wait` when its
    /// transmission of `sending` begins.
    #[inline(always)]
    pub fn accepted(&mut self, size: u32, found: u32, wait: Span, sending: Span) {
        self.placed(size, found);
        self.began(size, wait, sending);
        self.delayed(wait);
    }

    /// A packet has been queued behind `found` others; its wait is not known yet.
    #[inline]
    pub fn placed(&mut self, size: u32, found: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
        if found > 0 {
            self.max_packets = self.max_packets.max(found);
            self.lengths.add(u64::from(found));
        }
    }

    /// A packet that has waited `wait` begins its transmission while the window is open: its part
    /// of the integrals.
    #[inline]
    pub fn began(&mut self, size: u32, wait: Span, sending: Span) {
        self.busy += sending.0 as i64;
        if wait > Span::ZERO {
            self.waited += i128::from(wait.0);
            self.byte_waited += i128::from(u64::from(size)) * i128::from(wait.0);
        }
    }

    /// The wait of a packet that was accepted while the window was open, whenever it ends. Most
    /// packets find an idle line: they are in `left` and in no bucket.
    #[inline]
    pub fn delayed(&mut self, wait: Span) {
        self.left += 1;
        if wait > Span::ZERO {
            self.total_wait += u128::from(wait.0);
            self.delays.add(wait.0 >> DELAY_UNIT_SHIFT);
        }
    }

    /// A packet has been marked here, while the window is open or not.
    #[inline]
    pub fn marked(&mut self, measuring: bool) {
        self.marks += u64::from(measuring);
        self.ever.marks += 1;
    }

    /// A packet has been dropped here, while the window is open or not.
    #[inline]
    pub fn dropped(&mut self, measuring: bool) {
        self.drops += u64::from(measuring);
        self.ever.drops += 1;
    }

    /// A packet has been trimmed here, while the window is open or not.
    #[inline]
    pub fn trimmed(&mut self, measuring: bool) {
        self.trims += u64::from(measuring);
        self.ever.trims += 1;
    }

    /// Takes `wait` of a packet out of (or, negative, into) the queue's integral: the part that
    /// lies on the other side of the window's edge.
    pub fn correct(&mut self, size: u32, wait: i128) {
        self.waited -= wait;
        self.byte_waited -= wait * i128::from(size);
    }

    /// The wait that a share `q` of packets does not exceed, ps; `None` without packets.
    #[must_use]
    pub fn delay_quantile_ps(&self, q: f64) -> Option<f64> {
        self.delays.quantile_of(q, self.left).map(|v| v * f64::from(1u32 << DELAY_UNIT_SHIFT))
    }

    /// The same for what packets found waiting.
    #[must_use]
    pub fn length_quantile(&self, q: f64) -> Option<f64> {
        self.lengths.quantile_of(q, self.packets)
    }
}
