//! Swift (Kumar et al., SIGCOMM 2020): a window that goes by round trips alone.
//!
//! Of the paper's two windows this is the fabric's; what the end host adds to a round trip (section
//! 3.3) is no part of the model.

use leafspine_core::{Rate, Span, Time};

/// Swift's constants.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SwiftSettings {
    /// The target round trip of the largest windows: the base and all hops' parts (section 3.5).
    pub target: Span,
    /// How much longer the target may be for small windows (fs_range); 0: not at all.
    pub range: Span,
    /// Windows between which the range is, in packets (fs_min_cwnd, fs_max_cwnd).
    pub small: f64,
    /// See `small`.
    pub large: f64,
    /// Packets that the window grows by in a round trip (ai).
    pub additive: f64,
    /// How sharp a decrease is (beta).
    pub beta: f64,
    /// The largest decrease (max_mdf).
    pub most_cut: f64,
    /// The smallest window, in packets (min_cwnd).
    pub least: f64,
    /// With so many timeouts in a row the window becomes the smallest (RETX_RESET_THRESHOLD).
    pub reset: u32,
    /// Bytes of a full packet.
    pub packet: u32,
    /// The round trip without queues: the first window is what the line sends in it.
    pub base_rtt: Span,
}

/// A sender's window.
#[derive(Clone, PartialEq, Debug)]
pub struct Swift {
    /// In packets.
    window: f64,
    /// The largest.
    most: f64,
    /// The last round trip.
    rtt: Span,
    /// When it was last cut.
    cut_at: Option<Time>,
    /// Timeouts since something came, or was known to be missing otherwise (retransmit_cnt).
    timeouts: u32,
}

impl Swift {
    /// A start with what the line sends in a round trip, which half a target more is added to as the largest window.
    #[must_use]
    pub fn new(cfg: &SwiftSettings, line: Rate) -> Swift {
        let packets = |span: Span| line.bytes_in(span).0 as f64 / f64::from(cfg.packet);
        let most = packets(cfg.target + cfg.range).max(1.0);
        Swift {
            window: packets(cfg.base_rtt).max(1.0),
            most,
            rtt: cfg.base_rtt,
            cut_at: None,
            timeouts: 0,
        }
    }

    /// Bytes that may be under way: one packet at least, which then is paced.
    #[must_use]
    pub fn window(&self, cfg: &SwiftSettings) -> u64 {
        (self.window.max(1.0) * f64::from(cfg.packet)) as u64
    }

    /// The rate of a window below one packet (section 3.4); `None`: the line's.
    #[must_use]
    pub fn rate(&self, cfg: &SwiftSettings) -> Option<Rate> {
        let bits = f64::from(cfg.packet) * 8e12 * self.window;
        (self.window < 1.0).then(|| Rate((bits / self.rtt.0.max(1) as f64).max(1.0) as u64))
    }

    /// The target round trip of a window (section 3.5): small windows, of which many share a queue, have a longer one.
    #[must_use]
    pub fn target(&self, cfg: &SwiftSettings) -> Span {
        let inverse = |window: f64| 1.0 / window.sqrt();
        let (near, far) = (inverse(cfg.small), inverse(cfg.large));
        let share = ((inverse(self.window) - far) / (near - far)).clamp(0.0, 1.0);
        cfg.target + Span((share * cfg.range.0 as f64) as u64)
    }

    /// `packets` are known to have come by an answer to one that took `rtt` there and back (alg. 1).
    pub fn on_ack(&mut self, cfg: &SwiftSettings, packets: f64, rtt: Span, now: Time) {
        (self.rtt, self.timeouts) = (rtt, 0);
        let target = self.target(cfg);
        if rtt < target {
            self.window += cfg.additive * packets / self.window.max(1.0);
        } else if self.may_cut(now) {
            let over = (rtt - target).0 as f64 / rtt.0.max(1) as f64;
            self.cut((1.0 - cfg.beta * over).max(1.0 - cfg.most_cut), now);
        }
        self.bound(cfg);
    }

    /// A packet is known to be missing.
    pub fn on_loss(&mut self, cfg: &SwiftSettings, now: Time) {
        self.timeouts = 0;
        self.cut_most(cfg, now);
    }

    /// Nothing has come in time.
    pub fn on_timeout(&mut self, cfg: &SwiftSettings, now: Time) {
        self.timeouts = self.timeouts.saturating_add(1);
        if self.timeouts >= cfg.reset {
            (self.window, self.cut_at) = (cfg.least, Some(now));
        } else {
            self.cut_most(cfg, now);
        }
    }

    fn cut_most(&mut self, cfg: &SwiftSettings, now: Time) {
        if self.may_cut(now) {
            self.cut(1.0 - cfg.most_cut, now);
            self.bound(cfg);
        }
    }

    /// Once a round trip.
    fn may_cut(&self, now: Time) -> bool {
        self.cut_at.is_none_or(|at| now >= at + self.rtt)
    }

    fn cut(&mut self, left: f64, now: Time) {
        self.window *= left;
        self.cut_at = Some(now);
    }

    fn bound(&mut self, cfg: &SwiftSettings) {
        self.window = self.window.min(self.most).max(cfg.least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    /// 10 Gb/s and 8 us are ten packets of 1,000 bytes; the target is 10 us, for windows of 4 packets and fewer 16 us.
    fn settings() -> SwiftSettings {
        SwiftSettings {
            target: Span::from_micros(10),
            range: Span::from_micros(6),
            small: 4.0,
            large: 100.0,
            additive: 1.0,
            beta: 0.8,
            most_cut: 0.5,
            least: 0.01,
            reset: 3,
            packet: 1_000,
            base_rtt: Span::from_micros(8),
        }
    }

    fn of(window: f64) -> Swift {
        Swift { window, ..Swift::new(&settings(), Rate::from_gbps(10)) }
    }

    /// By hand: 1 / sqrt of 4, 16 and 100 packets are 0.5, 0.25, 0.1. So 16 packets have (0.25 -
    /// 0.1) / 0.4 = 0.375 of the range: 12.25 us.
    ///
    /// Breaks if targets do not go by the window, or beyond their range.
    #[test]
    fn targets_by_hand() {
        let target = |window| of(window).target(&settings());
        assert_eq!([1.0, 4.0, 100.0, 900.0].map(target), [16, 16, 10, 10].map(Span::from_micros));
        assert!(target(16.0).0.abs_diff(12_250_000) <= 1, "rounded down");
    }

    /// By hand, from 16 packets, whose target is 12.25 us, each anew. An answer of two packets
    /// after 12 us: 2 / 16 more. One after 24.5 us: 1 - 0.8 / 2 = 0.6 of 16. Again within that
    /// round trip: nothing. After it, 98 us, of which 0.8 x 0.87 would be cut: half. Half a packet
    /// grows by a whole one for each that comes.
    ///
    /// Breaks if a step is another, or if the window is cut twice in a round trip, or by more than the most.
    #[test]
    fn steps_by_hand() {
        let ack = |swift: &mut Swift, packets, us: f64, at: u64| {
            swift.on_ack(&settings(), packets, Span((us * 1e6) as u64), Time(at * US));
            swift.window
        };
        assert_eq!(ack(&mut of(16.0), 2.0, 12.0, 100), 16.125);
        let mut swift = of(16.0);
        assert!((ack(&mut swift, 1.0, 24.5, 100) - 9.6).abs() < 1e-6);
        assert!((ack(&mut swift, 1.0, 24.5, 124) - 9.6).abs() < 1e-6);
        assert!((ack(&mut swift, 1.0, 98.0, 199) - 4.8).abs() < 1e-6);
        assert_eq!(ack(&mut of(0.5), 1.0, 8.0, 100), 1.5);
        let mut swift = of(16.0);
        swift.on_loss(&settings(), Time(100 * US));
        swift.on_loss(&settings(), Time(101 * US));
        assert_eq!(swift.window, 8.0);
        assert_eq!(ack(&mut of(1e-3), 1.0, 1e4, 100), 0.01, "the least");
        assert_eq!(ack(&mut of(900.0), 1.0, 9.0, 100), 20.0, "what the line sends in 16 us");
    }

    /// By hand, from 16 packets with a round trip of 8 us, reset by the third timeout: 8 after the
    /// first, which counts for a round trip; 4 after the next; the third makes it the least. An
    /// answer, or a packet known to be missing, ends the row: then two timeouts more only halve the
    /// window.
    ///
    /// Breaks if timeouts do not reset the window, count beyond an answer, or cut twice in a round
    /// trip before they reset.
    #[test]
    fn timeouts_in_a_row_reset_the_window() {
        let timeouts = |swift: &mut Swift, at: &[u64]| {
            let windows = at.iter().map(|us| {
                swift.on_timeout(&settings(), Time(us * US));
                swift.window
            });
            windows.collect::<Vec<f64>>()
        };
        assert_eq!(timeouts(&mut of(16.0), &[100, 108, 109]), [8.0, 4.0, 0.01]);
        assert_eq!(timeouts(&mut of(16.0), &[100, 101, 102]), [8.0, 8.0, 0.01]);
        let mut swift = of(16.0);
        timeouts(&mut swift, &[100, 200]);
        swift.on_ack(&settings(), 0.0, Span::from_micros(8), Time(250 * US));
        assert_eq!(timeouts(&mut swift, &[300, 400]), [2.0, 1.0]);
        swift.on_loss(&settings(), Time(500 * US));
        assert_eq!(timeouts(&mut swift, &[600, 700]), [0.25, 0.125]);
    }

    /// Breaks if a window below a packet is not paced: a quarter of 1,000 bytes in 8 us is 250 Mb/s.
    #[test]
    fn small_windows_are_paced() {
        assert_eq!((of(2.5).window(&settings()), of(2.5).rate(&settings())), (2_500, None));
        let small = of(0.25);
        assert_eq!(small.window(&settings()), 1_000);
        assert_eq!(small.rate(&settings()), Some(Rate::from_mbps(250)));
    }
}
