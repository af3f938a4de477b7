//! The congestion index of a port, and the weight that it gives (§IV-C, §IV-D, §V-A).

use super::{Settings, Variant};
use crate::ParamError;
use crate::p4::{self, ControlPlane, Word};
use leafspine_core::Span;

/// What a port's queue does, as it travels back to the ingress (Fig. 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Behaviour {
    /// Queue occupancy L in whole percent, at most 100.
    pub(super) occupancy: u8,
    /// Dequeue time interval T in whole microseconds, at most tau.
    pub(super) interval: u64,
    /// Queuing trend V: `growth_weight` while L grows, 1 while it shrinks.
    pub(super) trend: u8,
}

/// How the index is computed. Higher is more congested.
#[derive(Clone, Debug)]
pub(super) enum Index {
    /// Eq. 4.
    Derived {
        /// tau in microseconds.
        tau: u64,
        /// C at L = 1, T = 0 and the larger V.
        most: i64,
    },
    /// Eqs. 8, 9 or 10, or a refit of one.
    Fitted(Box<Fit>),
}

impl Index {
    pub(super) fn new(settings: &Settings, tau: u64) -> Result<Index, ParamError> {
        let (name, published): (_, &[f64]) = match settings.variant {
            Variant::Derived => return Index::derived(settings, tau),
            Variant::Linear => ("linear", &LINEAR),
            Variant::Poly2 => ("poly2", &POLY2),
            Variant::Poly3 => ("poly3", &POLY3),
        };
        let own = &settings.coefficients[..];
        let coefficients = if own.is_empty() { published } else { own };
        if coefficients.len() != published.len() {
            let (found, allowed) = (coefficients.len(), published.len());
            let allowed = format!("the {allowed} of \"{name}\", or none");
            return Err(ParamError::new("coefficients", found, allowed));
        }
        let range = Range::new(&settings.normalise, tau)?;
        Fit::new(coefficients, range).map(|fit| Index::Fitted(Box::new(fit)))
    }

    fn derived(settings: &Settings, tau: u64) -> Result<Index, ParamError> {
        let given = [("coefficients", &settings.coefficients), ("normalise", &settings.normalise)];
        for (key, numbers) in given {
            if !numbers.is_empty() {
                let allowed = "none with variant \"derived\", which fits nothing";
                return Err(ParamError::new(key, format!("{numbers:?}"), allowed));
            }
        }
        // §IV-C: Cmax is C at L = 1, T = 0 and the V of a growing queue.
        Ok(Index::Derived { tau, most: (100 * tau * u64::from(settings.growth_weight)) as i64 })
    }

    /// C. In units of 1 % x 1 us for eq. 4, of 1/102400 for the fits.
    pub(super) fn congestion(&self, port: Behaviour) -> i64 {
        match self {
            // Eq. 4: C = L (tau - T) V.
            Index::Derived { tau, .. } => {
                let rest = tau.saturating_sub(port.interval);
                (u64::from(port.occupancy) * rest * u64::from(port.trend)) as i64
            }
            // §V-A2: no V in the fits.
            Index::Fitted(fit) => {
                let (l, t) = fit.range.normalise(port.occupancy, port.interval);
                fit.value(l, t)
            }
        }
    }

    /// Cmax.
    pub(super) fn most(&self) -> i64 {
        match self {
            Index::Derived { most, .. } => *most,
            Index::Fitted(fit) => fit.most,
        }
    }

    /// Eq. 6: W = Cmax - C, never negative.
    pub(super) fn weight(&self, port: Behaviour) -> u64 {
        (self.most() - self.congestion(port)).max(0) as u64
    }

    /// The same as a P4 switch computes it: by words that wrap, L from a table.
    pub(super) fn weight_p4(&self, port: Behaviour) -> Word {
        let most = Word(self.most() as u64);
        let (occupancy, interval) = (Word(port.occupancy.into()), Word(port.interval));
        match self {
            Index::Derived { tau, .. } => {
                most - p4::derived_index(occupancy, interval, Word(port.trend.into()), Word(*tau))
            }
            Index::Fitted(fit) => {
                let range = &fit.range;
                let [from, to, step] =
                    [range.interval_from, range.interval_to, range.interval_step].map(Word);
                let l = Word(range.occupancy(port.occupancy) as u64);
                let t = p4::normalised(interval, from, to, step);
                let [c0, cl, ct, cll, clt, ctt, clll, cllt, cltt, cttt] = fit.words();
                most - p4::fitted_index(l, t, c0, cl, ct, cll, clt, ctt, clll, cllt, cltt, cttt)
            }
        }
    }

    /// What the control plane tells the program of it: an index of the settings, and the table of L.
    pub(super) fn control(&self, control: &mut ControlPlane, tau: u64, uplinks: usize) {
        let most = self.most() as u64;
        match self {
            Index::Derived { .. } => control.settings("index", "derived", &[most, tau]),
            Index::Fitted(fit) => {
                let range = &fit.range;
                let mut data =
                    vec![most, range.interval_from, range.interval_to, range.interval_step];
                data.extend(fit.words().map(|word| word.0));
                control.settings("index", "fitted", &data);
                // A table is applied once a packet, so every uplink has one of its own.
                for uplink in 0..uplinks {
                    let table = format!("normalised_occupancy_{uplink}");
                    for percent in 0..=100 {
                        let l = range.occupancy(percent) as u64;
                        control.entry(&table, &[percent.into()], "set_l", &[l]);
                    }
                }
            }
        }
    }

    /// Whether a longer interval changes the index of a port of this behaviour.
    pub(super) fn depends_on_interval(&self, port: Behaviour) -> bool {
        match self {
            Index::Derived { tau, .. } => port.occupancy > 0 && port.interval < *tau,
            Index::Fitted(fit) => port.interval < fit.range.interval_to,
        }
    }
}

/// Eq. 8. Here and below: 1, L, T, then L², LT, T², then L³, L²T, LT², T³.
pub(super) const LINEAR: [f64; 3] = [0.167, 0.261, -0.468];
/// Eq. 9.
pub(super) const POLY2: [f64; 6] = [0.175, 0.797, -0.896, -1.068, 1.422, 0.845];
/// Eq. 10. Eq. 13 has 188 where 100 times its 18.873 is 1887; the other nine numbers agree.
pub(super) const POLY3: [f64; 10] =
    [0.186, 0.892, -1.446, -2.514, 18.873, 3.472, 1.654, -22.944, -58.49, -2.254];

/// 1.0 of a normalised L or T, and of their powers. With the paper's whole numbers they could only
/// be 0 or 1 (eqs. 11-13 multiply coefficients by 100 and say nothing of L and T).
pub(super) const ONE: i64 = 1 << 10;

/// A polynomial of L and T in fixed point.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// 100 times the coefficients, truncated (eqs. 11-13); those not in use are 0.
    pub(super) scaled: [i64; 10],
    range: Range,
    most: i64,
}

/// Largest coefficient that the weights of 65,535 ports can be added up with.
const LARGEST: f64 = 1e8;

impl Fit {
    fn new(coefficients: &[f64], range: Range) -> Result<Fit, ParamError> {
        let mut scaled = [0; 10];
        for (scaled, coefficient) in scaled.iter_mut().zip(coefficients) {
            if coefficient.abs() > LARGEST {
                let allowed = format!("from -{LARGEST} to {LARGEST}");
                return Err(ParamError::new("coefficients", coefficient, allowed));
            }
            // 100 x 58.49 may lie just below 5849 in binary.
            let nudge = if *coefficient < 0.0 { -1e-6 } else { 1e-6 };
            *scaled = (coefficient * 100.0 + nudge) as i64;
        }
        let mut fit = Fit { scaled, range, most: 0 };
        fit.most = fit.maximum();
        Ok(fit)
    }

    /// The coefficients as words: negative ones are their complement.
    fn words(&self) -> [Word; 10] {
        self.scaled.map(|coefficient| Word(coefficient as u64))
    }

    /// The largest value over all that L and T can be, once: no weight is negative then.
    fn maximum(&self) -> i64 {
        let occupancies = (0..=100).map(|percent| self.range.occupancy(percent));
        let at = |l| (0..=ONE).map(move |t| (l, t));
        occupancies.flat_map(at).map(|(l, t)| self.value(l, t)).max().unwrap_or(0)
    }

    /// Eqs. 11-13 with L and T between 0 and `ONE`, times `ONE`.
    pub(super) fn value(&self, l: i64, t: i64) -> i64 {
        let times = |a: i64, b: i64| (a * b) >> 10;
        let (ll, lt, tt) = (times(l, l), times(l, t), times(t, t));
        let powers =
            [ONE, l, t, ll, lt, tt, times(ll, l), times(ll, t), times(l, tt), times(tt, t)];
        self.scaled.iter().zip(powers).map(|(a, power)| a * power).sum()
    }
}

/// What the data set's minimum and maximum were: 0 and 1 of the normalised L and T.
#[derive(Clone, Copy, Debug)]
struct Range {
    occupancy_from: f64,
    occupancy_to: f64,
    /// In microseconds, likewise below.
    interval_from: u64,
    interval_to: u64,
    /// `ONE` over the interval's range, times 2^32: no division per packet.
    interval_step: u64,
}

impl Range {
    fn new(numbers: &[f64], tau: u64) -> Result<Range, ParamError> {
        let whole = [0.0, 100.0, 0.0, tau as f64];
        let numbers: [f64; 4] = match numbers {
            [] => whole,
            _ => numbers.try_into().map_err(|_| {
                let found = numbers.len();
                ParamError::new("normalise", format!("{found} numbers"), "four, or none")
            })?,
        };
        let [occupancy_from, occupancy_to, from, to] = numbers;
        let (interval_from, interval_to) = (from.max(0.0) as u64, to.max(0.0) as u64);
        let rises = occupancy_from < occupancy_to && interval_from < interval_to;
        if !rises || numbers.iter().any(|number| *number < 0.0) || to > MOST_MICROS as f64 {
            return Err(ParamError::new(
                "normalise",
                format!("{numbers:?}"),
                "lowest and highest percent, lowest and highest whole microsecond, none negative, \
                 each highest above its lowest",
            ));
        }
        let interval_step = ((ONE as u64) << 32).div_ceil(interval_to - interval_from);
        let range =
            Range { occupancy_from, occupancy_to, interval_from, interval_to, interval_step };
        Ok(range)
    }

    fn occupancy(&self, percent: u8) -> i64 {
        let share =
            (f64::from(percent) - self.occupancy_from) / (self.occupancy_to - self.occupancy_from);
        (share.clamp(0.0, 1.0) * ONE as f64) as i64
    }

    /// L and T between 0 and `ONE`; beyond the data set's range they are its bounds.
    fn normalise(&self, occupancy: u8, interval: u64) -> (i64, i64) {
        let beyond = interval.clamp(self.interval_from, self.interval_to) - self.interval_from;
        let t = (beyond * self.interval_step) >> 32;
        (self.occupancy(occupancy), (t as i64).min(ONE))
    }
}

/// The longest tau: a field of 48 bits holds it (Fig. 6), and so do sums of weights in 64.
pub(super) const MOST_MICROS: u64 = 100_000_000;

/// Whole microseconds, as the switch's clock has them (§IV-C).
pub(super) fn micros(span: Span) -> u64 {
    span.0 / 1_000_000
}
