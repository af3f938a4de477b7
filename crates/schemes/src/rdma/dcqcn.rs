//! DCQCN (Zhu et al., SIGCOMM 2015): a rate that congestion notifications cut and time and bytes
//! raise. What has fallen due since it was last called is made up for, in order, when it is called
//! again.

use leafspine_core::{Rate, Span, Time};

/// DCQCN's constants (Zhu et al., SIGCOMM 2015).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DcqcnSettings {
    /// A receiver sends one congestion notification packet (CNP) of a flow within this time at most (§3.1, N).
    pub cnp_interval: Span,
    /// Weight of what a CNP tells in alpha (§3.1, g).
    pub g: f64,
    /// Alpha falls after this time without a CNP (§3.1, K).
    pub alpha_timer: Span,
    /// The rate rises after each such time (§3.1, T).
    pub increase_timer: Span,
    /// The rate rises after so many bytes (§3.1, B).
    pub byte_counter: u64,
    /// Steps of fast recovery (§3.1, F).
    pub fast_recovery: u32,
    /// Whether each cut makes the rate before it the target (§3.1, eq. 1). If not, a cut does so
    /// only if the timer has raised the rate since the one before, so that CNPs in a row leave the
    /// target where it was: NVIDIA's ConnectX as it is delivered (`clamp_tgt_rate` off,
    /// `clamp_tgt_rate_after_time_inc` on).
    pub clamp_target: bool,
    /// What additive increase adds to the target.
    pub additive: Rate,
    /// What hyper increase adds to the target, times the steps that it has lasted.
    pub hyper: Rate,
    /// No flow is slower.
    pub least: Rate,
}

/// A sender's rate (the reaction point). Until the first CNP it is the line's, and nothing is counted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dcqcn {
    line: f64,
    /// R_C, R_T: the rate, and what it recovers to, b/s.
    current: f64,
    target: f64,
    alpha: f64,
    /// When alpha falls next, and when the timer that raises the rate fires next; `Time::MAX` before the first CNP.
    alpha_due: Time,
    raise_due: Time,
    /// T and BC: times that the timer and the byte counter have raised the rate since the last CNP.
    by_time: u32,
    by_bytes: u32,
    /// Bytes sent since the byte counter was last full.
    bytes: u64,
}

impl Dcqcn {
    /// A flow's start, at the line's rate.
    #[must_use]
    pub fn new(line: Rate) -> Dcqcn {
        let line = line.0 as f64;
        Dcqcn {
            line,
            current: line,
            target: line,
            alpha: 1.0,
            alpha_due: Time::MAX,
            raise_due: Time::MAX,
            by_time: 0,
            by_bytes: 0,
            bytes: 0,
        }
    }

    /// The rate, up to what was last made up for.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate(self.current as u64)
    }

    /// The rate that it recovers to.
    #[must_use]
    pub fn target(&self) -> Rate {
        Rate(self.target as u64)
    }

    /// The estimated share of marked packets.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Does what has fallen due by `now`. At one instant alpha falls before the rate rises.
    #[inline]
    pub fn catch_up(&mut self, cfg: &DcqcnSettings, now: Time) {
        if self.alpha_due.min(self.raise_due) <= now {
            self.do_due(cfg, now);
        }
    }

    fn do_due(&mut self, cfg: &DcqcnSettings, now: Time) {
        loop {
            if self.alpha_due <= now && self.alpha_due <= self.raise_due {
                self.alpha *= 1.0 - cfg.g;
                self.alpha_due += cfg.alpha_timer;
            } else if self.raise_due <= now {
                self.by_time += 1;
                self.raise_due += cfg.increase_timer;
                self.raise(cfg);
            } else {
                return;
            }
        }
    }

    /// A CNP has come (§3.1, eq. 1): the rate is cut, and recovery begins anew.
    pub fn on_cnp(&mut self, cfg: &DcqcnSettings, now: Time) {
        self.catch_up(cfg, now);
        if cfg.clamp_target || self.by_time > 0 {
            self.target = self.current;
        }
        self.current =
            (self.current * (1.0 - self.alpha / 2.0)).max((cfg.least.0 as f64).min(self.line));
        self.alpha = (1.0 - cfg.g) * self.alpha + cfg.g;
        self.alpha_due = now + cfg.alpha_timer;
        self.raise_due = now + cfg.increase_timer;
        (self.by_time, self.by_bytes, self.bytes) = (0, 0, 0);
    }

    /// So many bytes are sent.
    #[inline]
    pub fn on_sent(&mut self, cfg: &DcqcnSettings, bytes: u32) {
        if self.raise_due == Time::MAX {
            return;
        }
        self.bytes += u64::from(bytes);
        if self.bytes >= cfg.byte_counter {
            self.bytes -= cfg.byte_counter;
            self.by_bytes += 1;
            self.raise(cfg);
        }
    }

    /// Fast recovery, additive or hyper increase (§3.1, fig. 7).
    fn raise(&mut self, cfg: &DcqcnSettings) {
        let (most, least) = (self.by_time.max(self.by_bytes), self.by_time.min(self.by_bytes));
        if least > cfg.fast_recovery {
            self.target += f64::from(least - cfg.fast_recovery) * cfg.hyper.0 as f64;
        } else if most >= cfg.fast_recovery {
            self.target += cfg.additive.0 as f64;
        }
        self.target = self.target.min(self.line);
        self.current = (self.current + self.target) / 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn settings() -> DcqcnSettings {
        DcqcnSettings {
            cnp_interval: Span::from_micros(50),
            g: 0.25,
            alpha_timer: Span::from_micros(50),
            increase_timer: Span::from_micros(60),
            byte_counter: 10_000,
            fast_recovery: 2,
            clamp_target: true,
            additive: Rate::from_gbps(1),
            hyper: Rate::from_gbps(2),
            least: Rate::from_mbps(100),
        }
    }

    fn gbps(rate: Rate) -> f64 {
        rate.0 as f64 / 1e9
    }

    /// By hand, at 40 Gb/s with g = 1/4 and F = 2. The first CNP halves the rate (alpha is 1, and
    /// stays 1: 3/4 + 1/4). At 50 us alpha is 3/4. At 60 us T is 1: fast recovery gives
    /// (20 + 40) / 2 = 30 Gb/s. At 100 us alpha is 9/16. At 120 us T is 2, no longer below F:
    /// additive, the target stays at the line's 40, the rate is 35. A CNP at 130 us: the target is
    /// 35, the rate 35 x (1 - 9/32) = 25.15625, alpha 3/4 x 9/16 + 1/4 = 0.671875.
    ///
    /// Breaks if a step comes early or late, if a cut goes by the new alpha, or if the target is not the rate before.
    #[test]
    fn cuts_and_fast_recovery_by_hand() {
        let (cfg, mut dcqcn) = (settings(), Dcqcn::new(Rate::from_gbps(40)));
        dcqcn.catch_up(&cfg, Time(1_000 * US));
        assert_eq!((gbps(dcqcn.rate()), dcqcn.alpha()), (40.0, 1.0), "nothing is due before a CNP");
        let start = 1_000 * US;
        dcqcn.on_cnp(&cfg, Time(start));
        assert_eq!((gbps(dcqcn.rate()), gbps(dcqcn.target()), dcqcn.alpha()), (20.0, 40.0, 1.0));
        dcqcn.catch_up(&cfg, Time(start + 60 * US - 1));
        assert_eq!((gbps(dcqcn.rate()), dcqcn.alpha()), (20.0, 0.75));
        dcqcn.catch_up(&cfg, Time(start + 60 * US));
        assert_eq!(gbps(dcqcn.rate()), 30.0);
        dcqcn.catch_up(&cfg, Time(start + 120 * US));
        assert_eq!((gbps(dcqcn.rate()), dcqcn.alpha()), (35.0, 0.5625));
        dcqcn.on_cnp(&cfg, Time(start + 130 * US));
        let found = (gbps(dcqcn.rate()), gbps(dcqcn.target()), dcqcn.alpha());
        assert_eq!(found, (25.15625, 35.0, 0.671_875));
    }

    /// By hand: a cut from 40 to 20 and another at once, to 10 with a target of 20. The byte
    /// counter is full twice: BC is 1 (fast recovery: 15) and 2 (additive: the target is 21, the
    /// rate 18). Then the timer: T is 1 and 2 (additive both: 22 and 20, 23 and 21.5), 3 (24 and
    /// 22.75); BC is 3: both are above F by 1: hyper, the target is 26, the rate 24.375.
    ///
    /// Breaks if the two counters are not looked at together: the larger ends fast recovery, the
    /// smaller begins hyper increase.
    #[test]
    fn additive_and_hyper_increase_by_hand() {
        let (cfg, mut dcqcn) = (settings(), Dcqcn::new(Rate::from_gbps(40)));
        dcqcn.on_cnp(&cfg, Time(0));
        dcqcn.on_cnp(&cfg, Time(0));
        assert_eq!((gbps(dcqcn.rate()), gbps(dcqcn.target())), (10.0, 20.0));
        let mut seen = Vec::new();
        for _ in 0..2 {
            dcqcn.on_sent(&cfg, 10_000);
            seen.push((gbps(dcqcn.target()), gbps(dcqcn.rate())));
        }
        for timer in 1..=3 {
            dcqcn.catch_up(&cfg, Time(timer * 60 * US));
            seen.push((gbps(dcqcn.target()), gbps(dcqcn.rate())));
        }
        dcqcn.on_sent(&cfg, 9_999);
        dcqcn.on_sent(&cfg, 1);
        seen.push((gbps(dcqcn.target()), gbps(dcqcn.rate())));
        let expected =
            [(20.0, 15.0), (21.0, 18.0), (22.0, 20.0), (23.0, 21.5), (24.0, 22.75), (26.0, 24.375)];
        assert_eq!(seen, expected);
    }

    /// By hand: two CNPs cut 40 to 10. The target stays at 40, so that the timer's first step leads
    /// to 25. Then a CNP: the timer has raised the rate, the target is 25. Bytes that raise it to
    /// (12.5 + 25) / 2 = 18.75 do not count: the target stays.
    ///
    /// Breaks if CNPs in a row lower the target, if one after the timer does not, or if one after
    /// the byte counter does.
    #[test]
    fn targets_stay_by_hand() {
        let cfg = DcqcnSettings { clamp_target: false, g: 0.0, ..settings() };
        let mut dcqcn = Dcqcn::new(Rate::from_gbps(40));
        let now = |dcqcn: &Dcqcn| (gbps(dcqcn.target()), gbps(dcqcn.rate()));
        dcqcn.on_cnp(&cfg, Time(0));
        dcqcn.on_cnp(&cfg, Time(0));
        assert_eq!(now(&dcqcn), (40.0, 10.0));
        dcqcn.catch_up(&cfg, Time(60 * US));
        assert_eq!(now(&dcqcn), (40.0, 25.0));
        dcqcn.on_cnp(&cfg, Time(61 * US));
        assert_eq!(now(&dcqcn), (25.0, 12.5));
        dcqcn.on_sent(&cfg, 10_000);
        assert_eq!(now(&dcqcn), (25.0, 18.75));
        dcqcn.on_cnp(&cfg, Time(62 * US));
        assert_eq!(now(&dcqcn), (25.0, 9.375));
    }

    /// Breaks if a rate falls below the least, or rises above the line's.
    #[test]
    fn rates_have_bounds() {
        let (cfg, mut dcqcn) = (settings(), Dcqcn::new(Rate::from_gbps(40)));
        (0..100).for_each(|_| dcqcn.on_cnp(&cfg, Time(0)));
        assert_eq!(dcqcn.rate(), Rate::from_mbps(100));
        dcqcn.catch_up(&cfg, Time(100_000 * US));
        assert!(
            dcqcn.rate() <= Rate::from_gbps(40) && gbps(dcqcn.rate()) > 39.99,
            "{}",
            dcqcn.rate()
        );
    }
}
