//! Loss recovery: fast retransmit, RFC 6582 and 6675, and what follows a timeout.

use super::TcpConfig;
use super::extra::{FRTO_NEW, Frto};
use super::scoreboard::NextSeg;
use super::sender::{Phase, Sender};
use leafspine_core::{PacketMeta, Time};
use leafspine_schemes::cc::{CongestionControl, Control, Loss, Repair};

/// What a timeout breaks off.
#[derive(Clone, Copy, Debug)]
struct Broken {
    from: Phase,
    /// A mark's reduction was under way (CWR).
    marked: bool,
    /// And part of what was outstanding when it began still is.
    shares: bool,
    /// The segment has timed out before.
    repeated: bool,
}

impl Sender {
    /// [`Sender::poll_send`] in every phase but [`Phase::Open`].
    pub(super) fn poll_recovering(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        out: &mut PacketMeta,
    ) -> bool {
        match self.phase {
            Phase::Opening if self.resend_due => self.emit_syn(cfg, now, out),
            Phase::Answering => self.emit_third_ack(cfg, now, out),
            Phase::Probing => self.emit_probe(cfg, now, out),
            Phase::Recovery | Phase::Loss if cfg.stack.rack => {
                return self.poll_rack(cfg, now, out);
            }
            Phase::Open | Phase::Recovery if self.resend_due => self.resend_first(cfg, now, out),
            Phase::Recovery if cfg.sack => return self.poll_sack(cfg, now, out),
            Phase::Recovery => return self.poll_inflated(cfg, now, out),
            Phase::Loss => return self.poll_loss(cfg, now, out),
            _ => return false,
        }
        true
    }

    /// The retransmission that recovery begins with (RFC 6675 §5 step 4.3, RFC 5681 §3.2 step 3) or
    /// that a partial ACK asks for (RFC 6582 §3.2 step 3), under ns-3 an ACK after it as well: whatever
    /// the window.
    fn resend_first(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) {
        self.resend_due = false;
        if cfg.sack {
            self.board.resent(self.una);
            self.pipe += 1;
            self.count_shared(cfg);
        }
        self.emit_again(cfg, self.una, now, out);
    }

    /// RFC 6675 §5 step C: while the pipe has room for a segment, send the next.
    fn poll_sack(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) -> bool {
        if !self.may_send(cfg) {
            return false;
        }
        let new_data = self.has_new_data(cfg);
        match self.board.next_seg(self.una, self.high, cfg.dupack_threshold, new_data) {
            Some(NextSeg::Resend(segment)) => {
                self.board.resent(segment);
                self.emit_again(cfg, segment, now, out);
            }
            Some(NextSeg::New) => self.emit_new(cfg, now, out),
            Some(NextSeg::Rescue(segment)) => {
                self.board.rescue_sent();
                self.emit_again(cfg, segment, now, out);
            }
            None => return false,
        }
        self.pipe += 1;
        self.count_shared(cfg);
        true
    }

    /// Proportional rate reduction counts what is sent.
    pub(super) fn count_shared(&mut self, cfg: &TcpConfig) {
        if let Some(x) = &mut self.extra {
            x.prr.sent(cfg.mss);
        }
    }

    /// With RACK: what is marked lost, lowest first, then new data (RFC 8985 §6, "the sender can
    /// retransmit in any order"); the first segment of a recovery whatever the window. Linux: one
    /// whose last copy is still in the host's port holds up the others that are lost, and so does a
    /// crowded port (`tcp_xmit_retransmit_queue`).
    fn poll_rack(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) -> bool {
        if let Some(sent) = self.poll_frto(cfg, now, out) {
            return sent;
        }
        let due = std::mem::take(&mut self.resend_due);
        if !due && !self.may_send(cfg) {
            return false;
        }
        let una = self.una;
        let waits = self.extra.as_ref().is_none_or(|x| x.waits);
        let lost = self.extra.as_ref().and_then(|x| x.rack.lost.first_present(una));
        let lost = lost.filter(|_| !waits);
        let timed_out = due && self.phase == Phase::Loss;
        let stuck = lost.is_some_and(|lost| self.lost_waits_for_port(cfg, lost, timed_out, now));
        if timed_out && stuck {
            // The timer sends nothing in its place. It leaves when the driver has reclaimed its last
            // copy: by the window if that has room for it, else whatever the window.
            self.resend_due = !self.may_send(cfg);
            return false;
        }
        if let Some(segment) = lost.filter(|_| !stuck) {
            self.take_lost(segment);
            self.emit_again(cfg, segment, now, out);
        } else if self.has_new_data(cfg) && self.may_send(cfg) && self.new_may_leave(cfg, now) {
            self.emit_new(cfg, now, out);
        } else {
            self.resend_due = stuck && due;
            return false;
        }
        self.pipe += 1;
        self.count_shared(cfg);
        true
    }

    /// A lost segment is about to be sent again.
    fn take_lost(&mut self, segment: u32) {
        let una = self.una;
        let Some(x) = &mut self.extra else { return };
        x.rack.lost.remove(una, segment);
        if let Some(rate) = &mut x.rate {
            rate.resending = true;
        }
    }

    /// What F-RTO has to say of the next segment: new data (RFC 5682 §3.1 step 2b), or none until the
    /// next ACK; `None` if it has nothing to say.
    fn poll_frto(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) -> Option<bool> {
        let left = self.extra.as_ref().filter(|x| x.frto == Frto::Waiting)?.frto_new;
        let goes = left > 0 && self.has_new_data(cfg) && self.new_may_leave(cfg, now);
        if !goes && left < FRTO_NEW {
            return Some(false);
        }
        let x = self.extra.as_mut()?;
        if !goes {
            // Where nothing leaves, what is lost is sent again after all (Linux: `tcp_xmit_recovery`).
            x.frto = Frto::Off;
            x.frto_new = 0;
            return None;
        }
        x.frto_new -= 1;
        let next = std::mem::replace(&mut self.nxt, self.high);
        self.emit_new(cfg, now, out);
        if !cfg.stack.rack {
            self.nxt = next;
        }
        self.pipe += 1;
        Some(true)
    }

    /// Whether there is data never sent, within the receive window.
    pub(super) fn has_new_data(&self, cfg: &TcpConfig) -> bool {
        self.high < self.written(cfg) && (self.high - self.una + 1) * cfg.mss <= cfg.max_cwnd
    }

    /// RFC 6582 §3.2 step 3: new data as the inflated window allows.
    fn poll_inflated(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) -> bool {
        let inflated = i64::from(self.window(cfg)) + i64::from(self.inflation);
        let outstanding = i64::from((self.high - self.una + 1) * cfg.mss);
        if !self.has_new_data(cfg) || outstanding > inflated {
            return false;
        }
        self.emit_new(cfg, now, out);
        self.pipe = self.high - self.una;
        true
    }

    /// After a timeout: from `una` on, what is not known to have arrived, then new data; the
    /// window starts at one segment (RFC 5681 §3.1). RFC 6675 §5.1 leaves the order open and
    /// suggests to fill in what the SACKs say is missing.
    fn poll_loss(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) -> bool {
        if let Some(sent) = self.poll_frto(cfg, now, out) {
            return sent;
        }
        if (self.pipe + 1) * cfg.mss > self.window(cfg) {
            return false;
        }
        if self.nxt < self.high && !self.board.is_empty() {
            self.nxt = self.board.first_missing(self.nxt).min(self.high);
        }
        if self.nxt >= self.recover {
            // What F-RTO has sent since the timeout is under way.
            self.nxt = self.high;
        }
        if self.nxt < self.high {
            self.emit_again(cfg, self.nxt, now, out);
            self.nxt += 1;
        } else if self.has_new_data(cfg) {
            self.emit_new(cfg, now, out);
        } else {
            return false;
        }
        self.pipe += 1;
        true
    }

    /// An ACK that acknowledges nothing new. Returns whether fast retransmit was entered.
    ///
    /// What counts as a duplicate: with SACK, an ACK that reports segments not known before
    /// (RFC 6675 §2); without, any (RFC 5681 §2; the ACKs here never carry data).
    pub(super) fn on_duplicate(&mut self, cfg: &TcpConfig, newly_sacked: u32, now: Time) -> bool {
        if self.una == self.high || (cfg.sack && newly_sacked == 0) {
            return false;
        }
        match self.phase {
            Phase::Open => {
                self.dup_streak += 1;
                let enter = if cfg.sack { self.sack_says_lost(cfg) } else { self.third(cfg) };
                // Without limited transmit, of those that begin a recovery ns-3 counts the last alone.
                if cfg.lingers() && (enter || cfg.limited_transmit) {
                    self.inflate(cfg);
                }
                if enter {
                    self.enter_recovery(cfg, now);
                }
                enter
            }
            Phase::Recovery if !cfg.sack => {
                // RFC 5681 §3.2 step 4: a segment has left the network.
                self.inflate(cfg);
                false
            }
            _ => {
                self.set_pipe(cfg);
                false
            }
        }
    }

    /// RFC 6675 §5 steps 1 and 2. (§5.1, no recovery before all that was outstanding at a timeout is
    /// acknowledged: the phase is [`Phase::Loss`] until then.)
    fn sack_says_lost(&self, cfg: &TcpConfig) -> bool {
        let threshold = cfg.dupack_threshold;
        self.dup_streak >= threshold || self.board.first_is_lost(self.una, threshold)
    }

    /// RFC 6582 §3.2 step 2 and §4: the threshold-th duplicate, and the ACK covers more than
    /// `recover`. Duplicates of `recover` itself may stem from retransmissions that were not needed.
    fn third(&self, cfg: &TcpConfig) -> bool {
        let beyond = cfg.stack.less_careful || self.una > self.recover || self.recover == 0;
        self.dup_streak == cfg.dupack_threshold && beyond
    }

    /// RFC 6675 §5 step 4, RFC 6582 §3.2 step 2.
    pub(super) fn enter_recovery(&mut self, cfg: &TcpConfig, now: Time) {
        // RFC 3168 §6.1.2: one reduction per window, for marks and drops together. DCTCP's marks
        // may have cut next to nothing, so its losses halve all the same (RFC 8257 §3.5).
        let once = !cfg.precise_echo || cfg.stack.one_reduction;
        let window = self.window(cfg);
        // A mark's reduction that is under way goes on.
        let marked = self.is_sharing();
        let lately = if cfg.stack.mark_prr { marked } else { self.una < self.reduced_until };
        let reduced = cfg.ecn && !cfg.by_rate && once && lately;
        let before = self.before_reduction(cfg);
        if !reduced {
            self.reduce(cfg, Loss::Fast, now);
        }
        // Linux: what a mark has reduced is not given back, but losses may turn out to be none (`tcp_enter_recovery`).
        if !reduced || cfg.stack.recovers_as_linux() {
            let echo = self.extra.as_ref().is_some_and(|x| x.echo);
            self.forget_first_again(cfg);
            self.begin_episode(cfg, before);
            if (marked || echo) && cfg.stack.ece_forbids_undo {
                self.forbid_undo();
            }
        }
        if !marked {
            self.begin_share(cfg, window);
        }
        if let Some(x) = &mut self.extra {
            x.probe = None;
        }
        self.phase = Phase::Recovery;
        self.recover = self.high;
        // Linux: what a mark's reduction has sent counts on, so that nothing may leave at once
        // (`tcp_cwnd_reduction`, `prr_out`).
        self.resend_due = !(marked && cfg.stack.recovers_as_linux());
        self.partial_seen = false;
        if !cfg.lingers() {
            self.inflation = (cfg.dupack_threshold * cfg.mss) as i32;
        }
        self.board.begin_recovery(self.una);
        self.set_pipe(cfg);
        self.tell_repair(cfg, Repair::Fast, now);
    }

    /// New data was acknowledged in recovery or after a timeout.
    pub(super) fn on_progress(&mut self, cfg: &TcpConfig, acked: u32, now: Time) {
        if self.una >= self.recover {
            self.leave(cfg, acked, now);
            return;
        }
        if self.phase == Phase::Recovery && !cfg.sack {
            // RFC 6582 §3.2 step 3: a partial ACK. The first hole is retransmitted; the window
            // shrinks by what was acknowledged and grows by the segment that left the network.
            self.resend_due = true;
            self.partial_seen = true;
            self.deflate(cfg, acked);
        }
        self.set_pipe(cfg);
    }

    /// A duplicate tells that a segment has left the network. What lingers is bounded by what can have
    /// left: all that is outstanding but the first.
    fn inflate(&mut self, cfg: &TcpConfig) {
        self.inflation += cfg.mss as i32;
        self.bound_inflation(cfg);
    }

    fn bound_inflation(&mut self, cfg: &TcpConfig) {
        if cfg.lingers() {
            let most = (self.high - self.una).saturating_sub(1).saturating_mul(cfg.mss);
            self.inflation = self.inflation.clamp(0, i32::try_from(most).unwrap_or(i32::MAX));
        }
    }

    /// Of what an ACK covers one segment was missing; the others had been told of by duplicates.
    pub(super) fn deflate(&mut self, cfg: &TcpConfig, acked: u32) {
        self.inflation += (1 - acked as i32) * cfg.mss as i32;
        self.bound_inflation(cfg);
    }

    /// All that was outstanding when the loss was seen is acknowledged.
    fn leave(&mut self, cfg: &TcpConfig, acked: u32, now: Time) {
        if let Some(x) = &mut self.extra {
            // F-RTO may have sent new data that is still under way.
            self.nxt = self.high;
            x.prr.active = false;
            x.frto = Frto::Off;
            x.rack.recovered();
        }
        debug_assert_eq!(self.nxt, self.high);
        if self.phase == Phase::Recovery {
            // RFC 6582 §3.2 step 3, full acknowledgment, option 1, and option 2 where it lingers; with
            // SACK the pipe has kept the window filled and no burst threatens (RFC 6675 §5 step A).
            let limit = if cfg.sack || cfg.lingers() {
                u32::MAX
            } else {
                ((self.high - self.una) * cfg.mss).max(cfg.mss) + cfg.mss
            };
            let window = self.control.window();
            self.control.on_recovered(limit, now);
            self.note_window(cfg, window, now);
        }
        if cfg.by_rate {
            self.tell_repaired(cfg, now);
        }
        self.phase = Phase::Open;
        if cfg.lingers() {
            self.deflate(cfg, acked);
        } else {
            self.inflation = 0;
        }
        self.resend_due = self.inflation > 0;
        self.end_reduction(cfg);
    }

    /// The retransmission timer has fired (RFC 6298 §5.4 to §5.6, RFC 5681 §3.1). SACK information
    /// stays: receivers here never discard what they have reported (RFC 6675 §5.1).
    pub(super) fn enter_loss(&mut self, cfg: &TcpConfig, now: Time) {
        // Linux: it is the first of this segment, whatever the timer has come to (`icsk_retransmits`).
        let repeated = self.extra.as_ref().is_some_and(|x| x.timed_out == Some(self.una));
        let linux = cfg.stack.recovers_as_linux();
        let first = if linux { !repeated } else { !self.rtt.backed_off() };
        self.begin_sample(cfg);
        let before = self.before_reduction(cfg);
        let marked = self.is_sharing();
        let shares = marked && self.una < self.reduced_until;
        let broken = Broken { from: self.phase, marked, shares, repeated };
        // Linux: a recovery that is under way, or a mark's reduction, has reduced the threshold.
        let reducing = broken.from == Phase::Recovery || shares;
        let first = first && !(cfg.stack.whole_windows && reducing);
        self.reduce(cfg, Loss::Timeout { first }, now);
        self.phase = Phase::Loss;
        self.recover = self.high;
        self.nxt = self.una;
        self.inflation = 0;
        self.resend_due = false;
        self.pipe = 0;
        if self.extra.is_some() {
            self.enter_loss_extra(cfg, &broken, before, now);
        }
    }

    /// A timeout's part of what `Stack` may ask for.
    fn enter_loss_extra(
        &mut self,
        cfg: &TcpConfig,
        broken: &Broken,
        before: Option<Control>,
        now: Time,
    ) {
        let at = self.situation(cfg, now);
        let Some(x) = &mut self.extra else { return };
        x.timed_out = Some(self.una);
        x.prr.active = false;
        x.early = None;
        x.wait = None;
        x.waits = false;
        if cfg.stack.rack {
            x.rack.mark_after_timeout(&x.sent, &self.board, &at);
        }
        self.judge_timeout(cfg, broken, before);
        if let Some(x) = &mut self.extra {
            x.probe = None;
        }
        if cfg.stack.rack {
            self.nxt = self.high;
            self.resend_due = true;
            self.tell_lost(cfg, now);
            self.set_pipe(cfg);
            if cfg.stack.whole_windows {
                // Linux: a segment more than what is not yet given up.
                self.control.on_broken_off((self.pipe + 1) * cfg.mss);
            }
            self.tell_repair(cfg, Repair::Timeout, now);
        }
    }

    /// Whether a timeout may turn out to have been in vain, and who looks. A recovery that was
    /// under way is part of the same reduction; F-RTO looks at a timeout, not at one that follows
    /// another (RFC 5682 §2.1 step 1).
    ///
    /// Linux (`tcp_enter_loss`): a timeout after progress is a reduction of its own. One during a
    /// mark's reduction is not, so only F-RTO can find that nothing was lost. F-RTO examines
    /// repeated timeouts of one segment (§3.2), but none that interrupts a fast recovery. With
    /// enough segments SACKed and no reduction under way, the extent of reordering was
    /// overestimated.
    fn judge_timeout(&mut self, cfg: &TcpConfig, broken: &Broken, before: Option<Control>) {
        let Broken { from, marked, shares, repeated } = *broken;
        let linux = cfg.stack.recovers_as_linux();
        let open = from == Phase::Open && !(linux && shares);
        if open || (linux && from == Phase::Loss && !repeated) {
            self.begin_episode(cfg, before);
        }
        let sacked = self.board.sacked();
        let Some(x) = &mut self.extra else { return };
        if linux && from == Phase::Open && !marked {
            x.rack.timed_out(sacked, cfg.dupack_threshold);
        }
        let looks = if linux { from == Phase::Open || repeated } else { from != Phase::Loss };
        let checks = cfg.stack.frto && cfg.sack && looks;
        x.frto = if checks { Frto::Resent } else { Frto::Off };
        x.frto_new = 0;
    }

    /// Counts what is in the network: RFC 6675 §4 `SetPipe`; after a timeout, what has been sent
    /// since and is not known to have arrived.
    pub(super) fn set_pipe(&mut self, cfg: &TcpConfig) {
        if cfg.stack.rack
            && let Some(x) = &self.extra
        {
            // A segment that was sent again counts once: its first copy was given up.
            let gone = self.board.sacked() + x.rack.lost.len();
            self.pipe = self.high - self.una - gone;
            return;
        }
        self.pipe = match self.phase {
            Phase::Recovery if cfg.sack => {
                self.board.pipe(self.una, self.high, cfg.dupack_threshold)
            }
            Phase::Loss => self.nxt - self.una - self.board.count(self.una, self.nxt),
            _ => self.high - self.una,
        };
    }
}
