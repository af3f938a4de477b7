//! NSCC, the congestion control of Ultra Ethernet's senders (Ultra Ethernet Specification 1.0): a
//! window that goes by two signals, whether an acknowledgment tells of a mark, and how long its
//! packet has waited.
//!
//! | | waited less than the target | more |
//! | --- | --- | --- |
//! | no mark | proportional increase, by how much less | fair increase |
//! | a mark | nothing | multiplicative decrease, once a round trip |
//!
//! Where a round trip and the target bring far less than the largest window, and something was
//! trimmed or waited very long, the window becomes what they brought at once (quick adapt).
//!
//! The specification's text was not at hand. What is here follows what its authors say of it (Hoefler
//! et al., "Ultra Ethernet's Design Principles and Architectural Innovations", arXiv 2508.08906, and
//! SMaRTT, arXiv 2404.01630, on which it is based) and public descriptions of their own simulations.

use leafspine_core::{Rate, Span, Time};

/// NSCC's constants.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NsccSettings {
    /// The round trip without queues.
    pub base_rtt: Span,
    /// How long packets may wait.
    pub target: Span,
    /// Bytes that the window grows by in a round trip without any waiting; in proportion to what is left of the target.
    pub proportional: u64,
    /// Bytes that it grows by in a round trip of packets that wait too long and are not marked.
    pub fair: u64,
    /// Bytes that it grows by in any round trip.
    pub eta: u64,
    /// How much of what is acknowledged the window grows by, from when a window of packets has not waited until one does.
    pub fast: f64,
    /// How sharp the decrease is, of the share of the average wait that is above the target.
    pub gamma: f64,
    /// Quick adapt: a period brings less than the largest window, halved so many times.
    pub gate: u32,
    /// A packet that waited for less than this has not waited.
    pub no_wait: Span,
    /// Weight of a packet's wait in the average.
    pub weight: f64,
    /// Bytes of a full packet, which no window is smaller than.
    pub packet: u32,
    /// The largest window, in bytes that the line sends in a round trip.
    pub most: f64,
}

impl NsccSettings {
    /// No decrease is to less than this.
    const LEAST_LEFT: f64 = 0.5;
    /// Increases are added up over so many packets, or a round trip.
    const ADJUST: u64 = 8;
    /// So many targets are very long.
    const VERY_LONG: u64 = 4;
}

/// A sender's window.
#[derive(Clone, PartialEq, Debug)]
pub struct Nscc {
    window: f64,
    most: f64,
    /// The average wait, ps.
    wait: f64,
    /// Increases that are not yet in the window, times the window, and the bytes that they are of.
    pending: f64,
    adjusted: u64,
    adjusted_at: Time,
    /// When the window was last cut; [`Time::ZERO`]: never.
    cut_at: Time,
    /// Bytes that have come without waiting since the last that waited, and whether they have been a window.
    without_wait: f64,
    is_fast: bool,
    /// Quick adapt: when this period ends, what has come in it, whether something was trimmed or lost
    /// since the window was last adapted.
    period_ends: Option<Time>,
    achieved: u64,
    trouble: bool,
    /// Bytes to come of what was under way when the window was adapted: their marks tell of the past.
    ignored: u64,
}

impl Nscc {
    /// A start with what the line sends in a round trip.
    #[must_use]
    pub fn new(cfg: &NsccSettings, line: Rate) -> Nscc {
        let full = (line.bytes_in(cfg.base_rtt).0 as f64).max(cfg.packet.into());
        Nscc {
            window: full,
            most: (full * cfg.most).max(cfg.packet.into()),
            wait: 0.0,
            pending: 0.0,
            adjusted: 0,
            adjusted_at: Time::ZERO,
            cut_at: Time::ZERO,
            without_wait: 0.0,
            is_fast: false,
            period_ends: None,
            achieved: 0,
            trouble: false,
            ignored: 0,
        }
    }

    /// Bytes that may be under way.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window as u64
    }

    /// `bytes` are known to have come by an answer to a packet that took `rtt` there and back; `under_way` still are.
    pub fn on_ack(
        &mut self,
        cfg: &NsccSettings,
        (bytes, under_way): (u64, u64),
        rtt: Span,
        marked: bool,
        now: Time,
    ) {
        let wait = Span(rtt.0.saturating_sub(cfg.base_rtt.0));
        self.achieved += bytes;
        self.wait += cfg.weight * (wait.0 as f64 - self.wait);
        let stale = self.ignored > 0;
        self.ignored = self.ignored.saturating_sub(bytes);
        if stale && marked {
            return;
        }
        if self.quick_adapt(cfg, wait > cfg.target * NsccSettings::VERY_LONG, under_way, now) {
            return;
        }
        self.note_wait(cfg, bytes, wait);
        let bytes = bytes as f64;
        match (marked, wait < cfg.target) {
            (false, true) if self.is_fast => self.window += cfg.fast * bytes,
            (false, true) => {
                let left = (cfg.target - wait).0 as f64 / cfg.target.0 as f64;
                self.pending += bytes * cfg.proportional as f64 * left;
            }
            (false, false) => self.pending += bytes * cfg.fair as f64,
            (true, true) => {}
            (true, false) => self.decrease(cfg, now),
        }
        self.adjust(cfg, bytes as u64, now);
    }

    fn note_wait(&mut self, cfg: &NsccSettings, bytes: u64, wait: Span) {
        if wait >= cfg.no_wait {
            (self.without_wait, self.is_fast) = (0.0, false);
        } else {
            self.without_wait += bytes as f64;
            self.is_fast |= self.without_wait > self.window;
        }
    }

    /// Cuts the window by how far the average wait is above the target, if that has not been done within a round trip.
    fn decrease(&mut self, cfg: &NsccSettings, now: Time) {
        let target = cfg.target.0 as f64;
        let soon = self.cut_at != Time::ZERO && now < self.cut_at + cfg.base_rtt;
        if soon || self.wait <= target {
            return;
        }
        let left = 1.0 - cfg.gamma * (self.wait - target) / self.wait;
        self.window *= left.max(NsccSettings::LEAST_LEFT);
        self.cut_at = now;
        self.bound(cfg);
    }

    /// Puts the increases into the window every few packets or each round trip; a round trip adds a little of itself.
    fn adjust(&mut self, cfg: &NsccSettings, bytes: u64, now: Time) {
        self.adjusted += bytes;
        let round_trip = now.since(self.adjusted_at) >= cfg.base_rtt;
        if !round_trip && self.adjusted < NsccSettings::ADJUST * u64::from(cfg.packet) {
            return self.bound(cfg);
        }
        self.window += self.pending / self.window;
        if round_trip {
            self.window += cfg.eta as f64;
            self.adjusted_at = now;
        }
        (self.pending, self.adjusted) = (0.0, 0);
        self.bound(cfg);
    }

    /// Packets of so many bytes are known to be missing: they were trimmed, or not acknowledged in time.
    pub fn on_loss(&mut self, cfg: &NsccSettings, (bytes, under_way): (u64, u64), now: Time) {
        self.trouble = true;
        if self.ignored > 0 {
            self.ignored = self.ignored.saturating_sub(bytes);
        } else {
            self.window -= bytes as f64;
            self.bound(cfg);
        }
        self.quick_adapt(cfg, false, under_way, now);
    }

    /// At the end of a period: whether the window is now what has come in it, if that is less than it
    /// was. That something was trimmed or lost is kept in mind until then: in a period whose packets
    /// come all the same it is no less a sign than in the next.
    fn quick_adapt(
        &mut self,
        cfg: &NsccSettings,
        very_long: bool,
        under_way: u64,
        now: Time,
    ) -> bool {
        if self.period_ends.is_some_and(|ends| now < ends) {
            return false;
        }
        let first = self.period_ends.is_none();
        let little = (self.achieved as f64) < self.most / (1u64 << cfg.gate.min(32)) as f64;
        let adapts = !first && (self.trouble || very_long) && little;
        if adapts {
            self.window = self.window.min(self.achieved as f64);
            self.bound(cfg);
            self.ignored = under_way;
            self.trouble = false;
            // They were of the window as it was: over the new one they would be many times as much.
            (self.pending, self.adjusted) = (0.0, 0);
        }
        self.period_ends = Some(now + cfg.base_rtt + cfg.target);
        self.achieved = 0;
        adapts
    }

    fn bound(&mut self, cfg: &NsccSettings) {
        self.window = self.window.min(self.most).max(cfg.packet.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    /// 10 Gb/s and 8 us: 10,000 bytes are a window; packets of 1,000.
    fn settings() -> NsccSettings {
        NsccSettings {
            base_rtt: Span::from_micros(8),
            target: Span::from_micros(4),
            proportional: 4_000,
            fair: 500,
            eta: 10,
            fast: 0.25,
            gamma: 0.8,
            gate: 3,
            no_wait: Span::from_nanos(40),
            weight: 0.5,
            packet: 1_000,
            most: 1.5,
        }
    }

    /// An answer of so many bytes, whose packet waited for so many us.
    fn ack(nscc: &mut Nscc, bytes: u64, waited: u64, marked: bool, at: u64) -> f64 {
        let rtt = Span::from_micros(8 + waited);
        nscc.on_ack(&settings(), (bytes, 5_000), rtt, marked, Time(at * US));
        nscc.window
    }

    /// By hand, answers of 1,000 bytes, the first at 100 us.
    ///
    /// 1. Waited 2 of 4 us, no mark: 1,000 x 4,000 x 1/2 are pending; it is a round trip since the
    ///    beginning: 2 x 10^6 / 10,000 = 200 and eta: 10,210. 2. At 102 us: 3 of 4 us: 10^6
    ///    pending, no round trip and not eight packets: 10,210. 3. At 103 us: 5 us, no mark: fair,
    ///    500,000 more pending. 4. At 104 us a mark at 1 us: nothing. 5. Five more at 1 us with
    ///    marks: nothing, but of the eighth packet since the last adjustment the 1.5 x 10^6 go into
    ///    the window: 10,210 + 146.91 = 10,356.91.
    ///
    /// Breaks if a quadrant is another, if an increase is not in proportion, or if it comes at another time.
    #[test]
    fn increases_by_hand() {
        let mut nscc = Nscc::new(&settings(), Rate::from_gbps(10));
        assert_eq!(nscc.window(), 10_000);
        assert_eq!(ack(&mut nscc, 1_000, 2, false, 100), 10_210.0);
        assert_eq!(ack(&mut nscc, 1_000, 3, false, 102), 10_210.0);
        assert_eq!(ack(&mut nscc, 1_000, 5, false, 103), 10_210.0);
        for at in [104, 104, 104, 105, 105] {
            assert_eq!(ack(&mut nscc, 1_000, 1, true, at), 10_210.0);
        }
        assert_eq!(ack(&mut nscc, 1_000, 1, true, 106), 10_210.0 + 1_500_000.0 / 10_210.0);
    }

    /// By hand, with a weight of a half. A mark at 8 us of waiting: the average is 4, not above the
    /// target: nothing, but eta. Another: 6 us, above by a third of it: 10,010 x (1 - 0.8 / 3) =
    /// 7,340.67. A third within 8 us: nothing. At 110 us, after 16 us: the average is (6 + 8) / 2 =
    /// 7, then (7 + 16) / 2 = 11.5: 1 - 0.8 x 7.5 / 11.5 = 0.478, which is half, and eta for the
    /// round trip.
    ///
    /// Breaks if a wait counts instead of the average, if the window is cut twice in a round trip,
    /// or to less than half.
    #[test]
    fn decreases_by_hand() {
        let mut nscc = Nscc::new(&settings(), Rate::from_gbps(10));
        assert_eq!(ack(&mut nscc, 1_000, 8, true, 100), 10_010.0);
        let cut = 10_010.0 * (1.0 - 0.8 * 2.0 / 6.0);
        assert!((ack(&mut nscc, 1_000, 8, true, 101) - cut).abs() < 1e-9);
        assert!((ack(&mut nscc, 1_000, 8, true, 102) - cut).abs() < 1e-9);
        assert!((ack(&mut nscc, 1_000, 16, true, 110) - (cut / 2.0 + 10.0)).abs() < 1e-9);
    }

    /// By hand, without other increases: a packet of 1,000 bytes waits, ten more do not, which is a
    /// window of 10,000 bytes, and then each adds a quarter of itself, up to the most.
    ///
    /// Breaks if packets that waited count, or if the window grows without end.
    #[test]
    fn fast_increase_by_hand() {
        let cfg = NsccSettings { proportional: 0, eta: 0, ..settings() };
        let mut nscc = Nscc::new(&cfg, Rate::from_gbps(10));
        let mut ack = |bytes: u64, waited: u64| {
            let rtt = Span::from_micros(8 + waited);
            nscc.on_ack(&cfg, (bytes, 5_000), rtt, false, Time(100 * US));
            nscc.window
        };
        ack(1_000, 0);
        ack(1_000, 1);
        assert_eq!([0; 10].map(|_| ack(1_000, 0)), [10_000.0; 10]);
        assert_eq!(ack(2_000, 0), 10_500.0);
        assert_eq!([0; 100].map(|_| ack(1_000, 0))[99], 15_000.0);
    }

    /// By hand: at twice of what is acknowledged the window outgrows what has come without waiting, and still grows
    /// until a packet waits. Breaks if a window without waiting has to come before each step.
    #[test]
    fn fast_increase_goes_on_until_a_packet_waits() {
        let cfg = NsccSettings { proportional: 0, eta: 0, fast: 2.0, most: 3.0, ..settings() };
        let mut nscc = Nscc::new(&cfg, Rate::from_gbps(10));
        let mut ack = |waited: u64| {
            let rtt = Span::from_micros(8 + waited);
            nscc.on_ack(&cfg, (1_000, 5_000), rtt, false, Time(100 * US));
            nscc.window
        };
        (0..10).for_each(|_| assert_eq!(ack(0), 10_000.0));
        assert_eq!([ack(0), ack(0), ack(0)], [12_000.0, 14_000.0, 16_000.0]);
        assert_eq!([ack(1), ack(0)], [16_000.0, 16_000.0]);
    }

    /// By hand: where less than 2 us is no wait, ten packets of 1,000 bytes that wait for 1 us are a
    /// window without waiting, and the eleventh adds a quarter of itself; one that waits for 2 us ends it.
    ///
    /// Breaks if what counts as no wait hangs on the target.
    #[test]
    fn what_has_not_waited_is_given() {
        let no_wait = Span::from_micros(2);
        let cfg = NsccSettings { proportional: 0, eta: 0, no_wait, ..settings() };
        let mut nscc = Nscc::new(&cfg, Rate::from_gbps(10));
        let mut ack = |waited: u64| {
            let rtt = Span::from_micros(8 + waited);
            nscc.on_ack(&cfg, (1_000, 5_000), rtt, false, Time(100 * US));
            nscc.window
        };
        assert_eq!([0; 11].map(|_| ack(1))[9..], [10_000.0, 10_250.0]);
        assert_eq!([ack(2), ack(0)], [10_250.0, 10_250.0]);
    }

    /// One answer that starts the first period, of 12 us, at 100 us, and one that brings 1,000 bytes.
    fn in_its_first_period() -> Nscc {
        let mut nscc = Nscc::new(&settings(), Rate::from_gbps(10));
        assert_eq!(ack(&mut nscc, 0, 5, true, 100), 10_010.0);
        assert_eq!(ack(&mut nscc, 1_000, 5, true, 101), 10_010.0);
        nscc
    }

    /// A header without payload is told of, of a packet of 1,000 bytes; 5,000 are under way.
    fn lost(nscc: &mut Nscc, at: u64) -> f64 {
        nscc.on_loss(&settings(), (1_000, 5_000), Time(at * US));
        nscc.window
    }

    /// By hand: the first period ends at 112 us. 1,000 bytes have come in it when at 113 us a header
    /// without payload is told of: less than an eighth of the largest window, 1,875. The loss takes
    /// 1,000 off 10,010, and then the window is what has come. Of what is still under way, 5,000
    /// bytes, marks and losses change nothing; 3,000 that come without a mark and have not waited
    /// do: a window has come so, and a quarter of it is added, and eta. A mark after the 5,000 counts.
    ///
    /// Breaks if the window is adapted within a period, without trouble, where enough has come, or
    /// twice for what was under way; if what comes unmarked is not heard.
    #[test]
    fn quick_adapt_by_hand() {
        let mut nscc = in_its_first_period();
        assert_eq!(lost(&mut nscc, 111), 9_010.0);
        let mut nscc = in_its_first_period();
        assert_eq!((lost(&mut nscc, 113), nscc.ignored), (1_000.0, 5_000));
        assert_eq!((lost(&mut nscc, 114), nscc.ignored), (1_000.0, 4_000));
        assert_eq!(ack(&mut nscc, 1_000, 20, true, 114), 1_000.0);
        assert_eq!(ack(&mut nscc, 2_000, 0, false, 114), 1_510.0);
        assert_eq!((ack(&mut nscc, 1_000, 20, true, 115), nscc.ignored), (1_510.0, 0));
        assert!(ack(&mut nscc, 1_000, 20, true, 116) < 1_510.0);
        // 2,000 bytes are more than an eighth of the largest window.
        let mut nscc = in_its_first_period();
        ack(&mut nscc, 1_000, 3, true, 102);
        assert_eq!(lost(&mut nscc, 113), 9_010.0);
        // No trouble, and then a wait of more than four targets.
        let mut nscc = in_its_first_period();
        assert!(ack(&mut nscc, 0, 15, false, 113) >= 10_010.0);
        assert_eq!(ack(&mut nscc, 0, 17, false, 126), 1_000.0);
    }

    /// By hand: 1,000 bytes in a period are half of a window of 2,000, and still less than an eighth of
    /// the largest. A window of 1,100 is less than the 1,500 that have come, and stays.
    ///
    /// Breaks if the gate goes by the window of the moment, or if quick adapt makes a window larger.
    #[test]
    fn the_gate_goes_by_the_largest_window() {
        let mut nscc = in_its_first_period();
        nscc.window = 3_000.0;
        assert_eq!(lost(&mut nscc, 113), 1_000.0);
        let mut nscc = in_its_first_period();
        ack(&mut nscc, 500, 5, true, 102);
        nscc.window = 2_100.0;
        assert_eq!((lost(&mut nscc, 113), nscc.ignored), (1_100.0, 5_000));
    }

    /// By hand: a loss at 102 us. In the first period 2,000 bytes come all the same, so at 113 us
    /// nothing is adapted; in the second one, which ends at 125 us, 1,000 bytes: at 126 us they are
    /// the window. Then the loss is answered: at 139 us, after a period with 1,000 bytes more,
    /// nothing happens.
    ///
    /// Breaks if a period without adaptation forgets what was lost, or one with it does not.
    #[test]
    fn what_was_lost_is_kept_in_mind() {
        let mut nscc = in_its_first_period();
        assert_eq!(lost(&mut nscc, 102), 9_010.0);
        ack(&mut nscc, 1_000, 1, true, 103);
        assert_eq!(ack(&mut nscc, 0, 1, true, 113), 9_020.0);
        ack(&mut nscc, 1_000, 1, true, 114);
        assert_eq!(ack(&mut nscc, 0, 1, true, 126), 1_000.0);
        nscc.ignored = 0;
        ack(&mut nscc, 1_000, 1, true, 127);
        assert_eq!((ack(&mut nscc, 0, 1, true, 139), nscc.ignored), (1_020.0, 0));
    }

    /// By hand: a marked answer to what was under way at the adaptation does not end a period either.
    /// Breaks if it does: the window would be adapted anew, by what marks of the past tell.
    #[test]
    fn marks_of_the_past_end_no_period() {
        let mut nscc = in_its_first_period();
        assert_eq!(lost(&mut nscc, 113), 1_000.0);
        assert_eq!(lost(&mut nscc, 114), 1_000.0);
        ack(&mut nscc, 1_000, 5, true, 126);
        assert_eq!(nscc.ignored, 3_000);
        ack(&mut nscc, 0, 5, false, 126);
        assert_eq!(nscc.ignored, 5_000);
    }

    /// By hand: 1,000 bytes that did not wait are 4 x 10^6 pending, 400 bytes of the window then and
    /// 4,000 of that after the adaptation: only eta is added. Breaks if they are kept over it.
    #[test]
    fn increases_of_before_are_dropped() {
        let mut nscc = Nscc::new(&settings(), Rate::from_gbps(10));
        assert_eq!(ack(&mut nscc, 0, 5, true, 100), 10_010.0);
        assert_eq!(ack(&mut nscc, 1_000, 0, false, 101), 10_010.0);
        assert_eq!(lost(&mut nscc, 113), 1_000.0);
        assert_eq!(ack(&mut nscc, 5_000, 1, true, 114), 1_000.0);
        assert_eq!(ack(&mut nscc, 1_000, 1, true, 115), 1_010.0);
    }
}
