//! The receiving side of a flow.

use super::compress::Compressed;
use super::growth::SHORT;
use super::ticks::fires;
use super::{Assembly, TcpConfig};
use leafspine_core::{Ecn, Flags, PacketMeta, SackBlock, Time};

/// What a packet did at the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Received {
    /// Whether `reply` is to be sent.
    pub reply: bool,
    /// Whether the last byte that was missing has come: true once in a flow.
    pub complete_now: bool,
    /// Bytes that this packet let the application have, in order.
    pub delivered: u32,
    /// Whether the segment had come before.
    pub duplicate: bool,
    /// Whether the packet is reordered: overtaken by one that was sent later (RFC 4737 §3). A
    /// retransmission is not.
    pub reordered: bool,
    /// RoCE: whether a congestion notification is to be sent.
    pub notify: bool,
}

/// Quick acknowledgments after the first mark, under RFC 3168's echo and DCTCP's alike.
const QUICK_AFTER_MARK: u32 = 2;

/// Bytes of the SACK option, padded (RFC 2018 §3): none without a block.
#[inline]
fn option_bytes(blocks: &[SackBlock; 3]) -> u16 {
    let held = blocks.iter().filter(|block| block.end > block.start).count() as u16;
    if held == 0 { 0 } else { 4 + 8 * held }
}

/// A flow's receiving side, two cache lines. It learns the flow's length from the last segment's
/// FIN.
#[derive(Debug)]
#[repr(align(64))]
pub struct Receiver {
    /// What has come.
    pub(crate) assembly: Assembly,
    /// `Last.ACK.sent` (RFC 7323 §4.3).
    last_ack: u32,
    /// `TS.Recent` (RFC 7323 §4.3).
    recent_stamp: u32,
    /// RFC 3168: ECE until CWR. Precise echo: `DCTCP.CE` (RFC 8257 §3.2).
    echo: bool,
    /// A segment waits for its ACK.
    ack_pending: bool,
    /// ACKs that are not delayed though they could be, and whether the first of them have been granted.
    pub(super) quick: u32,
    begun: bool,
    /// One past the duplicate segment that the next ACK reports (RFC 2883); 0: none.
    duplicate: u32,
    pub(super) deadline: Time,
    /// Runs of held segments, the most recently reported first (RFC 2018 §4).
    pub(super) blocks: [SackBlock; 3],
    marks: u32,
    /// ACKs of what is beyond a gap, and how the window grows, with the switches for that.
    pub(super) compressed: Option<Box<Compressed>>,
    /// A SYN has come, and the first one asked for ECN (RFC 3168 §6.1.1).
    opened: bool,
    ecn_setup: bool,
    /// Of what comes in order, the next ACK is not delayed: the marks have changed, or CWR has come.
    news: bool,
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver::new()
    }
}

impl Receiver {
    /// A receiver of a new flow.
    #[must_use]
    pub fn new() -> Receiver {
        Receiver {
            assembly: Assembly::default(),
            last_ack: 0,
            recent_stamp: 0,
            echo: false,
            ack_pending: false,
            quick: 0,
            begun: false,
            duplicate: 0,
            deadline: Time::MAX,
            blocks: [SackBlock::default(); 3],
            marks: 0,
            compressed: None,
            opened: false,
            ecn_setup: false,
            news: false,
        }
    }

    /// Makes this the receiver of another flow, and keeps the heap memory.
    pub fn reset(&mut self) {
        let mut assembly = std::mem::take(&mut self.assembly);
        assembly.reset();
        let mut compressed = self.compressed.take();
        if let Some(compressed) = &mut compressed {
            **compressed = Compressed::default();
        }
        *self = Receiver { assembly, compressed, ..Receiver::new() };
    }

    /// A SYN or a data packet has come. `reply` is written only if it is to be sent.
    #[inline]
    pub fn on_packet(
        &mut self,
        cfg: &TcpConfig,
        p: &PacketMeta,
        now: Time,
        reply: &mut PacketMeta,
    ) -> Received {
        if cfg.stack.comp_sack || cfg.stack.growth_acks {
            self.compressed.get_or_insert_default().heard(p, now);
        }
        if p.flags.has(Flags::SYN) {
            return self.on_syn(cfg, p, reply);
        }
        if !p.is_data() {
            return Received::default();
        }
        if !self.begun && p.seq == self.assembly.expected() {
            self.quicken(cfg, cfg.stack.quick_acks);
        }
        if cfg.stack.growth_acks {
            self.note_growth(cfg, p.seq, now);
        }
        let answered = self.must_tell(p.seq);
        if answered {
            self.write_ack(cfg, reply);
            self.deadline = Time::MAX;
        }
        let flushed = self.note_ecn(cfg, p, reply) | answered;
        let mut seen = Received::default();
        let at_once = self.take(cfg, p, &mut seen) | std::mem::take(&mut self.news);
        if seen.delivered > 0
            && cfg.stack.growth_acks
            && let Some(compressed) = &mut self.compressed
        {
            let echoed = compressed.echoed_by(p, now);
            let (delivered, limit) = (self.assembly.delivered(), u64::from(cfg.max_cwnd));
            compressed.growth.measure(delivered, echoed, now);
            compressed.growth.read(delivered, limit, now);
        }
        if answered {
            // Linux: with that one no ACK is due any more (`tcp_event_ack_sent`), though it does
            // not tell of this segment.
            seen.reply = true;
            return seen;
        }
        if !flushed && self.compresses(cfg, seen.duplicate, seen.delivered, now) {
            return seen;
        }
        seen.reply = self.acknowledge(cfg, now, at_once, flushed, reply);
        seen
    }

    /// A segment has come with which the window may grow: then the next ACK is not delayed (Linux: `quick |= 1`).
    fn note_growth(&mut self, cfg: &TcpConfig, segment: u32, now: Time) {
        if self.assembly.has(segment) {
            return;
        }
        let in_order = segment == self.assembly.expected();
        let joins = !in_order && self.assembly.has(segment - 1);
        let Some(compressed) = &mut self.compressed else { return };
        let growth = &mut compressed.growth;
        if growth.is_unused() {
            growth.begin(cfg.mss, now);
        }
        // Linux: what is beyond a gap is kept with SACK alone, and short segments say nothing.
        if (in_order && cfg.mss < SHORT) || (!in_order && !cfg.sack) {
            return;
        }
        let taken = growth.taken(self.assembly.held(), in_order, joins);
        if growth.comes(u64::from(cfg.max_cwnd), taken) {
            self.quick |= 1;
        }
    }

    /// RFC 9293 §3.10.7.2. There is no timer for the SYN-ACK: if it is lost, the sender's SYN comes
    /// again.
    fn on_syn(&mut self, cfg: &TcpConfig, p: &PacketMeta, reply: &mut PacketMeta) -> Received {
        self.note_stamp(p);
        if !self.opened {
            (self.opened, self.ecn_setup) = (true, p.flags.has(Flags::ECE));
        }
        self.write_ack(cfg, reply);
        reply.size += cfg.stack.syn_options as u16;
        reply.flags = Flags::SYN.with(Flags::ACK);
        if self.ecn_setup {
            reply.flags = reply.flags.with(Flags::ECE);
        }
        Received { reply: true, ..Received::default() }
    }

    /// Marks and CWR. Returns whether `reply` now is an ACK of what came before this packet.
    #[inline]
    fn note_ecn(&mut self, cfg: &TcpConfig, p: &PacketMeta, reply: &mut PacketMeta) -> bool {
        let marked = p.ecn == Ecn::Congested;
        self.marks += u32::from(marked);
        // Under DCTCP Linux has reported the mark by then.
        let tells = cfg.stack.ack_changes;
        if marked && !self.echo && !(tells && cfg.precise_echo) {
            self.quicken(cfg, QUICK_AFTER_MARK);
        }
        self.news = tells && (p.flags.has(Flags::CWR) || cfg.precise_echo && marked != self.echo);
        if !cfg.precise_echo {
            // RFC 3168 §6.1.3: ECE from the first mark until CWR; a mark on the packet that
            // carries CWR begins anew.
            self.echo = marked || (self.echo && !p.flags.has(Flags::CWR));
            return false;
        }
        if marked == self.echo {
            return false;
        }
        // RFC 8257 §3.2: the mark changes, so an ACK that was put off leaves with the old one.
        let flush = self.ack_pending;
        if flush {
            self.write_ack(cfg, reply);
        }
        self.echo = marked;
        flush
    }

    /// Takes the segment. Returns whether it is to be acknowledged at once.
    #[inline]
    fn take(&mut self, cfg: &TcpConfig, p: &PacketMeta, seen: &mut Received) -> bool {
        let segment = p.seq;
        self.note_stamp(p);
        seen.reordered = self.assembly.note(p);
        if segment != self.assembly.expected() {
            seen.duplicate = !self.hold(segment);
            self.assembly.count_duplicate(seen.duplicate);
            if seen.duplicate {
                self.duplicate = if cfg.stack.dsack { segment + 1 } else { 0 };
                self.quicken(cfg, cfg.stack.quick_acks);
            }
            return true;
        }
        let fills_gap = self.assembly.has_gap();
        (seen.delivered, seen.complete_now) = self.assembly.take(cfg.mss);
        if fills_gap {
            self.forget_blocks();
        }
        // RFC 5681 §4.2: a segment that fills a gap is acknowledged at once. So is the last one:
        // the application closes, and its FIN would carry the ACK.
        let pushed = cfg.stack.push_acks && p.notes & PacketMeta::PUSH != 0;
        fills_gap || seen.complete_now || pushed
    }

    /// No block is reported that is in order now.
    fn forget_blocks(&mut self) {
        let next = self.assembly.expected();
        for i in (0..3).rev() {
            if self.blocks[i].end <= next {
                self.blocks[i..].rotate_left(1);
                self.blocks[2] = SackBlock::default();
            }
        }
    }

    /// Holds a segment that is not the one expected. Returns whether it is new.
    fn hold(&mut self, segment: u32) -> bool {
        if segment < self.assembly.expected() {
            return false;
        }
        let new = self.assembly.hold(segment);
        // RFC 2018 §4: the first block is the one with the segment that triggered the ACK; then
        // those most recently reported that are not part of it.
        let newest = self.blocks[0];
        let grows = newest.start < segment && newest.end == segment;
        let (start, end) = self.assembly.run(segment, grows.then_some(newest.start));
        let block = SackBlock { start, end };
        let old = self.blocks;
        self.blocks = [block, SackBlock::default(), SackBlock::default()];
        let mut place = 1;
        for kept in old {
            let part = kept.start >= block.start && kept.end <= block.end;
            if place < 3 && kept.end > kept.start && !part {
                self.blocks[place] = kept;
                place += 1;
            }
        }
        new
    }

    /// RFC 7323 §4.3 step 2: the stamp to echo is that of the last segment that does not lie
    /// beyond what has been acknowledged: of two that share a delayed ACK, the first.
    #[inline]
    fn note_stamp(&mut self, p: &PacketMeta) {
        let newer = p.stamp.wrapping_sub(self.recent_stamp) as i32 >= 0;
        if p.seq <= self.last_ack && (newer || self.assembly.is_new()) {
            self.recent_stamp = p.stamp;
        }
    }

    /// RFC 5681 §4.2: at once, or with every second segment, or when the timer fires. If `flushed`,
    /// `reply` is taken, and an ACK for this packet that may not wait goes by a timer due now.
    #[inline]
    fn acknowledge(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        at_once: bool,
        flushed: bool,
        reply: &mut PacketMeta,
    ) -> bool {
        if let Some(delay) = cfg.delayed_ack
            && (flushed || (!at_once && !self.ack_pending && !self.is_quick()))
        {
            self.ack_pending = true;
            self.deadline = if at_once { now } else { fires(cfg, delay, now) };
            return flushed;
        }
        self.ack_pending = false;
        self.deadline = Time::MAX;
        self.begun |= self.quick == 1;
        self.quick = self.quick.saturating_sub(1);
        self.write_ack(cfg, reply);
        true
    }

    /// Whether an ACK that could be delayed is not, because few have been sent: the sender may be in slow
    /// start, or short of news (Linux's quick acknowledgments).
    #[inline]
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0
    }

    /// The next `count` ACKs, of as many as there are at the start, are not delayed. At the start:
    /// with the first segment that comes in order, unless others have been granted before, for a
    /// mark or for one out of order with which the window could grow (Linux: `tcp_event_data_recv`
    /// looks for `ato`, which `tcp_dec_quickack_mode` may have set).
    fn quicken(&mut self, cfg: &TcpConfig, count: u32) {
        self.begun = true;
        self.quick = self.quick.max(count.min(cfg.stack.quick_acks));
    }

    /// A pure ACK of all that has come. Not ECN-capable (RFC 3168 §6.1.4).
    #[inline]
    fn write_ack(&mut self, cfg: &TcpConfig, reply: &mut PacketMeta) {
        reply.seq = self.assembly.expected();
        reply.stamp = self.recent_stamp;
        reply.size = cfg.header as u16;
        reply.payload = 0;
        reply.flags = if self.echo && cfg.ecn { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
        reply.ecn = cfg.other_ecn(!cfg.stack.ecn_fallback || self.ecn_setup);
        reply.notes = 0;
        reply.sack = if cfg.sack { self.blocks } else { [SackBlock::default(); 3] };
        if self.duplicate > 0 {
            self.report_duplicate(cfg, reply);
        }
        if cfg.stack.sack_bytes {
            reply.size += option_bytes(&reply.sack);
        }
        self.last_ack = self.assembly.expected();
        if let Some(compressed) = &mut self.compressed {
            compressed.sent();
        }
    }

    /// RFC 2883 §4: the first block is the duplicate, once; the block that it is part of, if it is
    /// beyond the cumulative ACK, is the second (it is the one most recently reported).
    fn report_duplicate(&mut self, cfg: &TcpConfig, reply: &mut PacketMeta) {
        let end = std::mem::take(&mut self.duplicate);
        if cfg.sack {
            reply.sack = [SackBlock { start: end - 1, end }, self.blocks[0], self.blocks[1]];
        }
    }

    /// When [`Receiver::on_timer`] is to be called; `Time::MAX`: not at all.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The delayed ACK's time has come, or not: an early call does nothing. Returns whether `reply`
    /// is to be sent.
    pub fn on_timer(&mut self, cfg: &TcpConfig, now: Time, reply: &mut PacketMeta) -> bool {
        if now < self.deadline {
            return false;
        }
        self.acknowledge(cfg, now, true, false, reply)
    }

    /// Data packets that came with CE.
    #[must_use]
    pub fn marks(&self) -> u32 {
        self.marks
    }
}
