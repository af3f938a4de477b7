//! TCP as a pure protocol: no clock, no events, no queue.
//!
//! A [`Sender`] and a [`Receiver`] are state machines that are handed packets and the time and
//! answer with packets; what lies between them is the caller's. Both keep their heap memory when
//! they are [reset](Sender::reset) for another flow, so that nothing is allocated per flow, let
//! alone per packet, once the largest window has been seen.
//!
//! The caller's part:
//! - after [`Sender::open`], [`Sender::on_packet`] and [`Sender::on_timer`], call
//!   [`Sender::poll_send`] until it returns `false`;
//! - keep one timer per machine for its `deadline`, which may move later without notice: a timer
//!   that fires early is ignored;
//! - fill in what is not TCP's: five-tuple, flow slot, path, class, tag and scheme header. TCP
//!   writes `seq`, `stamp`, `size`, `payload`, `flags`, `ecn`, `notes` and `sack`.
//!
//! What is TCP here always: RFC 9293's handshake, RFC 5681 and 6582 (NewReno), 3042 (limited transmit),
//! 2018 and 6675 (SACK), 6298 (timeout), 7323 (timestamps), 3168 (ECN), 8257 (DCTCP's echo), and
//! delayed ACKs. Congestion control is [`leafspine_schemes::cc`].
//!
//! What is TCP here by a switch of [`Stack`](crate::spec::Stack): RFC 8985 (RACK-TLP), 6937 and
//! 9937 (proportional rate reduction), 2883 (D-SACK) and what undoes a reduction, 3708, 3522 with
//! 4015 (Eifel) and 5682 (F-RTO), 2861 (the window after a pause), quick acknowledgments, and what
//! Linux does besides. A sender that uses one has an `Extra`, and `acks.rs` takes its ACKs. So has
//! one whose control goes by delivery rates: `rate.rs` measures them.
//!
//! What is not: connection teardown (the last segment carries FIN, and its acknowledgment ends the
//! flow), data in both directions, window scaling as such (the receive window is a bound on the
//! window, given in the scenario), ECN negotiation (both ends agree), path MTU discovery, Nagle.

mod acks;
mod assembly;
mod backlog;
mod compress;
mod config;
mod extra;
mod growth;
mod probe;
mod prr;
mod rack;
mod rate;
mod receiver;
mod recovery;
mod reducing;
mod report;
mod rtt;
mod scoreboard;
mod segments;
mod send_buffer;
mod sender;
mod ticks;
mod train;
mod undo;

pub(crate) use assembly::Assembly;
pub use config::{LONGEST_ROUND_TRIP, TcpConfig};
pub(crate) use config::{since_stamp, stamp};
pub use receiver::{Received, Receiver};
pub(crate) use segments::SegmentSet;
pub(crate) use sender::Carried;
pub use sender::{AckOutcome, Fired, Sender};

#[cfg(test)]
mod tests;
