//! A tiny deterministic network: two hosts, one link each way, and a script of mishaps.

use crate::spec::{SchemeSpec, Stack, TransportSpec};
use crate::transport::{Fired, Received, Receiver, Sender, TcpConfig};
use leafspine_core::{Ecn, Flags, PacketMeta, Span, Time};
use leafspine_schemes::{Params, Value, cc};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::Write as _;

/// Bytes of payload of a full segment in these tests.
pub(super) const MSS: u32 = 1000;

/// TCP without a handshake, with `scheme` and its default parameters.
pub(super) fn spec(scheme: &str) -> TransportSpec {
    let entry = entry(scheme);
    let params = Params::defaults(entry.info.params);
    TransportSpec {
        mss: MSS,
        max_rto: Span::from_millis(80),
        handshake: false,
        // Controls that go by rates need RACK.
        stack: Stack { rack: scheme.starts_with("bbr"), ..Stack::default() },
        ..TransportSpec::tcp(SchemeSpec { name: scheme.to_owned(), params })
    }
}

fn entry(scheme: &str) -> &'static cc::Entry {
    cc::ALL.iter().find(|entry| entry.info.name == scheme).expect("a registered control")
}

/// `spec` with one of its scheme's parameters changed.
pub(super) fn with_param(mut spec: TransportSpec, key: &str, value: Value) -> TransportSpec {
    spec.scheme.params = spec.scheme.params.with(key, value);
    spec
}

pub(super) fn config(spec: &TransportSpec) -> TcpConfig {
    let entry = entry(&spec.scheme.name);
    let control = (entry.build)(&spec.scheme.params, &TcpConfig::flow_env(spec)).expect("valid");
    TcpConfig::new(spec, control, entry.ecn)
}

/// What happens to one packet on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Arrive,
    Drop,
    /// Marked, if it is ECN-capable.
    Mark,
    /// So much later than it should.
    Late(Span),
    /// A second copy follows at once.
    Twice,
}

/// Decides the fate of each packet: the sender's (`true`) and the receiver's.
pub(super) type Network = Box<dyn FnMut(&PacketMeta, bool) -> Fate>;

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    at: Time,
    order: u64,
    to_receiver: bool,
    packet: usize,
}

/// A flow on the scripted pipe: 50 us each way, 1 us of line time a data packet, none an ACK.
pub(super) struct Pipe {
    pub(super) cfg: TcpConfig,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) now: Time,
    network: Network,
    arrivals: BinaryHeap<Reverse<Arrival>>,
    packets: Vec<PacketMeta>,
    line_free: Time,
    pub(super) trace: String,
    /// Called after each of the sender's steps.
    pub(super) check: fn(&Pipe, &PacketMeta),
    pub(super) completions: u32,
    pub(super) delivered: u64,
    pub(super) fast_retransmits: u32,
    pub(super) first_sent: u32,
}

const DELAY: Span = Span::from_micros(50);
const LINE: Span = Span::from_micros(1);

impl Pipe {
    pub(super) fn new(spec: &TransportSpec, bytes: u64, network: Network) -> Pipe {
        let cfg = config(spec);
        let (mut sender, receiver) = (Sender::new(), Receiver::new());
        sender.reset(&cfg, bytes);
        Pipe {
            cfg,
            sender,
            receiver,
            now: Time::ZERO,
            network,
            arrivals: BinaryHeap::new(),
            packets: vec![],
            line_free: Time::ZERO,
            trace: String::new(),
            check: |_, _| {},
            completions: 0,
            delivered: 0,
            fast_retransmits: 0,
            first_sent: 0,
        }
    }

    /// Runs until the flow is done or `until` has come, and returns the trace.
    pub(super) fn run(&mut self, until: Time) -> &str {
        if self.now == Time::ZERO {
            self.sender.open(&self.cfg, self.now);
            self.pump();
        }
        while !self.sender.done() {
            let arrival = self.arrivals.peek().map_or(Time::MAX, |next| next.0.at);
            let timer = self.sender.deadline().min(self.receiver.deadline());
            self.now = self.now.max(arrival.min(timer));
            if self.now > until {
                break;
            }
            if timer < arrival { self.timers() } else { self.arrive() }
        }
        &self.trace
    }

    fn timers(&mut self) {
        let mut reply = PacketMeta::default();
        if self.receiver.on_timer(&self.cfg, self.now, &mut reply) {
            self.transmit(reply, false);
        }
        match self.sender.on_timer(&self.cfg, self.now) {
            Fired::Nothing => return,
            Fired::Timeout => {
                let rto = self.sender.deadline().since(self.now);
                self.note(format_args!("S    timeout, next after {rto}"));
            }
            Fired::Other => self.note(format_args!("S    timer")),
        }
        self.pump();
    }

    fn arrive(&mut self) {
        let arrival = self.arrivals.pop().expect("something is under way").0;
        let packet = self.packets[arrival.packet];
        if arrival.to_receiver {
            let mut reply = PacketMeta::default();
            let seen = self.receiver.on_packet(&self.cfg, &packet, self.now, &mut reply);
            self.account(seen);
            if seen.reply {
                self.transmit(reply, false);
            }
        } else {
            let outcome = self.sender.on_packet(&self.cfg, &packet, self.now);
            if outcome.fast_retransmit {
                self.fast_retransmits += 1;
                self.note(format_args!("S    fast retransmit"));
            }
            self.pump();
        }
    }

    fn account(&mut self, seen: Received) {
        self.completions += u32::from(seen.complete_now);
        self.delivered += u64::from(seen.delivered);
    }

    fn pump(&mut self) {
        let mut packet = PacketMeta::default();
        while self.sender.poll_send(&self.cfg, self.now, &mut packet) {
            (self.check)(self, &packet);
            if packet.is_data() {
                self.first_sent = self.first_sent.max(packet.seq + 1);
            }
            self.transmit(packet, true);
        }
    }

    fn transmit(&mut self, mut packet: PacketMeta, to_receiver: bool) {
        let fate = (self.network)(&packet, to_receiver);
        self.describe(&packet, to_receiver, fate);
        if fate == Fate::Mark && packet.ecn == Ecn::Capable {
            packet.ecn = Ecn::Congested;
        }
        let mut at = self.now;
        if packet.is_data() {
            self.line_free = self.line_free.max(self.now) + LINE;
            at = self.line_free;
        }
        at += DELAY;
        if let Fate::Late(by) = fate {
            at += by;
        }
        let copies = match fate {
            Fate::Drop => 0,
            Fate::Twice => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let order = self.packets.len() as u64;
            self.packets.push(packet);
            let arrival = Arrival { at, order, to_receiver, packet: order as usize };
            self.arrivals.push(Reverse(arrival));
        }
    }

    fn note(&mut self, what: std::fmt::Arguments<'_>) {
        let us = self.now.0 as f64 / 1e6;
        writeln!(self.trace, "{us:9.1}us  {what}").expect("strings take all");
    }

    fn describe(&mut self, p: &PacketMeta, to_receiver: bool, fate: Fate) {
        let mut line = String::from(if to_receiver { "S>R  " } else { "R>S  " });
        let ack = p.flags.has(Flags::ACK);
        match (p.flags.has(Flags::SYN), p.is_data()) {
            (true, _) if ack => line.push_str("SYN-ACK"),
            (true, _) => line.push_str("SYN"),
            (_, true) => write!(line, "data {}", p.seq).expect("strings take all"),
            _ => write!(line, "ack {}", p.seq).expect("strings take all"),
        }
        for (i, block) in p.sack.iter().filter(|block| block.end > block.start).enumerate() {
            let comma = if i == 0 { " sack " } else { "," };
            write!(line, "{comma}{}-{}", block.start, block.end - 1).expect("strings take all");
        }
        let words = [
            (p.notes & PacketMeta::RETRANSMIT != 0, " retx"),
            (p.ecn == Ecn::Capable, " ECT"),
            (p.flags.has(Flags::ECE), " ECE"),
            (p.flags.has(Flags::CWR), " CWR"),
            (p.flags.has(Flags::FIN), " FIN"),
        ];
        words.iter().filter(|(on, _)| *on).for_each(|(_, word)| line.push_str(word));
        match fate {
            Fate::Arrive => {}
            Fate::Drop => line.push_str("  (lost)"),
            Fate::Mark => line.push_str("  (marked)"),
            Fate::Late(by) => write!(line, "  (late by {by})").expect("strings take all"),
            Fate::Twice => line.push_str("  (twice)"),
        }
        if to_receiver {
            let segments = f64::from(self.sender.window(&self.cfg)) / f64::from(self.cfg.mss);
            line = format!("{line:<36} cwnd {segments}");
        }
        self.note(format_args!("{line}"));
    }
}

/// What happens to the `n`-th transmission (from 1) of each segment named; all others arrive.
pub(super) fn script(fates: &[(u32, u32, Fate)]) -> Network {
    let fates: BTreeMap<_, _> = fates.iter().map(|(seq, n, fate)| ((*seq, *n), *fate)).collect();
    let mut sent = BTreeMap::new();
    Box::new(move |packet, to_receiver| {
        if !to_receiver || !packet.is_data() {
            return Fate::Arrive;
        }
        let n = sent.entry(packet.seq).or_insert(0);
        *n += 1;
        fates.get(&(packet.seq, *n)).copied().unwrap_or(Fate::Arrive)
    })
}

/// The `n`-th transmissions (from 1) of these segments are lost.
pub(super) fn losing(lost: &[(u32, u32)]) -> Network {
    script(&lost.iter().map(|(seq, n)| (*seq, *n, Fate::Drop)).collect::<Vec<_>>())
}
