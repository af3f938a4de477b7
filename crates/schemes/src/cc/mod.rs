//! Congestion control: how large the window is. Loss recovery is the transport's.

use crate::{ParamError, Params, SchemeInfo};
use leafspine_core::{Span, Time};

/// What an acknowledgment tells the congestion control.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Bytes newly acknowledged, cumulatively or by SACK.
    pub acked: u32,
    /// Of which bytes whose acknowledgment carried ECE.
    pub marked: u32,
    /// Bytes in flight before this ACK.
    pub in_flight: u32,
    /// Whether the window, not the application, limited the sender: only then it may grow
    /// (RFC 7661 has the reasons).
    pub window_limited: bool,
    /// Whether fast recovery is under way: the window does not grow by ACKs then.
    pub in_recovery: bool,
    /// The round-trip sample, if the ACK gave one.
    pub rtt: Option<Span>,
    /// The next segment that the receiver expects, and the next that the sender will send: what a
    /// control needs to know when a window of data has passed.
    pub una: u32,
    /// See `una`.
    pub nxt: u32,
}

/// Why the window shrinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// Fast retransmit: duplicate ACKs or SACKs say that a segment is gone. Once per recovery.
    Fast,
    /// The retransmission timer fired. `first` of a series of back-offs.
    Timeout {
        /// Whether this is the first timeout for this segment (RFC 5681 §3.1, eq. 4's last case).
        first: bool,
    },
    /// ECE, at most once per window of data (RFC 3168 §6.1.2).
    Ecn,
}

/// A flow's congestion control, all sizes in bytes.
pub trait CongestionControl: Send {
    /// An ACK has come that acknowledges new data.
    fn on_ack(&mut self, ack: &AckSample, now: Time);
    /// A loss or a mark; `in_flight` bytes were outstanding.
    fn on_loss(&mut self, loss: Loss, in_flight: u32, now: Time);
    /// The congestion window.
    fn window(&self) -> u32;
    /// The slow-start threshold.
    fn ssthresh(&self) -> u32;
    /// Fast recovery has ended: all that was outstanding at its start is acknowledged.
    fn on_recovered(&mut self, now: Time) {
        let _ = now;
    }
    /// Whether receivers echo each mark as it is (RFC 8257 §3.2), rather than until CWR (RFC 3168).
    fn precise_echo(&self) -> bool {
        false
    }
}

/// What a control is made from.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnv {
    /// Bytes of payload of a full segment.
    pub mss: u32,
    /// The initial window in bytes.
    pub init_cwnd: u32,
}

/// Makes the control that every flow starts from; the engine clones it per flow.
pub type Build = fn(&Params, &FlowEnv) -> Result<Control, ParamError>;

/// A congestion control that scenarios can name.
#[derive(Clone, Copy)]
pub struct Entry {
    /// What it is.
    pub info: SchemeInfo,
    /// How it is made.
    pub build: Build,
    /// Whether its data packets are ECN-capable unless the scenario says otherwise.
    pub ecn: bool,
}

/// A flow's congestion control. The named ones are held in place; others are boxed.
#[derive(Clone, Debug)]
pub enum Control {}
