//! Reductions that answered no loss: found out by D-SACK, Eifel and F-RTO, and undone.

use super::TcpConfig;
use super::acks::tick_of;
use super::extra::{Episode, FRTO_NEW, FirstAgain, Frto};
use super::sender::{Phase, Sender};
use crate::spec::Timestamps;
use leafspine_core::{PacketMeta, SackBlock, Time};
use leafspine_schemes::cc::{CongestionControl, Control};

impl Sender {
    /// The control as it is now, if it may be gone back to.
    pub(super) fn before_reduction(&self, cfg: &TcpConfig) -> Option<Control> {
        if cfg.stack.undoes() { self.control.before_reduction() } else { None }
    }

    /// A reduction has been made for what is outstanding. In Linux what is under way again belongs
    /// to it, what a probe sent again too (`tcp_init_undo`), and the first retransmission may have
    /// been before it.
    pub(super) fn begin_episode(&mut self, cfg: &TcpConfig, before: Option<Control>) {
        let linux = cfg.stack.recovers_as_linux();
        let from = self.una;
        let Some(x) = &mut self.extra else { return };
        let probe = x.probe.is_some_and(|probe| probe.again);
        let unreported = if linux { x.rack.resent.len() + u32::from(probe) } else { 0 };
        if !linux {
            x.first_again = FirstAgain::NotYet;
        }
        x.episode = before.map(|before| Episode { from, unreported, before, forbidden: false });
    }

    /// Linux forgets when it first sent something again once nothing of that is under way, and the
    /// first segment was sent once (`tcp_any_retrans_done`).
    pub(super) fn forget_first_again(&mut self, cfg: &TcpConfig) {
        let (una, high) = (self.una, self.high);
        let Some(x) = self.extra.as_mut().filter(|_| cfg.stack.recovers_as_linux()) else { return };
        if x.rack.resent.is_empty() && !(una < high && x.sent.again(una)) {
            x.first_again = FirstAgain::NotYet;
        }
    }

    /// The window of the episode is not given back.
    pub(super) fn forbid_undo(&mut self) {
        if let Some(episode) = self.extra.as_mut().and_then(|x| x.episode.as_mut()) {
            episode.forbidden = true;
        }
    }

    /// A segment has been sent again, with this timestamp. In Linux a probe's is not the first
    /// retransmission that ACKs are held against, and no D-SACK is expected of it
    /// (`tcp_send_loss_probe`).
    pub(super) fn count_retransmission(&mut self, cfg: &TcpConfig, segment: u32, stamp: u32) {
        let probes = self.phase == Phase::Probing;
        let Some(x) = &mut self.extra else { return };
        x.resent_below = x.resent_below.max(segment + 1);
        x.rack.sent_again(self.una, segment, probes);
        if !(probes && cfg.stack.recovers_as_linux()) {
            self.count_attempt(stamp, 1);
        }
    }

    /// So many segments were to be sent again, with this timestamp.
    pub(super) fn count_attempt(&mut self, stamp: u32, segments: u32) {
        let Some(x) = &mut self.extra else { return };
        if x.first_again == FirstAgain::NotYet {
            x.first_again = FirstAgain::At(stamp);
        }
        if let Some(episode) = &mut x.episode {
            episode.unreported += segments;
        }
    }

    /// A D-SACK, if `reported` is one: a wider window for reordering (RFC 8985 §6.2 step 4). Linux
    /// does not do it with an ACK behind a later one (`tcp_rack_update_reo_wnd`).
    pub(super) fn widen(&mut self, cfg: &TcpConfig, reported: Option<SackBlock>, now: Time) {
        let Some(x) = &mut self.extra else { return };
        if cfg.stack.rack_any_rtt {
            let latest = x.fresh.iter().map(|segment| x.sent.at(*segment)).max();
            x.rack.widen(latest, now);
        } else if cfg.stack.rack {
            x.rack.note_dsack(self.una, self.high, reported.is_some());
        }
    }

    /// A D-SACK, if `reported` is one: one retransmission fewer that may have been needed. When
    /// none is left, the reduction is undone (RFC 3708 §2).
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
        let first = match x.first_again {
            FirstAgain::At(first) => Some(first),
            // Linux: what comes before anything was sent again is late (`tcp_packet_delayed`).
            FirstAgain::NotYet if cfg.stack.recovers_as_linux() => None,
            _ => return false,
        };
        if x.episode.is_none()
            || (first.is_none() && !matches!(self.phase, Phase::Recovery | Phase::Loss))
        {
            return false;
        }
        if !asks_all {
            x.first_again = FirstAgain::Checked;
        }
        // On a coarse clock they may be of one tick.
        let older = |first| {
            cfg.stack.timestamps != Timestamps::Off
                && tick_of(cfg, p.stamp, now) < tick_of(cfg, first, now)
        };
        let late = first.is_none_or(older);
        if !late {
            return false;
        }
        // Linux's `tcp_try_undo_partial`: until all that was sent again is settled, what is late
        // clocks out new data only.
        let amid = self.phase == Phase::Recovery && self.una < self.recover;
        x.waits = cfg.stack.recovers_as_linux() && amid && !x.rack.resent.is_empty();
        if let Some(first) = x.fresh.first().filter(|_| asks_all && amid) {
            x.rack.reordered(*first);
        }
        if !x.waits {
            if cfg.stack.recovers_as_linux() && amid {
                x.rack.lost.clear();
            }
            self.undo(cfg, now);
            return asks_all && amid;
        }
        false
    }

    /// F-RTO with SACK (RFC 5682 §3.1): an ACK after a timeout. `original` is whether it delivers what
    /// was sent before the timeout and not again; `reported`: what it says to have come twice.
    pub(super) fn look_at_timeout(
        &mut self,
        cfg: &TcpConfig,
        (acked, original): (u32, bool),
        reported: Option<SackBlock>,
        now: Time,
    ) {
        let more = self.has_new_data(cfg);
        let linux = cfg.stack.recovers_as_linux();
        let undecided = linux && self.decides_nothing(acked, reported);
        let Some(x) = &mut self.extra else { return };
        match x.frto {
            Frto::Off => {}
            // Linux: the first ACK may already show it (`tcp_process_loss`, step 3.b).
            Frto::Resent if original && linux => self.undo(cfg, now),
            Frto::Resent if linux && acked == 0 && self.high == self.recover => {}
            // Step 2b: new data in place of old. Without any, the timeout stands.
            Frto::Resent if acked > 0 && self.una < self.recover && more => {
                x.frto = Frto::Waiting;
                x.frto_new = FRTO_NEW;
            }
            // Step 3b.
            Frto::Waiting | Frto::Sent if original => self.undo(cfg, now),
            // Linux: what was sent again has come, which decides nothing; what is lost is sent again meanwhile.
            Frto::Waiting | Frto::Sent if undecided => {
                x.frto = Frto::Sent;
                x.frto_new = 0;
            }
            Frto::Resent | Frto::Waiting | Frto::Sent => {
                x.frto = Frto::Off;
                x.frto_new = 0;
            }
        }
    }

    /// Whether an ACK after a timeout is neither a duplicate nor the first to SACK something.
    fn decides_nothing(&self, acked: u32, reported: Option<SackBlock>) -> bool {
        let sacks = self.extra.as_ref().is_some_and(|x| x.fresh.iter().any(|s| *s >= self.una));
        !sacks && (acked > 0 || reported.is_some())
    }

    /// The reduction answered no loss: the window is what it was. After a timeout nothing counts as
    /// lost any more; a fast recovery ends unless something still does (with RACK) or goes on to its
    /// end, with the window of before (without).
    ///
    /// Linux ends it in any case, and what is still lost begins another.
    fn undo(&mut self, cfg: &TcpConfig, now: Time) {
        let in_force = self.window_in_force();
        let Some(x) = &mut self.extra else { return };
        // F-RTO may undo a timeout that has no episode: nothing is lost, but the window stays.
        let episode = x.episode.take().filter(|episode| !episode.forbidden);
        let untold = episode.is_none();
        x.undos += 1;
        x.timed_out = None;
        x.rack.look_again();
        x.prr.active = false;
        x.frto = Frto::Off;
        x.frto_new = 0;
        let window = self.control.window();
        if let Some(episode) = episode {
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
                x.rack.forgive();
            }
            self.phase = Phase::Open;
            self.nxt = self.high;
            self.resend_due = false;
            self.inflation = 0;
            self.end_reduction(cfg);
            if untold && cfg.by_rate {
                self.tell_repaired(cfg, now);
            }
        }
        self.note_window(cfg, window, now);
    }
}
