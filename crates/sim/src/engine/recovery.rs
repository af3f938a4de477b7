//! How soon goodput is back after a fault.
//!
//! Goodput is what applications get, each byte once and in order, over a window. Before a fault it
//! is the mean of up to ten windows. If a window that begins within ten windows of the fault has
//! less than the share that is asked for, goodput has dipped; it is back where the first window
//! begins after that that has as much again. Windows are looked at sixteen times in their length.

use super::Simulation;
use super::agenda::Item;
use crate::output::RecoveryRow;
use crate::spec::RecoverySpec;
use leafspine_core::{Span, Time};
use leafspine_fabric::ResolvedChange;
use leafspine_node::{Class, Key};

/// Looks in a window.
const STEPS: usize = 16;
/// So many windows before the fault make its "before", and a dip begins within so many after it.
const AROUND: usize = 10;

/// What links have been through, and what applications had got.
pub(super) struct Recovery {
    spec: RecoverySpec,
    step: Span,
    /// Bytes that applications had got at each step, from time 0 on.
    got: Vec<u64>,
    /// When links became worse, and which.
    faults: Vec<(Time, Vec<String>)>,
}

impl Recovery {
    pub(super) fn new(spec: RecoverySpec) -> Recovery {
        let step = Span((spec.window.0 / STEPS as u64).max(1));
        Recovery { spec, step, got: Vec::new(), faults: Vec::new() }
    }

    /// A link has become worse.
    fn fault(&mut self, now: Time, link: String) {
        match self.faults.last_mut() {
            Some((at, links)) if *at == now => links.push(link),
            _ => self.faults.push((now, vec![link])),
        }
    }

    /// Bytes of the window that begins with a step.
    fn window(&self, step: usize) -> u64 {
        self.got[step + STEPS] - self.got[step]
    }

    /// What became of goodput after each fault, as far as it was looked at between two times. A
    /// fault that comes before goodput is back after another belongs to that.
    pub(super) fn rows(&self, (from, to): (Time, Time)) -> Vec<RecoveryRow> {
        let step_of = |time: Time| (time.0 / self.step.0) as usize;
        let first = from.0.div_ceil(self.step.0) as usize;
        let last = step_of(to).min(self.got.len().saturating_sub(1));
        let mut rows: Vec<RecoveryRow> = Vec::new();
        let mut over = Time::ZERO;
        for (at, links) in self.faults.iter().filter(|(at, _)| *at <= to) {
            match rows.last_mut() {
                // One whose "before" is not known may be over at once.
                Some(row) if *at < over && row.before_bps.is_some() => {
                    row.links.extend(links.iter().cloned());
                }
                _ => {
                    let row = self.row(*at, links.clone(), (first, step_of(*at), last));
                    over = row.after.map_or(Time::MAX, |after| *at + after);
                    rows.push(row);
                }
            }
        }
        rows
    }

    fn row(
        &self,
        at: Time,
        links: Vec<String>,
        (first, fault, last): (usize, usize, usize),
    ) -> RecoveryRow {
        let mut row =
            RecoveryRow { at, links, before_bps: None, lowest: None, after: None, missing: None };
        let since = first.max(fault.saturating_sub(AROUND * STEPS));
        if fault < since + STEPS || fault + STEPS > last || self.got[fault] == self.got[since] {
            return row;
        }
        let per_step = (self.got[fault] - self.got[since]) as f64 / (fault - since) as f64;
        row.before_bps = Some(per_step * 8e12 / self.step.0 as f64);
        let full = per_step * STEPS as f64;
        let enough = self.spec.share * full;
        // The first window that is not begun before the fault.
        let begins = fault + usize::from(self.step.0 * fault as u64 != at.0);
        let windows = || begins..=last.saturating_sub(STEPS);
        let dips = windows().take(AROUND * STEPS).find(|w| (self.window(*w) as f64) < enough);
        let Some(dip) = dips else {
            let least = windows().take(AROUND * STEPS).map(|w| self.window(w)).min();
            row.lowest = least.map(|bytes| bytes as f64 / full);
            (row.after, row.missing) = (Some(Span::ZERO), Some(0));
            return row;
        };
        let back = windows().find(|w| *w > dip && self.window(*w) as f64 >= enough);
        let end = back.unwrap_or(last);
        let least = (dip..=end.min(last.saturating_sub(STEPS))).map(|w| self.window(w)).min();
        row.lowest = least.map(|bytes| bytes as f64 / full);
        row.after = back.map(|w| Time(w as u64 * self.step.0).since(at));
        let came = (self.got[end] - self.got[fault]) as f64;
        row.missing = Some((per_step * (end - fault) as f64 - came).max(0.0) as u64);
        row
    }
}

impl Simulation {
    /// Looks at goodput for the first time.
    pub(super) fn start_recovery(&mut self) {
        if self.recovery.is_some() {
            self.agenda.add((Time::ZERO, self.recovery_key()), Item::Goodput);
        }
    }

    fn recovery_key(&self) -> Key {
        Key::new(Class::Probe, self.probes.len() as u32)
    }

    /// Looks at what applications have got.
    pub(super) fn look_at_goodput(&mut self) {
        let got = self.driver.counters().bytes_delivered;
        let (now, key) = (self.now, self.recovery_key());
        let Some(recovery) = &mut self.recovery else { return };
        recovery.got.push(got);
        self.agenda.add((now + recovery.step, key), Item::Goodput);
    }

    /// A link is about to change: a change for the worse is a fault.
    pub(super) fn note_fault(&mut self, change: &ResolvedChange) {
        let Some(recovery) = &mut self.recovery else { return };
        let (link, state) =
            (&self.graph.links[change.link as usize], &self.link_state[change.link as usize]);
        let port = self.driver.port_mut(&self.layout, link.a);
        let lost = port.loss.as_ref().map_or(0.0, |lossy| lossy.probability);
        let worse = change.up == Some(false) && state.up
            || change.rate.is_some_and(|rate| rate < state.rate)
            || change.loss.is_some_and(|loss| loss > lost);
        if worse {
            recovery.fault(self.now, self.graph.port_name(link.a));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 16 us and a share of 0.9; each step is a microsecond, in which so many bytes come.
    fn recovery(rates: impl IntoIterator<Item = (usize, u64)>, faults: &[u64]) -> Recovery {
        let spec = RecoverySpec { share: 0.9, window: Span::from_micros(16) };
        let mut found = Recovery::new(spec);
        found.got.push(0);
        for (steps, bytes) in rates {
            for _ in 0..steps {
                found.got.push(found.got.last().expect("one") + bytes);
            }
        }
        faults.iter().for_each(|us| found.fault(Time(us * 1_000_000), format!("link{us}")));
        found
    }

    fn rows(found: &Recovery) -> Vec<RecoveryRow> {
        found.rows((Time::ZERO, Time(1_000_000 * (found.got.len() as u64 - 1))))
    }

    /// By hand: 100 bytes a microsecond, nothing for 40 us, then 100 again. The first window with
    /// 1,440 of 1,600 bytes begins 1 us before the hole ends, and has 15: 1,500. So 39 us after the
    /// fault (one that begins 2 us before has 1,400). 3,900 bytes are missing by then, and the
    /// lowest window has none.
    ///
    /// Breaks if time runs from the dip and not from the fault, if the window's end counts, or if
    /// what is missing is counted from elsewhere.
    #[test]
    fn a_hole_by_hand() {
        let found = rows(&recovery([(200, 100), (40, 0), (200, 100)], &[200]));
        let [row] = &found[..] else { panic!("one fault: {found:?}") };
        assert_eq!((row.before_bps, row.lowest), (Some(8e8), Some(0.0)));
        assert_eq!((row.after, row.missing), (Some(Span::from_micros(39)), Some(3_900)));
    }

    /// By hand: from 100 to 95 is no dip below 90 %; from 100 to 85 for good is one that does not
    /// end; a dip that begins eleven windows later is another matter.
    ///
    /// Breaks if any of these is taken for another.
    #[test]
    fn no_dip_and_no_recovery() {
        let small = rows(&recovery([(200, 100), (200, 95)], &[200]));
        assert_eq!((small[0].after, small[0].missing), (Some(Span::ZERO), Some(0)));
        assert_eq!(small[0].lowest, Some(0.95));
        let for_good = rows(&recovery([(200, 100), (200, 85)], &[200]));
        assert_eq!((for_good[0].after, for_good[0].lowest), (None, Some(0.85)));
        assert_eq!(for_good[0].missing, Some(3_000));
        let late = rows(&recovery([(200, 100), (177, 100), (100, 0)], &[200]));
        assert_eq!(late[0].after, Some(Span::ZERO));
    }

    /// Breaks if a fault during another's recovery is counted apart, if one after it is not, or if
    /// a fault without a window before it, or after it, has a number.
    #[test]
    fn faults_are_told_apart() {
        let rates = [(200, 100), (40, 0), (200, 100), (20, 0), (100, 100)];
        let found = rows(&recovery(rates, &[4, 200, 210, 440, 559]));
        let told: Vec<_> = found.iter().map(|row| (row.links.len(), row.after)).collect();
        let us = |us| Some(Span::from_micros(us));
        assert_eq!(told, [(1, None), (2, us(39)), (1, us(19)), (1, None)]);
        assert_eq!((found[0].before_bps, found[3].before_bps), (None, None));
    }
}
