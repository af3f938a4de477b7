//! What limits a queue pair: a rate, a window, or both, by its congestion control.

use super::RoceConfig;
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::rdma::{
    Dcqcn, DcqcnSettings, Hop, Hpcc, HpccSettings, Nscc, NsccSettings, Swift, SwiftSettings,
};

/// The congestion control of all queue pairs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PairControl {
    /// None: they send at the line's rate.
    LineRate,
    /// A rate, by congestion notifications.
    Dcqcn(DcqcnSettings),
    /// A window, by what switches write into packets.
    Hpcc(HpccSettings),
    /// A window, by marks and round trips.
    Nscc(NsccSettings),
    /// A window, by round trips.
    Swift(SwiftSettings),
}

impl PairControl {
    /// Whether packets carry telemetry.
    #[must_use]
    pub fn has_telemetry(&self) -> bool {
        matches!(self, PairControl::Hpcc(_))
    }

    /// DCQCN's constants, if it is that.
    #[must_use]
    pub fn dcqcn(&self) -> Option<&DcqcnSettings> {
        match self {
            PairControl::Dcqcn(settings) => Some(settings),
            _ => None,
        }
    }

    /// Whether it bounds what is under way, by a window that moves.
    pub(super) fn has_window(&self) -> bool {
        matches!(self, PairControl::Hpcc(_) | PairControl::Nscc(_) | PairControl::Swift(_))
    }

    /// Whether acknowledgments echo marks.
    pub(super) fn asks_for_marks(&self) -> bool {
        matches!(self, PairControl::Nscc(_))
    }
}

/// What an answer tells the congestion control.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback<'a> {
    /// The queue pair's packet that is answered, by its number among all that the queue pair has sent.
    pub(super) number: u32,
    /// What its way was like.
    pub(super) hops: &'a [Hop],
    /// Bytes that are now known to have come, and those that still are under way.
    pub(super) come: u64,
    pub(super) under_way: u64,
    /// How long the packet and its answer took.
    pub(super) rtt: Span,
    /// Whether it was marked, or one before it that was not answered.
    pub(super) marked: bool,
    pub(super) now: Time,
}

/// A queue pair's state of it.
#[derive(Debug)]
pub(super) enum State {
    Line,
    Dcqcn(Dcqcn),
    Hpcc(Box<Hpcc>),
    Nscc(Box<Nscc>),
    Swift(Box<Swift>),
}

impl State {
    /// A queue pair's start on a line of this rate.
    pub(super) fn new(cfg: &RoceConfig, line: Rate) -> State {
        match &cfg.spec.control {
            PairControl::LineRate => State::Line,
            PairControl::Dcqcn(_) => State::Dcqcn(Dcqcn::new(line)),
            PairControl::Hpcc(settings) => State::Hpcc(Box::new(Hpcc::new(settings, line))),
            PairControl::Nscc(settings) => State::Nscc(Box::new(Nscc::new(settings, line))),
            PairControl::Swift(settings) => State::Swift(Box::new(Swift::new(settings, line))),
        }
    }

    /// Bytes that may be under way, if it bounds them.
    pub(super) fn window(&self, cfg: &RoceConfig) -> Option<u64> {
        match (self, &cfg.spec.control) {
            (State::Hpcc(hpcc), _) => Some(hpcc.window()),
            (State::Nscc(nscc), _) => Some(nscc.window()),
            (State::Swift(swift), PairControl::Swift(settings)) => Some(swift.window(settings)),
            _ => None,
        }
    }

    /// The rate, as far as the last call knows; `None`: the line's.
    pub(super) fn rate(&self, cfg: &RoceConfig) -> Option<Rate> {
        match (self, &cfg.spec.control) {
            (State::Dcqcn(dcqcn), _) => Some(dcqcn.rate()),
            (State::Hpcc(hpcc), PairControl::Hpcc(settings)) => Some(hpcc.rate(settings)),
            (State::Swift(swift), PairControl::Swift(settings)) => swift.rate(settings),
            _ => None,
        }
    }

    /// A packet of this size is sent at the rate of now, which is given.
    #[inline]
    pub(super) fn send(&mut self, cfg: &RoceConfig, size: u32, now: Time) -> Option<Rate> {
        let (State::Dcqcn(dcqcn), Some(settings)) = (&mut *self, cfg.spec.control.dcqcn()) else {
            return self.rate(cfg);
        };
        dcqcn.catch_up(settings, now);
        let rate = dcqcn.rate();
        dcqcn.on_sent(settings, size);
        Some(rate)
    }

    /// A CNP has come, or what is taken for one.
    pub(super) fn on_notification(&mut self, cfg: &RoceConfig, now: Time) {
        if let (State::Dcqcn(dcqcn), Some(settings)) = (self, cfg.spec.control.dcqcn()) {
            dcqcn.on_cnp(settings, now);
        }
    }

    /// An answer has come; `next` is the number of the packet that is sent next.
    pub(super) fn on_answer(&mut self, cfg: &RoceConfig, answer: &Feedback<'_>, next: u32) {
        match (self, &cfg.spec.control) {
            (State::Hpcc(hpcc), PairControl::Hpcc(settings)) => {
                hpcc.on_ack(settings, answer.hops, answer.number, next);
            }
            (State::Nscc(nscc), PairControl::Nscc(settings)) => {
                let bytes = (answer.come, answer.under_way);
                nscc.on_ack(settings, bytes, answer.rtt, answer.marked, answer.now);
            }
            (State::Swift(swift), PairControl::Swift(settings)) if answer.come > 0 => {
                let packets = answer.come as f64 / f64::from(settings.packet);
                swift.on_ack(settings, packets, answer.rtt, answer.now);
            }
            _ => {}
        }
    }

    /// A timeout, after which so many bytes are taken to be missing, and others still under way.
    pub(super) fn on_timeout(&mut self, cfg: &RoceConfig, bytes: (u64, u64), now: Time) {
        match (&mut *self, &cfg.spec.control) {
            (State::Swift(swift), PairControl::Swift(settings)) => swift.on_timeout(settings, now),
            _ => self.on_loss(cfg, bytes, now),
        }
    }

    /// So many bytes are known to be missing, and others still under way.
    pub(super) fn on_loss(&mut self, cfg: &RoceConfig, bytes: (u64, u64), now: Time) {
        match (self, &cfg.spec.control) {
            (State::Nscc(nscc), PairControl::Nscc(settings)) => nscc.on_loss(settings, bytes, now),
            (State::Swift(swift), PairControl::Swift(settings)) => swift.on_loss(settings, now),
            _ => {}
        }
    }
}
