//! What a decision knows of a queue that it cannot read.
//!
//! On programmable switches queues are at the egress, decisions at the ingress. QALL's authors run DRILL
//! there (IEEE TNSM 21(2), 2024, §VI-D1): each packet that leaves a queue reports, by a clone that takes a
//! while, what it has left behind.

use leafspine_core::{Span, Time};
use std::collections::VecDeque;

/// A packet that leaves at `at`.
#[derive(Clone, Copy, Debug)]
struct Report {
    at: Time,
    /// Settled: bytes that wait behind it. Until then: the port's `queued` with it.
    bytes: u64,
}

/// One port's reports on their way, which take `delay`, and what the last one to arrive has said.
///
/// A one-event port announces a departure when the packet is queued. What waits behind the packet then is
/// not known until its time comes: all that has been queued since.
#[derive(Clone, Debug)]
pub(super) struct ReportedLength {
    delay: Span,
    /// All bytes whose departure was announced.
    queued: u64,
    /// In order of their times.
    reports: VecDeque<Report>,
    /// So many of them, from the front, are settled.
    settled: usize,
    /// Bytes.
    known: u64,
    /// When that was so.
    since: Option<Time>,
}

impl ReportedLength {
    pub(super) fn new(delay: Span) -> ReportedLength {
        ReportedLength {
            delay,
            queued: 0,
            reports: VecDeque::new(),
            settled: 0,
            known: 0,
            since: None,
        }
    }

    /// A packet of `size` bytes leaves at `at`, now or later. At `now` so many bytes wait.
    pub(super) fn leaving(&mut self, at: Time, now: Time, size: u16, waiting: u32) {
        self.length(now);
        self.queued += u64::from(size);
        let ahead = at > now;
        let bytes = if ahead { self.queued } else { u64::from(waiting) };
        self.reports.push_back(Report { at, bytes });
        if !ahead {
            // All before it have left, too.
            self.settled += 1;
        }
    }

    /// Bytes waiting, as the last report to arrive has said; 0 before the first.
    pub(super) fn length(&mut self, now: Time) -> u64 {
        self.settle(now);
        while let Some(report) = self.reports.front()
            && report.at + self.delay <= now
        {
            (self.known, self.since) = (report.bytes, Some(report.at));
            self.reports.pop_front();
            self.settled -= 1;
        }
        self.known
    }

    /// When that was so which the last report to arrive has said.
    pub(super) fn since(&self, now: Time) -> Option<Time> {
        let arrived = self.reports.iter().take_while(|report| report.at + self.delay <= now);
        arrived.last().map(|report| report.at).or(self.since)
    }

    /// Counts what waits behind the packets whose time has come.
    fn settle(&mut self, now: Time) {
        while let Some(report) = self.reports.get_mut(self.settled)
            && report.at <= now
        {
            report.bytes = self.queued - report.bytes;
            self.settled += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Span = Span(100);

    /// Breaks if a report arrives early or late, or says anything but what waits when its packet leaves: three
    /// packets of 1,500 bytes at 0, each 10 long, and one more at 15, when the second has left.
    #[test]
    fn a_report_says_what_a_packet_leaves_behind() {
        let mut length = ReportedLength::new(DELAY);
        length.leaving(Time(0), Time(0), 1500, 0);
        length.leaving(Time(10), Time(0), 1500, 0);
        length.leaving(Time(20), Time(0), 1500, 1500);
        length.leaving(Time(30), Time(15), 1500, 1500);
        let seen = [0, 99, 100, 109, 110, 119, 120, 129, 130, 500];
        let found = seen.map(|now| length.length(Time(now)));
        // At 0 nothing waits behind the first yet: it is alone in an idle port when it leaves.
        assert_eq!(found, [0, 0, 0, 0, 1500, 1500, 1500, 1500, 0, 0]);
    }

    /// Breaks if reports are kept where the length is never read (a port that packets have no choice about).
    #[test]
    fn reports_that_have_arrived_are_gone() {
        let mut length = ReportedLength::new(DELAY);
        (0..1000).for_each(|n| length.leaving(Time(10 * n), Time(10 * n), 1500, 0));
        assert!(length.reports.len() <= 11, "{}", length.reports.len());
    }

    /// Breaks if reports of a port that announces departures as they happen are not taken as they are.
    #[test]
    fn a_real_queue_says_itself_what_waits() {
        let mut length = ReportedLength::new(DELAY);
        length.leaving(Time(10), Time(10), 1500, 4500);
        length.leaving(Time(20), Time(20), 1500, 3000);
        assert_eq!([109, 110, 120].map(|now| length.length(Time(now))), [0, 4500, 3000]);
    }

    /// Breaks if a port that was idle is mixed up with what was queued before: a packet in an idle line after
    /// others that have left.
    #[test]
    fn an_idle_line_settles_all_before() {
        let mut length = ReportedLength::new(DELAY);
        length.leaving(Time(0), Time(0), 40, 0);
        length.leaving(Time(5), Time(1), 1500, 0);
        length.leaving(Time(50), Time(50), 1500, 0);
        length.leaving(Time(60), Time(51), 700, 0);
        length.leaving(Time(70), Time(52), 300, 700);
        assert_eq!([105, 150, 160, 170].map(|now| length.length(Time(now))), [0, 0, 300, 0]);
    }
}
