//! Loss recovery: fast retransmit, RFC 6582 and 6675, and what follows a timeout.

use super::TcpConfig;
use super::scoreboard::NextSeg;
use super::sender::{Phase, Sender};
use leafspine_core::{PacketMeta, Time};
use leafspine_schemes::cc::{CongestionControl, Loss};

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
            Phase::Recovery if self.resend_due => self.resend_first(cfg, now, out),
            Phase::Recovery if cfg.sack => return self.poll_sack(cfg, now, out),
            Phase::Recovery => return self.poll_inflated(cfg, now, out),
            Phase::Loss => return self.poll_loss(cfg, now, out),
            _ => return false,
        }
        true
    }

    /// The retransmission that recovery begins with (RFC 6675 §5 step 4.3, RFC 5681 §3.2 step 3) or
    /// that a partial ACK asks for (RFC 6582 §3.2 step 3): whatever the window.
    fn resend_first(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) {
        self.resend_due = false;
        if cfg.sack {
            self.board.resent(self.una);
            self.pipe += 1;
        }
        self.emit_again(cfg, self.una, now, out);
    }

    /// RFC 6675 §5 step C: while the pipe has room for a segment, send the next.
    fn poll_sack(&mut self, cfg: &TcpConfig, now: Time, out: &mut PacketMeta) -> bool {
        if (self.pipe + 1) * cfg.mss > self.window(cfg) {
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
        true
    }

    /// Whether there is data never sent, within the receive window.
    fn has_new_data(&self, cfg: &TcpConfig) -> bool {
        self.high < self.total && (self.high - self.una + 1) * cfg.mss <= cfg.max_cwnd
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
        if (self.pipe + 1) * cfg.mss > self.window(cfg) {
            return false;
        }
        if self.nxt < self.high && !self.board.is_empty() {
            self.nxt = self.board.first_missing(self.nxt).min(self.high);
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
                if enter {
                    self.enter_recovery(cfg, now);
                }
                enter
            }
            Phase::Recovery if !cfg.sack => {
                // RFC 5681 §3.2 step 4: a segment has left the network.
                self.inflation += cfg.mss as i32;
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
        self.dup_streak == cfg.dupack_threshold && (self.una > self.recover || self.recover == 0)
    }

    /// RFC 6675 §5 step 4, RFC 6582 §3.2 step 2.
    fn enter_recovery(&mut self, cfg: &TcpConfig, now: Time) {
        // RFC 3168 §6.1.2: one reduction per window, for marks and drops together. DCTCP's marks
        // may have cut next to nothing, so its losses halve all the same (RFC 8257 §3.5).
        let reduced = cfg.ecn && !cfg.precise_echo && self.una < self.reduced_until;
        if !reduced {
            self.reduce(cfg, Loss::Fast, now);
        }
        self.phase = Phase::Recovery;
        self.recover = self.high;
        self.resend_due = true;
        self.partial_seen = false;
        self.inflation = (cfg.dupack_threshold * cfg.mss) as i32;
        self.board.begin_recovery(self.una);
        self.set_pipe(cfg);
    }

    /// New data was acknowledged in recovery or after a timeout.
    pub(super) fn on_progress(&mut self, cfg: &TcpConfig, acked: u32, now: Time) {
        if self.una >= self.recover {
            self.leave(cfg, now);
            return;
        }
        if self.phase == Phase::Recovery && !cfg.sack {
            // RFC 6582 §3.2 step 3: a partial ACK. The first hole is retransmitted; the window
            // shrinks by what was acknowledged and grows by the segment that left the network.
            self.resend_due = true;
            self.partial_seen = true;
            self.inflation += (1 - acked as i32) * cfg.mss as i32;
        }
        self.set_pipe(cfg);
    }

    /// All that was outstanding when the loss was seen is acknowledged.
    fn leave(&mut self, cfg: &TcpConfig, now: Time) {
        debug_assert_eq!(self.nxt, self.high);
        if self.phase == Phase::Recovery {
            // RFC 6582 §3.2 step 3, full acknowledgment, option 1; with SACK the pipe has kept the
            // window filled and no burst threatens (RFC 6675 §5 step A).
            let limit = if cfg.sack {
                u32::MAX
            } else {
                ((self.high - self.una) * cfg.mss).max(cfg.mss) + cfg.mss
            };
            let window = self.control.window();
            self.control.on_recovered(limit, now);
            self.note_window(cfg, window, now);
        }
        self.phase = Phase::Open;
        self.resend_due = false;
        self.inflation = 0;
    }

    /// The retransmission timer has fired (RFC 6298 §5.4 to §5.6, RFC 5681 §3.1). SACK information
    /// stays: receivers here never discard what they have reported (RFC 6675 §5.1).
    pub(super) fn enter_loss(&mut self, cfg: &TcpConfig, now: Time) {
        let first = !self.rtt.backed_off();
        self.reduce(cfg, Loss::Timeout { first }, now);
        self.phase = Phase::Loss;
        self.recover = self.high;
        self.nxt = self.una;
        self.inflation = 0;
        self.resend_due = false;
        self.pipe = 0;
    }

    /// Counts what is in the network: RFC 6675 §4 `SetPipe`; after a timeout, what has been sent
    /// since and is not known to have arrived.
    fn set_pipe(&mut self, cfg: &TcpConfig) {
        self.pipe = match self.phase {
            Phase::Recovery if cfg.sack => {
                self.board.pipe(self.una, self.high, cfg.dupack_threshold)
            }
            Phase::Loss => self.nxt - self.una - self.board.count(self.una, self.nxt),
            _ => self.high - self.una,
        };
    }
}
