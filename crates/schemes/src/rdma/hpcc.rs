//! HPCC (Li et al., SIGCOMM 2019): a window that goes by what switches have written into the
//! packets (in-band network telemetry).
//!
//! The paper leaves open what is known before the first acknowledgment (here: nothing is done with
//! it, and the link utilisation is taken to be 1, as of a sender at its line's rate), and how large
//! the window may become (here: the initial one).

use leafspine_core::{Rate, Span, Time};

/// What a switch's port writes into a packet whose transmission begins (§3.1, fig. 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The port, by its global number: the header of the paper has a hash over all of the path's switches.
    pub port: u32,
    /// Bytes that wait at the port, without the packet.
    pub queue: u32,
    /// Bytes that the port has sent since the start of the run, without the packet.
    pub sent: u64,
    /// When.
    pub at: Time,
    /// The rate of its link.
    pub rate: Rate,
}

impl Hop {
    /// What it takes in a packet (fig. 7: 64 bits).
    pub const BYTES: u16 = 8;
    /// What the header takes besides: the number of hops and the path.
    pub const BASE: u16 = 2;
    /// The most that a packet names: four bits count them.
    pub const MOST: usize = 15;
}

/// HPCC's constants.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HpccSettings {
    /// The round trip without queues (T).
    pub base_rtt: Span,
    /// The utilisation that is aimed at (eta).
    pub eta: f64,
    /// Steps of additive increase before one that goes by the utilisation alone (maxStage).
    pub stages: u32,
    /// Bytes that the window grows by with each round trip (W_AI).
    pub additive: u64,
}

/// A sender's window.
#[derive(Clone, PartialEq, Debug)]
pub struct Hpcc {
    /// The initial window, which is also the largest: what the line sends in a round trip.
    most: f64,
    /// W, and the reference W^c that it is computed from, bytes.
    window: f64,
    reference: f64,
    /// U: the utilisation of the path's most used link, averaged over a round trip.
    utilisation: f64,
    stage: u32,
    /// L: what the last acknowledgment has told of each link.
    last: Vec<Hop>,
    /// The first packet sent after the reference was last set.
    next_update: u32,
}

impl Hpcc {
    /// A start at the line's rate.
    #[must_use]
    pub fn new(cfg: &HpccSettings, line: Rate) -> Hpcc {
        let most = line.bytes_in(cfg.base_rtt).0.max(1) as f64;
        Hpcc {
            most,
            window: most,
            reference: most,
            utilisation: 1.0,
            stage: 0,
            last: Vec::new(),
            next_update: 0,
        }
    }

    /// Bytes that may be under way.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window as u64
    }

    /// The rate at which they leave: the window in a round trip.
    #[must_use]
    pub fn rate(&self, cfg: &HpccSettings) -> Rate {
        Rate((self.window * 8e12 / cfg.base_rtt.0 as f64).max(1.0) as u64)
    }

    /// The utilisation of the path's most used link, as far as it is known.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// An acknowledgment of packet `number` has come with what its links have told; `next` is sent
    /// next (alg. 1, NewAck).
    pub fn on_ack(&mut self, cfg: &HpccSettings, hops: &[Hop], number: u32, next: u32) {
        if hops.is_empty() {
            return;
        }
        // Another path, or none so far: what was known is of other links (section 4.1).
        let same = self.last.len() == hops.len()
            && self.last.iter().zip(hops).all(|(old, new)| old.port == new.port);
        // One that was overtaken on its way back tells of the past.
        let later = same && self.last.iter().zip(hops).all(|(old, new)| old.at < new.at);
        if later {
            self.measure(cfg, hops);
            let update = number.wrapping_sub(self.next_update) as i32 >= 0;
            self.compute(cfg, update);
            if update {
                self.next_update = next;
            }
        }
        if self.last.is_empty() {
            // The first answer is of the first round trip, at whose end W^c follows (alg. 1: lastUpdateSeq).
            self.next_update = next;
        }
        if later || !same {
            self.last.clear();
            self.last.extend(hops);
        }
    }

    /// The bytes under way on the most used link, of those that fill it (alg. 1, MeasureInflight).
    fn measure(&mut self, cfg: &HpccSettings, hops: &[Hop]) {
        let base = cfg.base_rtt.0 as f64;
        let (mut most, mut span) = (-1.0, 0.0);
        for (old, new) in self.last.iter().zip(hops) {
            // Bytes a picosecond.
            let rate = new.rate.0 as f64 / 8e12;
            let time = (new.at - old.at).0 as f64;
            let sent = (new.sent - old.sent) as f64 / time;
            let used = f64::from(new.queue.min(old.queue)) / (rate * base) + sent / rate;
            if used > most {
                (most, span) = (used, time);
            }
        }
        let weight = span.min(base) / base;
        self.utilisation = (1.0 - weight) * self.utilisation + weight * most;
    }

    /// The window that brings the utilisation to eta; the reference follows once a round trip (alg. 1, ComputeWind).
    fn compute(&mut self, cfg: &HpccSettings, update: bool) {
        let by_use = self.utilisation >= cfg.eta || self.stage >= cfg.stages;
        let from =
            if by_use { self.reference * cfg.eta / self.utilisation } else { self.reference };
        self.window = (from + cfg.additive as f64).min(self.most);
        if update {
            self.stage = if by_use { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    /// 10 Gb/s and 8 us: 10,000 bytes are a window.
    fn settings() -> HpccSettings {
        HpccSettings { base_rtt: Span::from_micros(8), eta: 0.9, stages: 2, additive: 100 }
    }

    fn hop(port: u32, queue: u32, sent: u64, us: u64) -> Hop {
        Hop { port, queue, sent, at: Time(us * US), rate: Rate::from_gbps(10) }
    }

    fn ack(hpcc: &mut Hpcc, hops: &[Hop], number: u32, next: u32) -> (f64, f64, f64) {
        hpcc.on_ack(&settings(), hops, number, next);
        (hpcc.utilisation, hpcc.window, hpcc.reference)
    }

    /// By hand. The line sends 1,250 bytes a us. The first acknowledgment tells of nothing yet.
    ///
    /// 1. 4 us later link 7 has sent 2,500 bytes (half its rate) and link 8 all of 5,000; of its
    ///    queue of 3,000 and 5,000 the smaller counts: 0.3 + 1. U = (1 - 4/8) x 1 + 4/8 x 1.3 =
    ///    1.15; W = 10,000 x 0.9 / 1.15 + 100 = 7,926.09. Packet 5 was sent after the last update,
    ///    at 0: W^c is W.
    /// 2. 8 us later link 7 has sent 8,000 bytes (0.8), link 8 5,000 (0.5) and has no queue. U =
    ///    0.8, below eta: stage 0 of 2, W = W^c + 100; packet 8 is not yet of after the update (9):
    ///    W^c stays, and so does the stage.
    /// 3. The same again with packet 9: W^c = 8,026.09, stage 1. 4. Once more: 8,126.09, stage 2.
    /// 5. Stage 2 is maxStage: W = 8,126.09 x 0.9 / 0.8 + 100 = 9,241.85, stage 0.
    ///
    /// Breaks if another queue counts, another link, another time; if U is not averaged so; if
    /// stages count acknowledgments and not round trips.
    #[test]
    fn a_sequence_by_hand() {
        let mut hpcc = Hpcc::new(&settings(), Rate::from_gbps(10));
        assert_eq!((hpcc.window(), hpcc.rate(&settings())), (10_000, Rate::from_gbps(10)));
        assert_eq!(ack(&mut hpcc, &[hop(7, 0, 0, 1), hop(8, 3_000, 0, 2)], 0, 3), (1.0, 1e4, 1e4));
        let near = |found: (f64, f64, f64), wanted: (f64, f64, f64)| {
            let off = (found.0 - wanted.0).abs()
                + (found.1 - wanted.1).abs()
                + (found.2 - wanted.2).abs();
            assert!(off < 1e-6, "{found:?} {wanted:?}");
        };
        let cut = 1e4 * 0.9 / 1.15 + 100.0;
        near(
            ack(&mut hpcc, &[hop(7, 0, 2_500, 5), hop(8, 5_000, 5_000, 6)], 5, 9),
            (1.15, cut, cut),
        );
        let mut at = |n: u64, number| {
            let hops =
                [hop(7, 0, 2_500 + 8_000 * n, 5 + 8 * n), hop(8, 0, 5_000 + 5_000 * n, 6 + 8 * n)];
            ack(&mut hpcc, &hops, number, number + 4)
        };
        near(at(1, 8), (0.8, cut + 100.0, cut));
        near(at(2, 9), (0.8, cut + 100.0, cut + 100.0));
        near(at(3, 13), (0.8, cut + 200.0, cut + 200.0));
        let jump = (cut + 200.0) * 0.9 / 0.8 + 100.0;
        near(at(4, 17), (0.8, jump, jump));
        near(at(5, 21), (0.8, jump + 100.0, jump + 100.0));
    }

    /// Breaks if the reference follows before a round trip is over: the first acknowledgment comes when packet 6 is
    /// next, so that packet 5's changes the window alone, and packet 6's the reference.
    #[test]
    fn the_first_round_trip_begins_with_the_first_answer() {
        let mut hpcc = Hpcc::new(&settings(), Rate::from_gbps(10));
        ack(&mut hpcc, &[hop(7, 5_000, 0, 1)], 0, 6);
        let (used, window, reference) = ack(&mut hpcc, &[hop(7, 5_000, 5_000, 5)], 5, 9);
        assert_eq!((used, reference), (1.25, 1e4));
        assert_eq!(window, 1e4 * 0.9 / 1.25 + 100.0);
        let (_, window, reference) = ack(&mut hpcc, &[hop(7, 5_000, 10_000, 9)], 6, 9);
        assert_eq!((window, reference), (reference, window));
    }

    /// By hand: 2 us after the first acknowledgment a link of 10 Gb/s, idle before, has become one
    /// of 2.5 Gb/s and sent 625 bytes in 2 us: full. With 5,000 bytes in its queue all the time,
    /// the 2,500 that fill a round trip are 2 more: u = 3. U = 3/4 + 3/4 = 1.5.
    ///
    /// Breaks if a link's rate is that of before, or of another link.
    #[test]
    fn a_link_that_becomes_slower() {
        let mut hpcc = Hpcc::new(&settings(), Rate::from_gbps(10));
        ack(&mut hpcc, &[hop(7, 5_000, 0, 1)], 0, 3);
        let slow = Hop { rate: Rate::from_mbps(2_500), ..hop(7, 5_000, 625, 3) };
        let (used, window, _) = ack(&mut hpcc, &[slow], 3, 4);
        assert_eq!((used, window), (1.5, 1e4 * 0.9 / 1.5 + 100.0));
        assert_eq!(hpcc.rate(&settings()), Rate(6_100_000_000));
    }

    /// Breaks if links of another path are compared with those of the last, or if an acknowledgment
    /// that was overtaken counts.
    #[test]
    fn paths_and_overtaken_acknowledgments() {
        let mut hpcc = Hpcc::new(&settings(), Rate::from_gbps(10));
        ack(&mut hpcc, &[hop(7, 0, 0, 1)], 0, 3);
        assert_eq!(ack(&mut hpcc, &[hop(9, 0, 99_000, 2)], 3, 4).0, 1.0, "another path");
        assert_eq!(ack(&mut hpcc, &[hop(9, 0, 98_000, 1)], 2, 4).0, 1.0, "overtaken");
        let (used, ..) = ack(&mut hpcc, &[hop(9, 0, 99_000, 10)], 4, 5);
        assert_eq!(used, 0.0, "compared with the last that was not");
        let (_, window, _) = ack(&mut hpcc, &[hop(9, 0, 99_000, 18)], 5, 6);
        assert_eq!(window, 1e4, "no more than the initial window");
    }
}
