//! What counts as lost, for a sender that keeps more than RFC 6675 asks for, and how the reduction
//! that follows is shared out.

use super::TcpConfig;
use super::prr::{Progress, Prr};
use super::rack::Situation;
use super::sender::{Phase, Sender};
use crate::spec::Reduction;
use leafspine_core::Time;
use leafspine_schemes::cc::CongestionControl;

impl Sender {
    /// While a reduction is shared out the window stays: what has left, or is given up, lets as much go.
    pub(super) fn keep_window(&mut self, cfg: &TcpConfig) {
        if let (Some(flight), Some(x)) = (self.shared_flight(cfg), &mut self.extra) {
            x.prr.keep_window(flight);
        }
    }

    /// Bytes in the network while a reduction is shared out; `None` when none is.
    fn shared_flight(&self, cfg: &TcpConfig) -> Option<u32> {
        let active = self.extra.as_ref().is_some_and(|x| x.prr.active);
        if active && self.phase == Phase::Recovery {
            return Some(self.pipe * cfg.mss);
        }
        self.is_sharing().then(|| (self.high - self.una - self.board.sacked()) * cfg.mss)
    }

    /// RFC 8985 §6.2 steps 4 and 5, and what a mark leads to. `by_timer`: the timer of what is late
    /// has fired, and no ACK has come. Returns whether fast recovery begins.
    pub(super) fn look_for_losses(&mut self, cfg: &TcpConfig, by_timer: bool, now: Time) -> bool {
        let at = self.situation(cfg, now);
        let Some(x) = &mut self.extra else { return false };
        x.rack.marked.clear();
        if x.waits {
            self.set_pipe(cfg);
            return false;
        }
        x.keeps_wait = cfg.stack.rack_any_rtt && !x.rack.take_advanced();
        if !x.keeps_wait {
            (_, x.wait) = x.rack.detect(&x.sent, &self.board, &at);
        }
        // Linux: what was given up counts until it is delivered, though it was sent again
        // (`lost_out`): the end of a recovery begins the next.
        let lost =
            if cfg.stack.rack_any_rtt { x.rack.lost_out() > 0 } else { !x.rack.lost.is_empty() };
        // Linux: what is lost once more ends a timeout's recovery (`FLAG_LOST_RETRANS`), and
        // whatever its timer finds does (`tcp_rack_reo_timeout`).
        let ends = cfg.stack.recovers_as_linux()
            && self.phase == Phase::Loss
            && x.rack.marked.iter().any(|segment| by_timer || x.sent.again(*segment));
        let enters = (lost && self.phase == Phase::Open) || ends;
        self.tell_lost(cfg, now);
        if enters {
            self.enter_recovery(cfg, now);
        }
        self.count_streak(cfg);
        enters
    }

    /// Open: what is SACKed is not in the network, and as much new data may be. Else the pipe is counted.
    fn count_streak(&mut self, cfg: &TcpConfig) {
        if self.phase != Phase::Open {
            self.set_pipe(cfg);
        }
        self.dup_streak = if self.phase == Phase::Open { self.board.sacked() } else { 0 };
    }

    pub(super) fn situation(&self, cfg: &TcpConfig, now: Time) -> Situation {
        Situation {
            una: self.una,
            high: self.high,
            recovering: matches!(self.phase, Phase::Recovery | Phase::Loss),
            threshold: cfg.dupack_threshold,
            srtt: self.rtt.srtt(),
            now,
            as_linux: cfg.stack.rack_any_rtt,
        }
    }

    /// What proportional rate reduction lets go, so many bytes having been delivered.
    pub(super) fn share_out(&mut self, cfg: &TcpConfig, delivered: u32, advanced: bool) {
        let ssthresh = self.window(cfg);
        let marked = self.is_sharing();
        let outstanding = self.high - self.una - self.board.sacked();
        if delivered == 0 && cfg.stack.whole_windows {
            // A mark may have begun it with an ACK of nothing new.
            return self.keep_window(cfg);
        }
        let Some(x) = &mut self.extra else { return };
        let recovers = self.phase == Phase::Recovery;
        if !x.prr.active || !(recovers || marked) {
            return;
        }
        let further = if cfg.stack.rack {
            !x.rack.marked.is_empty()
        } else {
            let lost_below = self.board.lost_below(self.una, cfg.dupack_threshold);
            let further = lost_below > x.lost_below.max(self.una);
            x.lost_below = x.lost_below.max(lost_below);
            further
        };
        let progress = Progress {
            delivered,
            pipe: if recovers { self.pipe } else { outstanding } * cfg.mss,
            ssthresh,
            safe: advanced && !further,
        };
        let kind = if recovers { cfg.stack.reduction } else { Reduction::Prr9937 };
        x.prr.on_ack(kind, cfg.mss, &progress);
    }

    /// A mark has reduced the window, which was `before`: it shrinks in proportion to what arrives, until
    /// the round trip is over.
    pub(super) fn begin_marked_share(&mut self, cfg: &TcpConfig, before: u32) {
        let Some(x) = &mut self.extra else { return };
        x.prr = Prr::begin_window(Reduction::Prr9937, before, cfg.mss);
        x.marked = true;
        x.lost_below = 0;
        // What was reduced before is not undone any more.
        x.episode = None;
    }

    /// Whether a mark's reduction is under way. It ends with what was outstanding when it began, as another
    /// could begin.
    pub(super) fn is_sharing(&self) -> bool {
        self.phase == Phase::Open
            && self.una <= self.reduced_until
            && self.extra.as_ref().is_some_and(|x| x.marked && x.prr.active)
    }

    /// Whether the ACK in hand comes while the window is being reduced.
    pub(super) fn is_reducing(&self, cfg: &TcpConfig) -> bool {
        // Linux looks at the state first, and lets the window grow, or not, in the new one.
        let recovers =
            self.phase == Phase::Recovery && !(cfg.stack.whole_windows && self.una >= self.recover);
        recovers || self.is_sharing()
    }

    /// The window that Linux reduces, and would show: the control's, or the one that a reduction has left by now.
    pub(super) fn window_in_force(&self) -> u32 {
        let recovers =
            self.phase == Phase::Recovery && self.extra.as_ref().is_some_and(|x| x.prr.active);
        let shares = recovers || self.is_sharing();
        let shared = self.extra.as_ref().filter(|_| shares).map(|x| x.prr.window());
        shared.unwrap_or(self.control.window())
    }

    /// The window while a reduction is under way: what is in flight, and what it lets go.
    pub(super) fn shared_window(&self, cfg: &TcpConfig) -> u32 {
        let allowed = self.extra.as_ref().map_or(0, |x| x.prr.allowance());
        (self.in_flight() * cfg.mss).saturating_add(allowed)
    }

    /// A reduction is over: with Linux the next mark begins another, whatever was outstanding when it began.
    pub(super) fn end_reduction(&mut self, cfg: &TcpConfig) {
        if cfg.stack.mark_prr {
            self.reduced_until = 0;
        }
    }

    /// Proportional rate reduction begins with a recovery.
    pub(super) fn begin_share(&mut self, cfg: &TcpConfig, window: u32) {
        let Some(x) = &mut self.extra else { return };
        // Of what is SACKed now, the ACK in hand may have brought some; and what it acknowledged was
        // outstanding before it.
        let brought = x.fresh.iter().filter(|segment| **segment >= self.una).count() as u32;
        let acked = x.fresh.len() as u32 - brought;
        let before = self.board.sacked().saturating_sub(brought);
        let outstanding = self.high - self.una + acked;
        // A control that goes by rates has its own answer.
        let kind = if cfg.sack && !cfg.by_rate { cfg.stack.reduction } else { Reduction::AtOnce };
        x.prr = if cfg.stack.mark_prr && kind != Reduction::AtOnce {
            Prr::begin_window(kind, window, cfg.mss)
        } else {
            Prr::begin(kind, outstanding * cfg.mss, before * cfg.mss)
        };
        if !cfg.stack.rack {
            x.lost_below = self.board.lost_below(self.una, cfg.dupack_threshold);
        }
    }

    /// Segments that may be sent in a recovery with SACK.
    pub(super) fn room(&self, cfg: &TcpConfig) -> u32 {
        let bytes = match &self.extra {
            Some(x) if x.prr.active && self.phase == Phase::Recovery => x.prr.allowance(),
            _ => self.window(cfg).saturating_sub(self.pipe * cfg.mss),
        };
        bytes / cfg.mss
    }

    /// Whether one may.
    pub(super) fn may_send(&self, cfg: &TcpConfig) -> bool {
        self.room(cfg) > 0
    }
}
