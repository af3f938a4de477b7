//! What belongs to a queue pair, whichever of its messages is sent: its rate, and what is under way.

use super::control::{Feedback, State};
use super::{Credit, Demand, RoceConfig};
use foldhash::fast::FixedState;
use leafspine_core::{FiveTuple, Rate, Span, Time};
use std::collections::HashMap;

/// A queue pair as its sender's network card knows it. The messages of a job share one, of which
/// several may be under way; a flow of any other workload has its own.
#[derive(Debug)]
pub struct QueuePair {
    line: Rate,
    control: State,
    /// Not before this may the next packet leave.
    pub(crate) next_at: Time,
    /// Packets sent and not acknowledged in order.
    under_way: u32,
    /// Packets sent, those sent again among them: the number of the next one.
    sent: u32,
    /// What its messages that have begun have to send still, packets that are known to be missing among them.
    left: u32,
    /// What the receiver lets it send, in runs with credits.
    credit: Credit,
    /// Before this no NAK cuts the rate.
    nak_cuts_from: Time,
}

impl QueuePair {
    /// A queue pair on a line of this rate.
    #[must_use]
    pub fn new(cfg: &RoceConfig, line: Rate) -> QueuePair {
        let control = State::new(cfg, line);
        QueuePair {
            line,
            control,
            next_at: Time::ZERO,
            under_way: 0,
            sent: 0,
            left: 0,
            credit: Credit::default(),
            nak_cuts_from: Time::ZERO,
        }
    }

    /// Whether a new packet may be sent.
    #[inline]
    pub(super) fn has_room(&self, cfg: &RoceConfig) -> bool {
        self.under_way < cfg.window && !(cfg.has_window && self.is_window_full(cfg))
    }

    fn is_window_full(&self, cfg: &RoceConfig) -> bool {
        let under_way = u64::from(self.under_way) * u64::from(cfg.mss + cfg.header);
        self.control.window(cfg).is_some_and(|window| under_way >= window)
    }

    /// Bytes that may be under way.
    pub(super) fn window(&self, cfg: &RoceConfig) -> u32 {
        let bound = cfg.window.saturating_mul(cfg.mss);
        let window = self.control.window(cfg).and_then(|window| u32::try_from(window).ok());
        window.map_or(bound, |window| window.min(bound))
    }

    /// Whether a packet may be sent as far as the receiver goes.
    #[inline]
    pub(super) fn has_credit(&self, cfg: &RoceConfig) -> bool {
        cfg.spec.credits.is_none() || self.credit.left(self.sent) > 0
    }

    /// A packet is about to be sent, the first of its message or not. What goes without credit is counted so.
    pub(super) fn use_credit(&mut self, cfg: &RoceConfig, first: bool) {
        let Some(credits) = cfg.spec.credits else { return };
        if first && self.under_way == 0 {
            self.credit.begin(self.sent, cfg.first(credits));
        }
        if self.credit.left(self.sent) == 0 {
            self.credit.overdraw();
        }
    }

    /// A packet may go without credit: what was lost may have been the receiver's asking.
    pub(super) fn overdraw(&mut self, cfg: &RoceConfig) {
        if !self.has_credit(cfg) {
            self.credit.overdraw();
        }
    }

    /// The receiver has asked for so many packets in all.
    pub(crate) fn grant(&mut self, granted: u32) {
        self.credit.grant(granted);
    }

    /// The receiver has reported a header without payload.
    pub(super) fn header_reported(&mut self) {
        self.credit.reported = self.credit.reported.wrapping_add(1);
    }

    /// One of its messages has so many packets left to send, and had `before`.
    #[inline]
    pub(super) fn recount(&mut self, before: u32, now: u32) {
        self.left = self.left - before + now;
    }

    /// What a packet that is being sent says of the credit that the queue pair lacks: each of its
    /// messages, for the receiver may hear of one of them alone.
    pub(super) fn wanted(&self) -> u32 {
        self.credit.wanted(self.sent.wrapping_add(1), self.left)
    }

    /// Its credit, and the packets that it has sent.
    #[must_use]
    pub fn credit(&self) -> (Credit, u32) {
        (self.credit, self.sent)
    }

    /// The number of the packet that is sent next.
    pub(super) fn number(&self) -> u32 {
        self.sent
    }

    /// Packets under way.
    pub(super) fn under_way(&self) -> u32 {
        self.under_way
    }

    /// So many packets more are under way, and so many fewer.
    #[inline]
    pub(super) fn count(&mut self, more: u32, fewer: u32) {
        self.under_way += more;
        self.under_way -= fewer;
    }

    /// A packet of this size leaves: the next one leaves no earlier than the rate has it.
    #[inline]
    pub(super) fn pace(&mut self, cfg: &RoceConfig, size: u32, now: Time) {
        let rate = self.control.send(cfg, size, now).unwrap_or(self.line);
        self.sent = self.sent.wrapping_add(1);
        self.next_at = now + rate.time_for(u64::from(size));
    }

    /// A CNP has come.
    pub(super) fn cut(&mut self, cfg: &RoceConfig, now: Time) {
        self.control.on_notification(cfg, now);
    }

    /// A NAK that is taken for a CNP has come, of which there are no more in a time than of these.
    pub(super) fn cut_by_nak(&mut self, cfg: &RoceConfig, now: Time) {
        let interval = cfg.spec.control.dcqcn().map_or(Span::ZERO, |dcqcn| dcqcn.cnp_interval);
        if now >= self.nak_cuts_from {
            self.nak_cuts_from = now + interval;
            self.cut(cfg, now);
        }
    }

    /// So many packets are known to be missing.
    pub(super) fn lose(&mut self, cfg: &RoceConfig, packets: u32, now: Time) {
        if packets > 0 {
            let bytes = self.lost_bytes(cfg, packets);
            self.control.on_loss(cfg, bytes, now);
        }
    }

    /// A timeout: so many packets are taken to be missing.
    pub(super) fn time_out(&mut self, cfg: &RoceConfig, packets: u32, now: Time) {
        if packets > 0 {
            let bytes = self.lost_bytes(cfg, packets);
            self.control.on_timeout(cfg, bytes, now);
        }
    }

    /// Bytes of the packets that are missing, and of those under way.
    fn lost_bytes(&self, cfg: &RoceConfig, packets: u32) -> (u64, u64) {
        let full = u64::from(cfg.mss + cfg.header);
        (u64::from(packets) * full, u64::from(self.under_way) * full)
    }

    /// An answer has come.
    pub(super) fn learn(&mut self, cfg: &RoceConfig, answer: &Feedback<'_>) {
        self.control.on_answer(cfg, answer, self.sent);
    }

    /// The rate at which it may send now, as far as the last packet knows.
    #[must_use]
    pub fn rate(&self, cfg: &RoceConfig) -> Rate {
        self.control.rate(cfg).unwrap_or(self.line)
    }
}

/// What belongs to a queue pair at its receiver, whichever of its messages comes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incoming {
    /// From when on it may send a CNP.
    pub(crate) notify_at: Time,
    /// In runs with credits.
    pub(crate) demand: Demand,
}

/// Things that the messages of a connection share, by number; flows besides have their own.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    items: Vec<T>,
    free: Vec<u32>,
    of: HashMap<FiveTuple, u32, FixedState>,
}

impl<T> Default for Shared<T> {
    fn default() -> Shared<T> {
        Shared { items: Vec::new(), free: Vec::new(), of: HashMap::default() }
    }
}

impl<T> Shared<T> {
    /// The number of a flow's own, which is `new`; of the connection's, if it is a message of one:
    /// that is `new` at the first.
    pub(crate) fn take(&mut self, connection: Option<FiveTuple>, new: impl FnOnce() -> T) -> u32 {
        if let Some(number) = connection.and_then(|connection| self.of.get(&connection)) {
            return *number;
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.items[number as usize] = new();
                number
            }
            None => {
                self.items.push(new());
                self.items.len() as u32 - 1
            }
        };
        if let Some(connection) = connection {
            self.of.insert(connection, number);
        }
        number
    }

    /// A flow's own is no longer needed.
    pub(crate) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        &self.items[number as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        &mut self.items[number as usize]
    }
}
