//! DCQCN (Zhu et al., SIGCOMM 2015): a rate that congestion notifications cut and time and bytes
//! raise. What has fallen due since it was last called is made up for, in order, when it is called
//! again.
//!
//! The paper's sender acts when a notification comes. NVIDIA's cards (*DCQCN CC Parameters*), and
//! the simulators of HPCC's and ConWeave's authors after them, look at the end of each period
//! whether one has come in it: one period for alpha (`dce_tcp_rtt`) and one for the rate
//! (`rate_reduce_monitor_period`). Either way of each can be had, and so can rates that the timer
//! alone raises.

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
    /// Whether alpha rises at the end of each such time in which a CNP has come, one time after the
    /// other from the first CNP on (NVIDIA, `dce_tcp_rtt`). If not, it rises with each CNP, and the
    /// time begins anew (§3.1, eq. 1).
    pub alpha_by_timer: bool,
    /// The rate is cut at the end of each such time in which a CNP has come, one after the other from
    /// the first CNP on (NVIDIA, `rate_reduce_monitor_period`); `None`: with each CNP (§3.1).
    pub decrease_timer: Option<Span>,
    /// The rate rises after each such time (§3.1, T).
    pub increase_timer: Span,
    /// The rate rises after so many bytes (§3.1, B); `None`: by the timer alone, whose count is then
    /// both counts of [`DcqcnSettings::fast_recovery`].
    pub byte_counter: Option<u64>,
    /// Steps of fast recovery (§3.1, F).
    pub fast_recovery: u32,
    /// Whether each cut makes the rate before it the target (§3.1, eq. 1). If not, a cut does so
    /// only if the timer has raised the rate since the one before, so that CNPs in a row leave the
    /// target where it was: NVIDIA's ConnectX as it is delivered (`clamp_tgt_rate` off,
    /// `clamp_tgt_rate_after_time_inc` on).
    pub clamp_target: bool,
    /// What additive increase adds to the target.
    pub additive: Rate,
    /// What hyper increase adds to the target.
    pub hyper: Rate,
    /// Whether it adds that times the steps that it has lasted (QCN, IEEE 802.1Qau), or once.
    pub hyper_grows: bool,
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
    /// When alpha changes next, when the timer that raises the rate fires next, and when the period
    /// of a cut ends; `Time::MAX` before the first CNP (or the first cut).
    alpha_due: Time,
    raise_due: Time,
    cut_due: Time,
    /// The first of the three.
    due: Time,
    /// Whether a CNP has come in the period of alpha that is under way, and in that of the cut.
    raises_alpha: bool,
    cuts: bool,
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
            cut_due: Time::MAX,
            due: Time::MAX,
            raises_alpha: false,
            cuts: false,
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

    /// Does what has fallen due by `now`. At one instant alpha changes before the rate does
    /// (the simulators' order, too), and the rate rises before it is cut.
    #[inline]
    pub fn catch_up(&mut self, cfg: &DcqcnSettings, now: Time) {
        if self.due <= now {
            self.do_due(cfg, now);
        }
    }

    /// Something has been put off, or is new.
    fn note_due(&mut self) {
        self.due = self.alpha_due.min(self.raise_due).min(self.cut_due);
    }

    fn do_due(&mut self, cfg: &DcqcnSettings, now: Time) {
        while self.due <= now {
            let next = self.due;
            if self.alpha_due == next {
                self.alpha *= 1.0 - cfg.g;
                if std::mem::take(&mut self.raises_alpha) {
                    self.alpha += cfg.g;
                }
                self.alpha_due += cfg.alpha_timer;
            } else if self.raise_due == next {
                self.by_time += 1;
                self.raise_due += cfg.increase_timer;
                self.raise(cfg);
            } else {
                self.end_period(cfg, now);
            }
            self.note_due();
        }
    }

    /// The end of a period of the cut. Without a CNP in it, none has come in any that has ended by now.
    fn end_period(&mut self, cfg: &DcqcnSettings, now: Time) {
        let period = cfg.decrease_timer.unwrap_or(Span(1));
        if std::mem::take(&mut self.cuts) {
            self.cut(cfg, self.cut_due);
            self.cut_due += period;
        } else {
            let whole = now.since(self.cut_due).0 / period.0;
            self.cut_due += period * (whole + 1);
        }
    }

    /// A CNP has come. With it, or at the end of the period that it comes in, the rate is cut and
    /// alpha rises; the cut goes by alpha as it was (§3.1, eq. 1). The first one is what periods are
    /// counted from: it leaves alpha at its initial value (NVIDIA, `initial_alpha_value`).
    pub fn on_cnp(&mut self, cfg: &DcqcnSettings, now: Time) {
        self.catch_up(cfg, now);
        match cfg.decrease_timer {
            None => self.cut(cfg, now),
            Some(period) => {
                self.cuts = true;
                if self.cut_due == Time::MAX {
                    self.cut_due = now + period;
                }
            }
        }
        if !cfg.alpha_by_timer {
            self.alpha = (1.0 - cfg.g) * self.alpha + cfg.g;
            self.alpha_due = now + cfg.alpha_timer;
        } else if self.alpha_due == Time::MAX {
            self.alpha_due = now + cfg.alpha_timer;
        } else {
            self.raises_alpha = true;
        }
        self.note_due();
    }

    /// The rate is cut, and recovery begins anew (§3.1, eq. 1).
    fn cut(&mut self, cfg: &DcqcnSettings, now: Time) {
        if cfg.clamp_target || self.by_time > 0 {
            self.target = self.current;
        }
        self.current =
            (self.current * (1.0 - self.alpha / 2.0)).max((cfg.least.0 as f64).min(self.line));
        self.raise_due = now + cfg.increase_timer;
        (self.by_time, self.by_bytes, self.bytes) = (0, 0, 0);
    }

    /// So many bytes are sent.
    #[inline]
    pub fn on_sent(&mut self, cfg: &DcqcnSettings, bytes: u32) {
        let (false, Some(full)) = (self.raise_due == Time::MAX, cfg.byte_counter) else { return };
        self.bytes += u64::from(bytes);
        if self.bytes >= full {
            self.bytes -= full;
            self.by_bytes += 1;
            self.raise(cfg);
        }
    }

    /// Fast recovery, additive or hyper increase (§3.1, fig. 7).
    fn raise(&mut self, cfg: &DcqcnSettings) {
        let by_bytes = if cfg.byte_counter.is_some() { self.by_bytes } else { self.by_time };
        let (most, least) = (self.by_time.max(by_bytes), self.by_time.min(by_bytes));
        if least > cfg.fast_recovery {
            let steps = if cfg.hyper_grows { least - cfg.fast_recovery } else { 1 };
            self.target += f64::from(steps) * cfg.hyper.0 as f64;
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
            alpha_by_timer: false,
            decrease_timer: None,
            increase_timer: Span::from_micros(60),
            byte_counter: Some(10_000),
            fast_recovery: 2,
            clamp_target: true,
            additive: Rate::from_gbps(1),
            hyper: Rate::from_gbps(2),
            hyper_grows: true,
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

    /// By hand, as NVIDIA's cards and the simulators of HPCC's and ConWeave's authors have it, at 40
    /// Gb/s with g = 1/4: alpha each 1 us, cuts each 4 us, rises each 10 us by the timer alone. The
    /// first CNP, at 100 us, changes nothing: alpha is 1. At 101 us it is 3/4. One CNP at 101.5 us:
    /// at 102 us 9/16 + 1/4 = 13/16, at 103 us 39/64, at 104 us 117/256; then the cut, to 40 x (1 -
    /// 117/512) = 30.859375, with the target where it was. No CNP by 108 us: no cut. At 114 us the
    /// first rise, half of the way to 40: 35.4296875. A CNP at 115 us, by when alpha is 117/256 x
    /// (3/4)^11; at 116 us it is 3/4 of that and 1/4, and the rate is cut by it. The timer has raised
    /// it, so 35.4296875 is the target; at 126 us (fast recovery) it is that still, at 136 us 1 Gb/s
    /// more, at 146 and 156 us 1.5 Gb/s more each. Bytes raise nothing.
    ///
    /// Breaks if alpha rises or the rate falls when a CNP comes, if a period begins anew with one, if
    /// alpha is that of before its step, if the first CNP raises alpha, if hyper increase grows or waits
    /// for bytes.
    #[test]
    fn periods_by_hand() {
        let cfg = DcqcnSettings {
            alpha_timer: Span::from_micros(1),
            alpha_by_timer: true,
            decrease_timer: Some(Span::from_micros(4)),
            increase_timer: Span::from_micros(10),
            byte_counter: None,
            clamp_target: false,
            hyper: Rate::from_mbps(1_500),
            hyper_grows: false,
            ..settings()
        };
        let mut dcqcn = Dcqcn::new(Rate::from_gbps(40));
        let at = |dcqcn: &mut Dcqcn, half_us: u64| {
            dcqcn.catch_up(&cfg, Time(half_us * US / 2));
            (dcqcn.current / 1e9, dcqcn.target / 1e9, dcqcn.alpha)
        };
        dcqcn.on_cnp(&cfg, Time(100 * US));
        assert_eq!(at(&mut dcqcn, 200), (40.0, 40.0, 1.0));
        assert_eq!(at(&mut dcqcn, 202), (40.0, 40.0, 0.75));
        dcqcn.on_cnp(&cfg, Time(203 * US / 2));
        assert_eq!(at(&mut dcqcn, 203).2, 0.75);
        assert_eq!([204, 206, 207].map(|t| at(&mut dcqcn, t).2), [0.8125, 0.609_375, 0.609_375]);
        assert_eq!(at(&mut dcqcn, 208), (30.859_375, 40.0, 0.457_031_25));
        dcqcn.on_sent(&cfg, 10_000_000);
        assert_eq!(at(&mut dcqcn, 226).0, 30.859_375);
        let (rate, target, _) = at(&mut dcqcn, 228);
        assert_eq!((rate, target), (35.429_687_5, 40.0));
        dcqcn.on_cnp(&cfg, Time(115 * US));
        let alpha = 0.75 * 0.457_031_25 * 0.75f64.powi(11) + 0.25;
        assert_eq!(at(&mut dcqcn, 231).0, 35.429_687_5);
        let (rate, target, found) = at(&mut dcqcn, 232);
        assert!((found - alpha).abs() < 1e-12, "{found} {alpha}");
        assert_eq!(target, 35.429_687_5);
        assert!((rate - target * (1.0 - alpha / 2.0)).abs() < 1e-12, "{rate}");
        let targets = [251, 252, 272, 292, 312].map(|t| at(&mut dcqcn, t).1 - 35.429_687_5);
        assert_eq!(targets, [0.0, 0.0, 1.0, 2.5, 4.0]);
    }

    /// By hand: with periods of 4 us for the cut and alpha as the paper has it. CNPs at 0, 1 and 2 us:
    /// one cut, at 4 us, to 20. CNPs at 5 and 6 us: one at 8 us, to 10, with a target of 20. At 56 us
    /// alpha is 3/4; at 68 us the rate is 15. A CNP at 101 us, alone in the period that ends at 104 us:
    /// alpha is 9/16 + 1/4 at once, the rate 15 x (1 - 13/32) at 104 us. The other way round, alpha each
    /// 1 us and cuts with each CNP: two at 0 us make 10; at 1 us alpha has risen for the second one: 1.
    ///
    /// Breaks if one way of alpha needs the same way of the cut, if a period has two cuts, or if periods
    /// are not counted on from the first CNP while none comes.
    #[test]
    fn periods_of_the_cut_alone_by_hand() {
        let cfg = DcqcnSettings { decrease_timer: Some(Span::from_micros(4)), ..settings() };
        let mut dcqcn = Dcqcn::new(Rate::from_gbps(40));
        let now = |dcqcn: &Dcqcn| (gbps(dcqcn.rate()), gbps(dcqcn.target()), dcqcn.alpha());
        for us in [0, 1, 2] {
            dcqcn.on_cnp(&cfg, Time(us * US));
            assert_eq!(now(&dcqcn), (40.0, 40.0, 1.0));
        }
        dcqcn.catch_up(&cfg, Time(4 * US));
        assert_eq!(now(&dcqcn), (20.0, 40.0, 1.0));
        for us in [5, 6] {
            dcqcn.on_cnp(&cfg, Time(us * US));
        }
        dcqcn.catch_up(&cfg, Time(8 * US));
        assert_eq!(now(&dcqcn), (10.0, 20.0, 1.0));
        dcqcn.catch_up(&cfg, Time(100 * US));
        assert_eq!(now(&dcqcn), (15.0, 20.0, 0.75));
        dcqcn.on_cnp(&cfg, Time(101 * US));
        dcqcn.catch_up(&cfg, Time(104 * US - 1));
        assert_eq!(now(&dcqcn), (15.0, 20.0, 0.8125));
        dcqcn.catch_up(&cfg, Time(104 * US));
        assert_eq!(now(&dcqcn), (8.906_25, 15.0, 0.8125));

        let alpha_timer = Span::from_micros(1);
        let cfg = DcqcnSettings { alpha_timer, alpha_by_timer: true, ..settings() };
        let mut dcqcn = Dcqcn::new(Rate::from_gbps(40));
        for _ in 0..2 {
            dcqcn.on_cnp(&cfg, Time(0));
        }
        assert_eq!(now(&dcqcn), (10.0, 20.0, 1.0));
        dcqcn.catch_up(&cfg, Time(US));
        assert_eq!(now(&dcqcn), (10.0, 20.0, 1.0));
        dcqcn.catch_up(&cfg, Time(2 * US));
        assert_eq!(now(&dcqcn), (10.0, 20.0, 0.75));
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
