//! Reductions that answered no loss: found out by D-SACK, Eifel and F-RTO, and undone.

use super::TcpConfig;
use super::acks::tick_of;
use super::extra::{Episode, Frto};
use super::sender::{Phase, Sender};
use crate::spec::Timestamps;
use leafspine_core::{PacketMeta, SackBlock, Time};
use leafspine_schemes::cc::{CongestionControl, Control};

impl Sender {
    /// The control as it is now, if it may be gone back to.
    pub(super) fn before_reduction(&self, cfg: &TcpConfig) -> Option<Control> {
        if cfg.stack.undoes() { self.control.before_reduction() } else { None }
    }

    /// A reduction has been made for what is outstanding. Linux: where some of it is under way again, or the first of it was sent again,
    /// the timestamp of the first retransmission stays the one to go by (`tcp_init_undo`, `tcp_any_retrans_done`).
    pub(super) fn begin_episode(&mut self, cfg: &TcpConfig, before: Option<Control>) {
        let linux = cfg.stack.recovers_as_linux();
        let Some(x) = &mut self.extra else { return };
        let resent = if linux { x.rack.resent.len() } else { 0 };
        let goes_on = linux && (resent > 0 || (self.una < self.high && x.sent.again(self.una)));
        let stamp = x.episode.as_ref().and_then(|last| last.stamp).filter(|_| goes_on);
        x.episode = before.map(|before| Episode {
            from: self.una,
            again: u32::from(stamp.is_some()),
            unreported: resent,
            stamp,
            before,
            forbidden: false,
        });
    }

    /// The window of the episode is not given back.
    pub(super) fn forbid_undo(&mut self) {
        if let Some(episode) = self.extra.as_mut().and_then(|x| x.episode.as_mut()) {
            episode.forbidden = true;
        }
    }

    /// A segment has been sent again, with this timestamp.
    pub(super) fn count_retransmission(&mut self, segment: u32, stamp: u32) {
        let Some(x) = &mut self.extra else { return };
        x.resent_below = x.resent_below.max(segment + 1);
        x.rack.sent_again(self.una, segment);
        if let Some(episode) = &mut x.episode {
            if episode.again == 0 {
                episode.stamp = Some(stamp);
            }
            episode.again += 1;
            episode.unreported += 1;
        }
    }

    /// A D-SACK, if `reported` is one: a wider window for reordering (RFC 8985 §6.2 step 4). Linux does not do it with an
    /// ACK behind a later one (`tcp_rack_update_reo_wnd`).
    pub(super) fn widen(&mut self, cfg: &TcpConfig, reported: Option<SackBlock>, now: Time) {
        let Some(x) = &mut self.extra else { return };
        if cfg.stack.rack_any_rtt {
            let latest = x.fresh.iter().map(|segment| x.sent.at(*segment)).max();
            x.rack.widen(latest, now);
        } else if cfg.stack.rack {
            x.rack.note_dsack(self.una, self.high, reported.is_some());
        }
    }

    /// A D-SACK, if `reported` is one: one retransmission fewer that may have been needed. When none is left, the reduction
    /// is undone (RFC 3708 §2).
    pub(super) fn note_duplicate(
        &mut self,
        cfg: &TcpConfig,
        reported: Option<SackBlock>,
        now: Time,
    ) {
        let Some(x) = &mut self.extra else { return };
        let (Some(block), Some(episode)) = (reported, &mut x.episode) else { return };
        if block.start < episode.from || episode.unreported == 0 {
            return;
        }
        episode.unreported = episode.unreported.saturating_sub(block.end - block.start);
        if episode.unreported == 0 && cfg.stack.undo_dsack {
            x.rack.proven_late();
            self.undo(cfg, now);
        }
    }

    /// RFC 3522 §3.2: the first ACK of new data after a retransmission tells by what it echoes which
    /// transmission it is of. Returns whether Linux leaves a recovery by it before its end.
    pub(super) fn look_at_stamp(&mut self, cfg: &TcpConfig, p: &PacketMeta, now: Time) -> bool {
        if cfg.stack.eifel.is_none() {
            return false;
        }
        let asks_all = cfg.stack.undo_waits;
        let Some(x) = &mut self.extra else { return false };
        let Some(episode) = &mut x.episode else { return false };
        let first = if asks_all { episode.stamp } else { episode.stamp.take() };
        let Some(first) = first else { return false };
        // On a coarse clock they may be of one tick.
        let late = cfg.stack.timestamps != Timestamps::Off
            && tick_of(cfg, p.stamp, now) < tick_of(cfg, first, now);
        if !late {
            return false;
        }
        // Linux's `tcp_try_undo_partial`: until all that was sent again is settled, what is late clocks out new data only.
        let amid = self.phase == Phase::Recovery && self.una < self.recover;
        x.waits = asks_all && cfg.stack.rack && amid && !x.rack.resent.is_empty();
        if let Some(first) = x.fresh.first().filter(|_| asks_all && amid) {
            x.rack.reordered(*first);
        }
        if !x.waits {
            if asks_all && cfg.stack.rack && amid {
                x.rack.lost.clear();
            }
            self.undo(cfg, now);
            return asks_all && amid;
        }
        false
    }

    /// F-RTO with SACK (RFC 5682 §3.1): an ACK after a timeout. `original` is whether it delivers what
    /// was sent before the timeout and not again.
    pub(super) fn look_at_timeout(
        &mut self,
        cfg: &TcpConfig,
        acked: u32,
        original: bool,
        now: Time,
    ) {
        let more = self.has_new_data(cfg);
        let Some(x) = &mut self.extra else { return };
        match x.frto {
            Frto::Off => {}
            // Step 2b: new data in place of old. Without any, the timeout stands.
            Frto::Resent if acked > 0 && self.una < self.recover && more => {
                x.frto = Frto::Waiting;
                x.frto_new = 2;
            }
            // Step 3b.
            Frto::Waiting if original => self.undo(cfg, now),
            Frto::Resent | Frto::Waiting => {
                x.frto = Frto::Off;
                x.frto_new = 0;
            }
        }
    }

    /// The reduction answered no loss: the window is what it was. After a timeout nothing counts as
    /// lost any more; a fast recovery ends unless something still does (with RACK) or goes on to its
    /// end, with the window of before (without).
    ///
    /// Linux ends it in any case, and what is still lost begins another.
    fn undo(&mut self, cfg: &TcpConfig, now: Time) {
        let in_force = self.window_in_force();
        let Some(x) = &mut self.extra else { return };
        let Some(episode) = x.episode.take() else { return };
        x.undos += 1;
        x.rack.look_again();
        x.prr.active = false;
        x.frto = Frto::Off;
        x.frto_new = 0;
        let window = self.control.window();
        if !episode.forbidden {
            self.control.undo(&episode.before, now);
            self.cwr_due &= !cfg.stack.mark_prr;
        } else if cfg.stack.mark_prr && self.phase == Phase::Recovery {
            self.control.on_broken_off(in_force);
        }
        let begins_anew = cfg.stack.recovers_as_linux() && self.phase == Phase::Recovery;
        let ends = match self.phase {
            Phase::Loss => true,
            Phase::Recovery => begins_anew || (cfg.stack.rack && x.rack.lost.is_empty()),
            _ => false,
        };
        if ends {
            if !begins_anew {
                x.rack.lost.clear();
            }
            self.phase = Phase::Open;
            self.nxt = self.high;
            self.resend_due = false;
            self.inflation = 0;
            self.end_reduction(cfg);
        }
        self.note_window(cfg, window, now);
    }
}
