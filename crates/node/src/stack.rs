//! What TCP does beyond RFC 5681, 6675 and 6298, each a switch of its own.

use leafspine_core::Span;
use leafspine_schemes::cc::SlowStart;

/// How the window shrinks while a fast recovery lasts. Both PRRs need SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// At once: the pipe falls to the new window before anything more is sent (RFC 6675 §5).
    #[default]
    AtOnce,
    /// Proportional rate reduction with the slow-start reduction bound (RFC 6937 §3).
    Prr6937,
    /// Proportional rate reduction, whose bound grows only by ACKs that show no further loss
    /// (RFC 9937 §6).
    Prr9937,
}

/// Whether packets carry RFC 7323's timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Timestamps {
    /// They do, and no header byte is spent on them.
    #[default]
    Free,
    /// They do; `TransportSpec::header` has their 12 bytes.
    Option,
    /// They do not: round trips are measured by Karn's algorithm (RFC 6298 §3), and Eifel has
    /// nothing to go by.
    Off,
}

/// Switches of the sender and the receiver. The default is none: RFC 5681, 6675 and 6298 alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stack {
    /// Lost SYNs (or SYN-ACKs) that leave the initial window as it is; one more makes it one
    /// segment (RFC 5681 §3.1 spares none, Linux one).
    pub syn_losses_spared: u32,
    /// The window decays while nothing is sent (RFC 2861 §3.1, RFC 5681 §4.1).
    pub idle_restart: bool,
    /// Delayed ACKs: segments at the start, from the first that comes in order, and after a
    /// duplicate, that are acknowledged at once.
    pub quick_acks: u32,
    /// An ACK is longer by its SACK blocks (RFC 2018 §3).
    pub sack_bytes: bool,
    /// Timestamps.
    pub timestamps: Timestamps,
    /// How the window shrinks in recovery.
    pub reduction: Reduction,
    /// Loss detection by time (RFC 8985 §6) in place of the duplicate ACK threshold.
    pub rack: bool,
    /// RACK looks at what is late by a timer that ticks once a millisecond and takes so much longer at least (Linux);
    /// `None`: as soon as it is late.
    pub rack_slack: Option<Span>,
    /// Tail loss probes (RFC 8985 §7), two round trips and this long after the last segment.
    pub tlp: Option<Span>,
    /// Receivers report duplicates (RFC 2883).
    pub dsack: bool,
    /// A reduction is undone once all its retransmissions were reported as duplicates (RFC 3708).
    pub undo_dsack: bool,
    /// A reduction is undone if an ACK is older than its retransmission, on a timestamp clock of
    /// this tick (RFC 3522, 4015).
    pub eifel: Option<Span>,
    /// Timeouts are looked at before all is sent again (RFC 5682).
    pub frto: bool,
    /// How slow start ends without a loss.
    pub slow_start: SlowStart,
    /// Packets leave a part of a round trip apart, and not in bursts.
    pub pacing: bool,
    /// Segments that a paced flow may send in one burst, at most; 0 is 1.
    pub pacing_quantum: u32,
    /// Without SACK, duplicates of what a recovery ended with begin another (RFC 2582, the less careful
    /// variant; RFC 6582 §3.2 step 2 has the careful one).
    pub less_careful: bool,
    /// Without SACK, what duplicates say has left the network stays counted when a fast recovery ends
    /// (ns-3 3.37; RFC 6582 §3.2 step 3: the full ACK ends it): until a timeout, or until an ACK covers
    /// it, all that it covers but one. While any is, each ACK of new data has the first outstanding
    /// segment sent again. A recovery leaves the window at the threshold (option 2 of that step).
    /// Without limited transmit, duplicates before the one that begins a recovery count for nothing.
    pub lingering_recovery: bool,
    /// ECE on an ACK of nothing new is not heard (RFC 3168 §6.1.2: any ACK).
    pub ignore_duplicate_ece: bool,
    /// A loss in the window of data that a mark has reduced reduces no more, under DCTCP either
    /// (RFC 3168 §6.1.2; RFC 8257 §3.5 has the loss halve all the same).
    pub one_reduction: bool,
    /// A mark shrinks the window as a recovery does, in proportion to what arrives, and until the round
    /// trip is over it does not grow (Linux).
    pub mark_prr: bool,
    /// Segments leave in trains, and a sender waits until one may be long (Linux's segmentation
    /// offload). The application writes into a send buffer of two windows (three under BBR),
    /// 4,194,304 bytes at most (`tcp_sndbuf_expand`, `tcp_wmem`): no more is outstanding.
    pub gso: bool,
    /// Bytes of options that a SYN or SYN-ACK has beyond other packets' header.
    pub syn_options: u32,
    /// A SYN that is sent again asks for no ECN, and the connection has none (RFC 3168 §6.1.1.1).
    pub ecn_fallback: bool,
    /// Windows are counted as Linux counts them: in whole segments, reduced from themselves to two at least,
    /// CUBIC's on a clock of a millisecond; while a reduction is shared out, from what the last ACK has left.
    pub whole_windows: bool,
    /// Receivers put ACKs off that tell of segments beyond a gap, after the first three (Linux).
    pub comp_sack: bool,
    /// A reduction is undone as Linux does it: each ACK of new data is asked whether it is of an
    /// older transmission than the first retransmission; in the middle of a recovery nothing is
    /// undone while retransmissions are outstanding, and until then such an ACK marks nothing as
    /// lost and sends nothing again. Timeouts are Linux's, too (`tcp_enter_loss`, needs `rack`): a
    /// timeout reduces the threshold again only if no reduction is under way, or after progress
    /// since the last timeout; F-RTO examines timeouts outside fast recoveries and repeated ones of
    /// the same segment; and a retransmission that is lost again ends the recovery from a timeout
    /// and begins a fast recovery.
    pub undo_waits: bool,
    /// Once an ACK of an episode had ECE, its window is not given back (Linux).
    pub ece_forbids_undo: bool,
    /// RACK as Linux has it: its round trip is that of whatever was delivered last, and not of what
    /// was sent last; what is lost is looked for when something was delivered or undone, what was
    /// given up is not given up again before it has been sent again, and old ACKs are read for what
    /// they SACK.
    pub rack_any_rtt: bool,
    /// Under DCTCP every packet is ECN-capable: SYNs, ACKs and what is sent again, too (Linux).
    pub ecn_all: bool,
    /// No more than two trains, or a millisecond's worth (1 MB at most), of a flow wait in its
    /// host's port (Linux's small queues). The sender learns what has left as virtio's driver does
    /// (`virtqueue_enable_cb_delayed`), not at once.
    pub small_queues: bool,
    /// Receivers acknowledge a change of marks under DCTCP, and CWR, at once (Linux).
    pub ack_changes: bool,
    /// Receivers delay no ACK while their window grows (Linux).
    pub growth_acks: bool,
    /// The last segment of a train says that it is (PSH), and is acknowledged at once (Linux).
    pub push_acks: bool,
    /// Timers tick once a millisecond, the longer ones more coarsely; the timeout is the round trip
    /// and its variation, of which `min_rto` is the least; a probe of a lone segment waits for
    /// `min_rto`. Round trips are taken from what is SACKed, too (Linux).
    pub kernel_timers: bool,
}

impl Stack {
    /// Whether recoveries and timeouts are Linux's (`undo_waits`, with RACK).
    pub(crate) fn recovers_as_linux(&self) -> bool {
        self.undo_waits && self.rack
    }

    /// Whether the sender keeps more than RFC 6675 asks for.
    pub(crate) fn keeps_more(&self) -> bool {
        self.idle_restart
            || self.timestamps == Timestamps::Off
            || self.reduction != Reduction::AtOnce
            || self.rack
            || self.pacing
            || self.mark_prr
            || self.whole_windows
            || self.gso
            || self.ecn_fallback
            || self.small_queues
            || self.tlp.is_some()
            || self.undoes()
    }

    /// Whether reductions can be undone.
    pub(crate) fn undoes(&self) -> bool {
        self.undo_dsack || self.eifel.is_some() || self.frto
    }
}
