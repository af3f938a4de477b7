//! What is known of a path, and what Algorithms 1 and 2 make of it.

use leafspine_core::Time;

/// Gain of the averages of delay and marks: a sixteenth.
pub(super) const GAIN: u32 = 4;

/// Delay and marks of a path as they are known somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sense {
    /// Smoothed round-trip time in sixteenths of stamp units, 4 ns, so that the average of times of
    /// microseconds does not stick; 0 if nothing is known.
    pub(super) rtt: u32,
    /// Smoothed share of marked packets, of 65,536.
    pub(super) marked: u32,
}

impl Sense {
    /// Takes a sample in, in stamp units; at most some seconds.
    pub(super) fn learn(&mut self, rtt: u32, marked: bool) {
        let rtt = rtt.clamp(1, u32::MAX >> (GAIN + 1));
        if self.rtt == 0 {
            *self = Sense { rtt: rtt << GAIN, marked: 0 };
        }
        self.rtt = (self.rtt - (self.rtt >> GAIN) + rtt).max(1);
        self.marked -= self.marked >> GAIN;
        if marked {
            self.marked += (65_536 - self.marked) >> GAIN;
        }
    }

    pub(super) fn to_word(self) -> u64 {
        u64::from(self.rtt) << 32 | u64::from(self.marked)
    }

    pub(super) fn from_word(word: u64) -> Sense {
        Sense { rtt: (word >> 32) as u32, marked: word as u32 }
    }
}

/// Algorithm 1's classes of paths that work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathClass {
    Good,
    Grey,
    Congested,
}

/// A rate estimate: bytes that decay linearly over a time constant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    pub(super) bytes: u64,
    pub(super) at: u64,
}

impl Rate {
    /// What is left at `now`, over a time constant of `tau` ps whose reciprocal is `2^32 / (tau >> 10)`.
    pub(super) fn left(self, now: Time, tau: u64, reciprocal: u64) -> u64 {
        let age = now.0.saturating_sub(self.at);
        if age >= tau {
            return 0;
        }
        let gone = (self.bytes.min(1 << 30) * (((age >> 10) * reciprocal) >> 16)) >> 16;
        self.bytes.saturating_sub(gone)
    }
}

/// What Algorithms 1 and 2 compare with, in the units of [`Sense`].
pub(super) struct Bounds {
    pub(super) ecn: u32,
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) better_rtt: u32,
    pub(super) better_ecn: u32,
}

impl Bounds {
    /// Algorithm 1. A path about which nothing is known is grey.
    pub(super) fn class(&self, sense: Sense) -> PathClass {
        if sense.rtt == 0 {
            PathClass::Grey
        } else if sense.marked < self.ecn && sense.rtt < self.low {
            PathClass::Good
        } else if sense.marked > self.ecn && sense.rtt > self.high {
            PathClass::Congested
        } else {
            PathClass::Grey
        }
    }

    /// §3.2: notably better in both.
    pub(super) fn notably_better(&self, new: Sense, old: Sense) -> bool {
        new.rtt != 0
            && old.rtt > new.rtt.saturating_add(self.better_rtt)
            && old.marked > new.marked + self.better_ecn
    }
}
