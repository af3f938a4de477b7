//! A sender as Linux's kernel is one, and ACKs by hand. Segments of 1000 bytes; all of a window leave at 0.

use super::pipe::{config, spec};
use crate::spec::{Reduction, Stack, Timestamps, TransportSpec};
use crate::transport::config::stamp;
use crate::transport::extra::Extra;
use crate::transport::{Fired, Sender, TcpConfig};
use leafspine_core::{Flags, PacketMeta, SackBlock, Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::cc::CongestionControl;

pub(super) fn us(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

pub(super) fn kernel() -> Stack {
    Stack {
        mark_prr: true,
        whole_windows: true,
        reduction: Reduction::Prr9937,
        rack: true,
        rack_any_rtt: true,
        timestamps: Timestamps::Option,
        eifel: Some(Span::from_micros(1)),
        undo_dsack: true,
        undo_waits: true,
        ece_forbids_undo: true,
        ..Stack::default()
    }
}

/// First segments of what is SACKed, and those after the last.
type Blocks<'a> = &'a [(u32, u32)];

/// A sender with its first window under way.
pub(super) struct Flow {
    pub(super) cfg: TcpConfig,
    pub(super) sender: Sender,
    /// Whether one of those that left last carried CWR.
    pub(super) cwr: bool,
    /// When what is sent from now on will have left the host's port; `None`: it is told nothing.
    pub(super) leaves: Option<Time>,
}

impl Flow {
    pub(super) fn of(spec: &TransportSpec, segments: u64) -> Flow {
        let cfg = config(spec);
        let mut sender = Sender::new();
        sender.reset(&cfg, segments * 1000);
        sender.open(&cfg, us(0));
        let mut flow = Flow { cfg, sender, cwr: false, leaves: None };
        flow.leaving(us(0));
        flow
    }

    /// With ECN and a window of so many segments.
    pub(super) fn begun(scheme: &str, window: u32, stack: Stack) -> Flow {
        let init_cwnd = Amount::Packets(window);
        Flow::of(&TransportSpec { init_cwnd, ecn: Some(true), stack, ..spec(scheme) }, 1000)
    }

    /// What a sender keeps whose stack is not the plain one.
    pub(super) fn extra(&self) -> &Extra {
        self.sender.extra.as_ref().unwrap()
    }

    pub(super) fn leaving(&mut self, now: Time) -> Vec<u32> {
        let mut packet = PacketMeta::default();
        let mut sent = Vec::new();
        self.cwr = false;
        while self.sender.poll_send(&self.cfg, now, &mut packet) {
            self.cwr |= packet.flags.has(Flags::CWR);
            if let Some(until) = self.leaves {
                self.sender.note_packet(&packet, until, now);
            }
            sent.push(packet.seq);
        }
        sent
    }

    /// An ACK of what was sent at 0, at so many microseconds, which SACKs these segments. Gives the
    /// segments that it lets go.
    pub(super) fn ack(&mut self, at: u64, una: u32, sacked: Blocks, flags: Flags) -> Vec<u32> {
        self.ack_of(0, at, una, sacked, flags)
    }

    /// The same of what was sent at `sent`.
    pub(super) fn ack_of(
        &mut self,
        sent: u64,
        at: u64,
        una: u32,
        sacked: Blocks,
        flags: Flags,
    ) -> Vec<u32> {
        self.comes(sent, at, una, sacked, flags);
        self.leaving(us(at))
    }

    /// The same, and nothing leaves.
    pub(super) fn comes(&mut self, sent: u64, at: u64, una: u32, sacked: Blocks, flags: Flags) {
        let mut sack = [SackBlock::default(); 3];
        for (block, (start, end)) in sack.iter_mut().zip(sacked) {
            *block = SackBlock { start: *start, end: *end };
        }
        let flags = Flags::ACK.with(flags);
        let packet = PacketMeta {
            seq: una,
            stamp: stamp(us(sent)),
            size: 40,
            flags,
            sack,
            ..PacketMeta::default()
        };
        self.sender.on_packet(&self.cfg, &packet, us(at));
    }

    /// Window and threshold, in segments.
    pub(super) fn window(&self) -> (u32, u32) {
        let control = self.sender.control();
        (control.window() / 1000, control.ssthresh() / 1000)
    }

    /// The retransmission timer fires.
    pub(super) fn time_out(&mut self) {
        while self.sender.on_timer(&self.cfg, self.sender.deadline()) != Fired::Timeout {}
    }
}

pub(super) const NONE: Flags = Flags::ACK;
