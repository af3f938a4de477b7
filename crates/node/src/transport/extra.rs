//! What a sender keeps for the switches of [`Stack`](crate::spec::Stack): in one block of memory, so
//! that a sender without them is no larger.

use super::backlog::Backlog;
use super::prr::Prr;
use super::rack::{Rack, Sent};
use super::rate::Rate;
use super::send_buffer::SendBuffer;
use super::train::Train;
use leafspine_core::{Span, Time};
use leafspine_schemes::cc::Control;

/// Why the sender wants to be called before its retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Early {
    /// What is late counts as lost then (RFC 8985 §6.2 step 5).
    Reorder,
    /// A tail loss probe (§7.3).
    Probe,
}

/// A tail loss probe under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Probe {
    /// `TLP.end_seq`.
    pub(super) end: u32,
    /// `TLP.is_retrans`.
    pub(super) again: bool,
}

/// New segments that F-RTO sends in place of old ones (RFC 5682 §3.1 step 2b).
pub(super) const FRTO_NEW: u32 = 2;

/// How far F-RTO is with a timeout (RFC 5682 §2.1, §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frto {
    /// It has decided, or was not asked.
    Off,
    /// Step 2: the first segment has been sent again.
    Resent,
    /// Step 3: new data has been sent after an ACK.
    Waiting,
    /// The same, and another ACK has decided nothing: what is lost may be sent again (Linux).
    Sent,
}

/// The timestamp of the first retransmission, which ACKs are held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FirstAgain {
    /// Nothing has been sent again.
    NotYet,
    /// In units of the timestamp clock (65,536 ps).
    At(u32),
    /// The one ACK that is checked has been.
    Checked,
}

/// The reduction that may turn out to have answered no loss.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    /// What was acknowledged by then: D-SACKs of it say nothing of the reduction.
    pub(super) from: u32,
    /// Retransmissions of which no D-SACK has reported.
    pub(super) unreported: u32,
    /// The control before the reduction.
    pub(super) before: Control,
    /// The window is not given back: it was also reduced for a mark (`ece_forbids_undo`).
    pub(super) forbidden: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Extra {
    pub(super) sent: Sent,
    pub(super) rack: Rack,
    pub(super) prr: Prr,
    pub(super) frto: Frto,
    /// New segments that F-RTO may still send.
    pub(super) frto_new: u32,
    pub(super) early: Option<(Time, Early)>,
    /// How long what is late may still take, if something is.
    pub(super) wait: Option<Span>,
    /// Nothing new has come to look for losses by, and what is waited for is the same.
    pub(super) keeps_wait: bool,
    /// When the retransmission timer fires; the sender's deadline is this or the early one.
    pub(super) rto_at: Time,
    pub(super) probe: Option<Probe>,
    /// Pacing: when the next packet may leave.
    pub(super) free_at: Time,
    /// Whether one waits for that.
    pub(super) held: bool,
    /// When the burst under way began, and what may still leave with it, in bytes.
    pub(super) burst_at: Time,
    pub(super) burst_left: u32,
    /// Segments of data that have been sent, those sent again among them (`data_segs_out`).
    pub(super) data_out: u32,
    /// Of a control that goes by delivery rates.
    pub(super) rate: Option<Box<Rate>>,
    /// The most that was in flight since what was outstanding then was acknowledged, in bytes.
    pub(super) most_in_flight: u32,
    /// What was outstanding then.
    pub(super) most_until: u32,
    pub(super) episode: Option<Episode>,
    pub(super) first_again: FirstAgain,
    /// The ACK in hand has ECE.
    pub(super) echo: bool,
    /// The ACK in hand is of an older transmission than the first retransmission, and others are
    /// outstanding: nothing is marked as lost or sent again (`recovers_as_linux`).
    pub(super) waits: bool,
    /// The first segment that was outstanding at the last timeout.
    pub(super) timed_out: Option<u32>,
    /// When data was last sent.
    pub(super) last_sent: Option<Time>,
    /// One past the highest segment that was sent again: Karn's algorithm takes samples beyond it.
    pub(super) resent_below: u32,
    /// Without RACK: what counted as lost at the last ACK.
    pub(super) lost_below: u32,
    /// Segments that the ACK in hand delivers, in the order of their numbers.
    pub(super) fresh: Vec<u32>,
    /// Segments that the ACK in hand reports to have come twice (`whole_windows`).
    pub(super) twice: u32,
    /// A mark's reduction is under way (`mark_prr`).
    pub(super) marked: bool,
    /// Trains of segments.
    pub(super) train: Train,
    /// What the application has written.
    pub(super) buffer: SendBuffer,
    /// Bytes that leave in a millisecond at the rate that the last ACK has left, if one has come.
    pub(super) in_a_millisecond: Option<u64>,
    /// What is in the host's port (`small_queues`).
    pub(super) backlog: Backlog,
    /// The connection has no ECN: the SYN that asked for it was lost.
    pub(super) no_ecn: bool,
    /// Reductions that were undone.
    pub(super) undos: u32,
    /// Tail loss probes that were sent.
    pub(super) probes: u32,
}

impl Default for Extra {
    fn default() -> Extra {
        Extra {
            sent: Sent::default(),
            rack: Rack::default(),
            prr: Prr::default(),
            frto: Frto::Off,
            frto_new: 0,
            early: None,
            wait: None,
            keeps_wait: false,
            rto_at: Time::MAX,
            probe: None,
            free_at: Time::ZERO,
            held: false,
            burst_at: Time::ZERO,
            burst_left: 0,
            data_out: 0,
            rate: None,
            most_in_flight: 0,
            most_until: 0,
            episode: None,
            first_again: FirstAgain::NotYet,
            echo: false,
            waits: false,
            timed_out: None,
            last_sent: None,
            resent_below: 0,
            lost_below: 0,
            fresh: Vec::new(),
            twice: 0,
            marked: false,
            train: Train::default(),
            buffer: SendBuffer::default(),
            in_a_millisecond: None,
            backlog: Backlog::default(),
            no_ecn: false,
            undos: 0,
            probes: 0,
        }
    }
}

impl Extra {
    /// Makes this another flow's, and keeps the heap memory.
    pub(super) fn reset(&mut self) {
        let (sent, mut rack) = (std::mem::take(&mut self.sent), std::mem::take(&mut self.rack));
        let mut fresh = std::mem::take(&mut self.fresh);
        let mut rate = self.rate.take();
        if let Some(rate) = &mut rate {
            rate.reset();
        }
        let mut backlog = std::mem::take(&mut self.backlog);
        let mut buffer = std::mem::take(&mut self.buffer);
        rack.reset();
        fresh.clear();
        backlog.reset();
        buffer.reset();
        *self = Extra { sent, rack, fresh, rate, buffer, backlog, ..Extra::default() };
    }

    /// The earliest of the timers.
    pub(super) fn deadline(&self) -> Time {
        let deadline = self.early.map_or(self.rto_at, |(at, _)| at.min(self.rto_at));
        let deadline = self.backlog.until().map_or(deadline, |at| at.min(deadline));
        if self.held { deadline.min(self.free_at) } else { deadline }
    }
}
