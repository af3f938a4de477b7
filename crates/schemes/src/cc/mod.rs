//! Congestion control: how large the window is. Loss recovery is the transport's.

mod bbr1;
mod bbr3;
mod cubic;
mod dctcp;
mod hystart;
mod newreno;
mod rate;
mod steps;

use crate::{ParamError, Params, SchemeInfo};
use leafspine_core::{Span, Time};

pub use bbr1::{Bbr1, LinuxBbr1, State as Bbr1State};
pub use bbr3::{Bbr3, State as Bbr3State};
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use hystart::SlowStart;
pub use newreno::NewReno;
pub use rate::{LostSegment, RateControl, RateSample, Repair};

/// What an acknowledgment tells the congestion control.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Bytes newly acknowledged, cumulatively. SACK blocks do not count (RFC 8257 §3.3, step 1).
    /// With [`FlowEnv::whole`] bytes that the ACK delivers, as Linux counts them: what it SACKs
    /// counts, and not again when it is acknowledged.
    pub acked: u32,
    /// Of which bytes whose acknowledgment carried ECE: all or none.
    pub marked: u32,
    /// Bytes in flight before this ACK.
    pub in_flight: u32,
    /// Whether the window, not the application or the peer's receive window, limited the sender.
    pub window_limited: bool,
    /// Whether fast recovery is under way.
    pub in_recovery: bool,
    /// The round-trip sample, if the ACK gave one.
    pub rtt: Option<Span>,
    /// The smoothed round-trip time (RFC 6298), this sample included.
    pub srtt: Span,
    /// The next segment that the receiver expects, and the next that was never sent: what a
    /// control needs to know when a window of data has passed.
    pub una: u32,
    /// See `una`.
    pub nxt: u32,
}

impl AckSample {
    /// Whether a window may grow by this ACK: it was used up (RFC 7661 has the reasons), no fast
    /// recovery is under way (RFC 5681 §3.2), and the ACK has no ECE (RFC 3168 §6.1.2).
    #[inline]
    #[must_use]
    pub fn may_grow(&self) -> bool {
        self.window_limited && !self.in_recovery && self.marked == 0
    }
}

/// Why the window shrinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// Fast retransmit: duplicate ACKs or SACKs say that a segment is gone. Once per recovery.
    Fast,
    /// The retransmission timer fired.
    Timeout {
        /// Whether nothing has been acknowledged since an earlier timeout: the threshold is then
        /// held (RFC 5681 §3.1, below eq. 4).
        first: bool,
    },
    /// ECE, at most once per window of data (RFC 3168 §6.1.2).
    Ecn,
    /// The SYN or the SYN-ACK was lost: the initial window is one segment (RFC 5681 §3.1).
    Handshake,
}

/// What a control asks of its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Receivers echo each mark as it is (RFC 8257 §3.2), rather than until CWR (RFC 3168).
    pub precise_echo: bool,
}

/// A flow's congestion control, all sizes in bytes.
pub trait CongestionControl: Send {
    /// What this control asks for. It does not change during a run.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// An ACK has come that acknowledges new data, or with [`FlowEnv::whole`] SACKs some. Called in recovery, too.
    fn on_ack(&mut self, ack: &AckSample, now: Time);
    /// A loss or a mark. `in_flight` is `FlightSize` (RFC 5681 §2): what is outstanding, at most
    /// the window; with [`FlowEnv::whole`] the window in force, of which Linux reduces.
    fn on_loss(&mut self, loss: Loss, in_flight: u32, now: Time);
    /// The congestion window.
    fn window(&self) -> u32;
    /// The slow-start threshold.
    fn ssthresh(&self) -> u32;
    /// Fast recovery has ended: all that was outstanding at its start is acknowledged. A window
    /// above `limit` would send a burst (RFC 6582 §3.2, step 3).
    fn on_recovered(&mut self, limit: u32, now: Time) {
        let _ = (limit, now);
    }
    /// A reduction that is spread over a round trip ends early, and is not undone: the window is what it had
    /// come to, and the threshold stays.
    fn on_broken_off(&mut self, window: u32) {
        let _ = window;
    }
    /// Nothing was in flight for `timeouts` retransmission timeouts, and data is to be sent again
    /// (RFC 2861 §3.1, RFC 5681 §4.1). `restart` is the initial window. Without this, the window
    /// stays.
    fn on_idle(&mut self, restart: u32, timeouts: u32, now: Time) {
        let _ = (restart, timeouts, now);
    }
    /// The next message of the connection begins: window and estimates stay, and segments are counted
    /// from 0 again.
    fn on_message(&mut self) {}
    /// The control, if it goes by delivery rates and paces. Asked once per run: a control always does or
    /// never.
    fn by_rate(&mut self) -> Option<&mut dyn RateControl> {
        None
    }
}

/// A congestion control from outside this crate.
pub trait CustomControl: CongestionControl + Sync + std::fmt::Debug {
    /// The control as a new flow has it. Called on the prototype, once per flow.
    fn fresh(&self) -> Box<dyn CustomControl>;
}

/// What a control is made from.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnv {
    /// Bytes of payload of a full segment.
    pub mss: u32,
    /// The initial window in bytes.
    pub init_cwnd: u32,
    /// How slow start ends without a loss.
    pub slow_start: SlowStart,
    /// Bytes that a paced flow may send in one burst, at most.
    pub quantum: u32,
    /// Segments leave in trains of up to 64 KB.
    pub gso: bool,
    /// Windows are counted as Linux counts them.
    pub whole: bool,
}

impl FlowEnv {
    /// Segments of `mss` bytes, one of which is the initial window, and nothing beyond the RFCs.
    #[must_use]
    pub fn of_segments(mss: u32) -> FlowEnv {
        FlowEnv {
            mss,
            init_cwnd: mss,
            slow_start: SlowStart::Standard,
            quantum: mss,
            gso: false,
            whole: false,
        }
    }
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

/// Every congestion control here.
pub const ALL: &[Entry] = &[newreno::ENTRY, dctcp::ENTRY, cubic::ENTRY, bbr1::ENTRY, bbr3::ENTRY];

/// A flow's congestion control. The named ones are held in place; others are boxed.
#[derive(Debug)]
pub enum Control {
    /// RFC 5681 and 6582.
    NewReno(NewReno),
    /// RFC 8257.
    Dctcp(Dctcp),
    /// RFC 9438.
    Cubic(Cubic),
    /// BBR, version 1.
    Bbr1(Box<Bbr1>),
    /// The same as Linux has it.
    LinuxBbr1(Box<LinuxBbr1>),
    /// BBR, version 3.
    Bbr3(Box<Bbr3>),
    /// Any other.
    Custom(Box<dyn CustomControl>),
}

impl Clone for Control {
    fn clone(&self) -> Control {
        match self {
            Control::NewReno(control) => Control::NewReno(control.clone()),
            Control::Dctcp(control) => Control::Dctcp(control.clone()),
            Control::Cubic(control) => Control::Cubic(control.clone()),
            Control::Bbr1(control) => Control::Bbr1(control.clone()),
            Control::LinuxBbr1(control) => Control::LinuxBbr1(control.clone()),
            Control::Bbr3(control) => Control::Bbr3(control.clone()),
            Control::Custom(control) => Control::Custom(control.fresh()),
        }
    }

    /// A slot's next flow keeps the memory of the one before.
    fn clone_from(&mut self, source: &Control) {
        match (self, source) {
            (Control::Bbr1(control), Control::Bbr1(source)) => control.clone_from(source),
            (Control::LinuxBbr1(control), Control::LinuxBbr1(source)) => control.clone_from(source),
            (Control::Bbr3(control), Control::Bbr3(source)) => control.clone_from(source),
            (control, source) => *control = source.clone(),
        }
    }
}

macro_rules! dispatch {
    ($self:expr, $control:ident => $call:expr) => {
        match $self {
            Control::NewReno($control) => $call,
            Control::Dctcp($control) => $call,
            Control::Cubic($control) => $call,
            Control::Bbr1($control) => $call,
            Control::LinuxBbr1($control) => $call,
            Control::Bbr3($control) => $call,
            Control::Custom($control) => $call,
        }
    };
}

impl CongestionControl for Control {
    fn needs(&self) -> Needs {
        dispatch!(self, control => control.needs())
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample, now: Time) {
        dispatch!(self, control => control.on_ack(ack, now));
    }

    fn on_loss(&mut self, loss: Loss, in_flight: u32, now: Time) {
        dispatch!(self, control => control.on_loss(loss, in_flight, now));
    }

    #[inline]
    fn window(&self) -> u32 {
        dispatch!(self, control => control.window())
    }

    fn ssthresh(&self) -> u32 {
        dispatch!(self, control => control.ssthresh())
    }

    fn on_recovered(&mut self, limit: u32, now: Time) {
        dispatch!(self, control => control.on_recovered(limit, now));
    }

    fn on_broken_off(&mut self, window: u32) {
        dispatch!(self, control => control.on_broken_off(window));
    }

    fn on_idle(&mut self, restart: u32, timeouts: u32, now: Time) {
        dispatch!(self, control => control.on_idle(restart, timeouts, now));
    }

    fn on_message(&mut self) {
        dispatch!(self, control => control.on_message());
    }

    fn by_rate(&mut self) -> Option<&mut dyn RateControl> {
        dispatch!(self, control => control.by_rate())
    }
}

impl Control {
    /// What [`Control::undo`] may go back to; `None` for a control from outside this crate, whose
    /// reductions stand.
    #[must_use]
    pub fn before_reduction(&self) -> Option<Control> {
        if matches!(self, Control::Custom(_)) { None } else { Some(self.clone()) }
    }

    /// The reduction since `before` answered no loss (RFC 4015 §3.2, RFC 9438 §4.9): window,
    /// threshold and, of CUBIC, the curve are as they were, unless the window has outgrown that. A control
    /// that goes by rates knows itself what it had.
    pub fn undo(&mut self, before: &Control, now: Time) {
        if let Some(rate) = self.by_rate() {
            return rate.on_spurious(now);
        }
        if before.window() < self.window() {
            return;
        }
        match (self, before) {
            (Control::NewReno(control), Control::NewReno(before)) => control.undo(before),
            (Control::Dctcp(control), Control::Dctcp(before)) => control.undo(before),
            (Control::Cubic(control), Control::Cubic(before)) => control.undo(before, now),
            _ => {}
        }
    }
}

#[cfg(test)]
mod bbr_tests;
#[cfg(test)]
mod linux_tests;
#[cfg(test)]
mod tests;
