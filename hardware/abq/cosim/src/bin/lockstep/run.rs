//! One seed: settings, traffic, and what comes out.

use crate::frames::Frame;
use crate::model::{Counts, Model, Settings};
use abq_cosim::{EVENTS, Event, Inputs, Outputs, PORTS, Switch, happened};
use leafspine_core::{Rng, Role};
use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Cycles without anything moving after which what has not come out never will.
const STILL: u32 = 20_000;
/// Bytes of the largest frame.
const LARGEST: usize = 1514;
/// Registers: control, a port's counters (its own, counted from 1), what they count beside its events.
const CONTROL: u32 = 8;
const PAGE: u32 = 0x100;
const COUNTERS: u32 = 0x20;

/// Counts of all seeds.
#[derive(Default)]
pub struct Totals {
    packets: u64,
    acks: u64,
    received: u64,
    with_ece: u64,
    dropped: u64,
    cycles: u64,
    counts: Counts,
}

impl Totals {
    pub fn add(&mut self, other: &Totals) {
        self.packets += other.packets;
        self.acks += other.acks;
        self.received += other.received;
        self.with_ece += other.with_ece;
        self.dropped += other.dropped;
        self.cycles += other.cycles;
        self.counts.verdicts += other.counts.verdicts;
        self.counts.steps += other.counts.steps;
        self.counts.released += other.counts.released;
        self.counts.overflows += other.counts.overflows;
        self.counts.expiries += other.counts.expiries;
        self.counts.late = self.counts.late.max(other.counts.late);
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { packets, acks, received, with_ece, dropped, cycles, counts } = self;
        writeln!(f, "{packets} frames, {acks} of them ACKs, in {cycles} cycles")?;
        writeln!(f, "{} verdicts on ACKs, {} changes of queues", counts.verdicts, counts.steps)?;
        let Counts { released, overflows, expiries, late, .. } = counts;
        writeln!(f, "{released} ACKs read, {overflows} pushed out, {expiries} expired")?;
        writeln!(
            f,
            "{received} frames came out, {with_ece} with ECE set, {dropped} dropped by output queues"
        )?;
        write!(f, "decisions equal; at most {late} cycles later than due")
    }
}

/// A capture file of Ethernet frames.
struct Capture(Option<BufWriter<fs::File>>);

impl Capture {
    fn new(folder: Option<&Path>, name: &str) -> io::Result<Capture> {
        let Some(folder) = folder else { return Ok(Capture(None)) };
        let mut file = BufWriter::new(fs::File::create(folder.join(name))?);
        // Microseconds, version 2.4, whole frames, Ethernet.
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Capture(Some(file)))
    }

    fn write(&mut self, cycle: u32, frame: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        let length = frame.len() as u32;
        for word in [cycle / 1_000_000, cycle % 1_000_000, length, length] {
            file.write_all(&word.to_le_bytes())?;
        }
        file.write_all(frame)
    }
}

/// What is on its way from one port to another, in order: ACKs that have left their hold, and all else.
#[derive(Default)]
struct Way {
    acks: VecDeque<(u32, bool)>,
    others: VecDeque<u32>,
    skipped: u64,
}

impl Way {
    /// A frame has come out. Those before it in its order were dropped. Whether it was to have ECE.
    fn out(&mut self, number: u32, is_ack: bool) -> Result<bool, String> {
        loop {
            let next = match is_ack {
                true => self.acks.pop_front(),
                false => self.others.pop_front().map(|other| (other, false)),
            };
            match next {
                None => return Err(format!("frame {number}: out of order, twice, or never sent")),
                Some((found, ece)) if found == number => return Ok(ece),
                Some(_) => self.skipped += 1,
            }
        }
    }
}

/// What goes into a port.
struct Source {
    number: Option<u32>,
    at: usize,
    gap: u64,
}

struct Bench {
    /// Bytes of a word.
    width: usize,
    /// The control register, switched on.
    control: u32,
    /// By port: how often each event happened, and drops.
    happened: [[u32; EVENTS + 1]; PORTS],
    rng: Rng,
    switch: Switch,
    model: Model,
    inputs: Inputs,
    frames: Vec<Frame>,
    /// By frame: where it came by, and the ports that it is for.
    ends: Vec<(usize, u8)>,
    sources: [Source; PORTS],
    ways: [[Way; PORTS]; PORTS],
    parts: [Vec<u8>; PORTS],
    /// In each phase, how often a line takes a word, and how often a port pauses between frames.
    lines: [f64; PORTS],
    pauses: f64,
    totals: Totals,
    sent: Capture,
    received: Capture,
}

/// Seed `seed`: so many frames over all ports, in words of `width` bytes.
pub fn run(seed: u64, width: usize, packets: u32, pcap: Option<&Path>) -> Result<Totals, String> {
    let mut rng = Rng::new(seed, Role::Balancer, 0);
    let settings = Settings::random(&mut rng);
    let failed = |error: io::Error| error.to_string();
    let mut bench = Bench {
        width,
        control: 0,
        happened: Default::default(),
        switch: Switch::new(width),
        model: Model::new(&settings),
        inputs: Inputs::default(),
        frames: Vec::new(),
        ends: Vec::new(),
        sources: [(); PORTS].map(|()| Source { number: None, at: 0, gap: 0 }),
        ways: Default::default(),
        parts: Default::default(),
        lines: [1.0; PORTS],
        pauses: 0.0,
        totals: Totals::default(),
        sent: Capture::new(pcap, &format!("{}-{seed}-sent.pcap", 8 * width)).map_err(failed)?,
        received: Capture::new(pcap, &format!("{}-{seed}-received.pcap", 8 * width))
            .map_err(failed)?,
        rng,
    };
    bench.begin(&settings)?;
    let told = |error| format!("{error} ({settings:?})");
    bench.traffic(packets).map_err(told)?;
    Ok(bench.totals)
}

impl Bench {
    /// Reset, and the registers.
    fn begin(&mut self, settings: &Settings) -> Result<(), String> {
        self.inputs.reset = 1;
        self.switch.cycle(&self.inputs);
        self.switch.cycle(&self.inputs);
        self.inputs.reset = 0;
        let bits = [true, settings.in_bytes, settings.corrector, settings.ece_below_floor];
        self.control = bits.iter().rev().fold(0, |bits, bit| bits << 1 | u32::from(*bit));
        let values = [
            self.control,
            settings.threshold,
            settings.floor,
            settings.pace,
            settings.max_hold,
            settings.capacity,
        ];
        for (register, value) in (2..).zip(values) {
            if !self.switch.write(&self.inputs, register * 4, value) {
                return Err(format!("register {register} refuses {value}"));
            }
        }
        Ok(())
    }

    fn traffic(&mut self, packets: u32) -> Result<(), String> {
        let mut still = 0;
        for cycle in 0.. {
            if cycle % 2_000 == 0 {
                self.phase(self.frames.len() as u32 == packets);
            } else {
                self.inputs.write = 0;
            }
            for port in 0..PORTS {
                self.feed(port, packets);
            }
            let outputs = self.switch.cycle(&self.inputs);
            let moved = self.take(&outputs)?;
            still = if moved { 0 } else { still + 1 };
            if still > STILL && self.frames.len() as u32 == packets {
                self.totals.cycles = u64::from(cycle - STILL);
                break;
            }
        }
        self.finish()
    }

    /// Other rates for a while. At last all lines take what comes.
    fn phase(&mut self, over: bool) {
        let rate = |rng: &mut Rng| [0.0, 0.1, 0.5, 1.0][rng.below(4) as usize];
        self.lines = [(); PORTS].map(|()| if over { 1.0 } else { rate(&mut self.rng) });
        // Now and then ABQ is switched off, whatever it holds.
        let enabled = over || self.rng.chance(0.9);
        (self.inputs.address, self.inputs.write) = (CONTROL, 1);
        self.inputs.value = if enabled { self.control } else { self.control & !1 };
        self.pauses = [0.0, 0.3, 0.9][self.rng.below(3) as usize];
    }

    /// What stands at a port's input in the next cycle.
    fn feed(&mut self, port: usize, packets: u32) {
        let bit = 1 << port;
        let source = &mut self.sources[port];
        if source.number.is_none() && source.gap == 0 && (self.frames.len() as u32) < packets {
            let number = self.frames.len() as u32;
            self.frames.push(Frame::random(number, &mut self.rng));
            // One port more than the others, and some frames for several.
            let to = if self.rng.chance(0.5) { 0 } else { self.rng.below(PORTS as u64) };
            let more = if self.rng.chance(0.03) { self.rng.below(1 << PORTS) as u8 } else { 0 };
            self.ends.push((port, 1 << to | more));
            (source.number, source.at) = (Some(number), 0);
        }
        self.inputs.clear(port);
        source.gap = source.gap.saturating_sub(1);
        if let Some(number) = source.number {
            let rest = &self.frames[number as usize].bytes[source.at..];
            self.inputs.put(port, rest, self.width, self.ends[number as usize].1);
        }
        self.inputs.out_ready &= !bit;
        if self.rng.chance(self.lines[port]) {
            self.inputs.out_ready |= bit;
        }
    }

    /// What the cycle has brought. Whether anything moved.
    fn take(&mut self, outputs: &Outputs) -> Result<bool, String> {
        let mut moved = false;
        for port in 0..PORTS {
            let gone = self.model.cycle(port, outputs);
            let at = |error| format!("cycle {}, port {port}: {error}", outputs.now);
            for (number, ece) in gone.map_err(at)? {
                self.onto_ways(number, |way| way.acks.push_back((number, ece)));
            }
            moved |= self.went_in(port, outputs).map_err(|error| error.to_string())?;
            moved |= self.came_out(port, outputs).map_err(at)?;
            self.totals.dropped += u64::from(outputs.dropped >> port & 1);
            self.count(port, outputs);
        }
        // What keeps an ACK from being read when it is due is the one before it and a frame that passes, each behind a
        // frame of every other port at the arbiter.
        let latest = 2 * PORTS * LARGEST.div_ceil(self.width);
        if self.model.counts.late as usize > latest {
            return Err(format!("cycle {}: what was due does not leave", outputs.now));
        }
        Ok(moved)
    }

    fn onto_ways(&mut self, number: u32, put: impl Fn(&mut Way)) {
        let (from, to) = self.ends[number as usize];
        (0..PORTS)
            .filter(|port| to >> port & 1 == 1)
            .for_each(|port| put(&mut self.ways[from][port]));
    }

    fn went_in(&mut self, port: usize, outputs: &Outputs) -> io::Result<bool> {
        let source = &mut self.sources[port];
        let Some(number) = source.number else { return Ok(false) };
        if outputs.ready >> port & 1 == 0 {
            return Ok(false);
        }
        source.at += self.width;
        let frame = &self.frames[number as usize];
        if source.at >= frame.bytes.len() {
            source.number = None;
            source.gap = if self.rng.chance(self.pauses) { self.rng.below(200) } else { 0 };
            self.totals.packets += 1;
            self.sent.write(outputs.now, &frame.bytes)?;
            assert!(happened(outputs, port, Event::Came), "its last word has gone in");
            if frame.is_ack {
                self.totals.acks += 1;
                self.model.comes(port, number);
            } else {
                self.onto_ways(number, |way| way.others.push_back(number));
            }
        }
        Ok(true)
    }

    fn came_out(&mut self, port: usize, outputs: &Outputs) -> Result<bool, String> {
        if outputs.valid & self.inputs.out_ready & 1 << port == 0 {
            return Ok(false);
        }
        let bytes = outputs.keep[port].count_ones() as usize;
        self.parts[port].extend(&outputs.data[port][..bytes]);
        if outputs.last >> port & 1 == 1 {
            let frame = std::mem::take(&mut self.parts[port]);
            self.received.write(outputs.now, &frame).map_err(|error| error.to_string())?;
            let (from, to) = self.ends[Frame::number(&frame) as usize % self.ends.len()];
            let user = to << PORTS | 1 << from;
            if outputs.user[port] != user {
                return Err(format!("user {:#x} for {user:#x}", outputs.user[port]));
            }
            self.received(port, &frame)?;
        }
        Ok(true)
    }

    fn received(&mut self, port: usize, found: &[u8]) -> Result<(), String> {
        let number = Frame::number(found);
        let sent =
            self.frames.get(number as usize).ok_or(format!("frame {number} was never sent"))?;
        let ece = self.ways[self.ends[number as usize].0][port].out(number, sent.is_ack)?;
        let expected = if ece { Frame::with_ece(&sent.bytes) } else { sent.bytes.clone() };
        self.totals.with_ece += u64::from(expected != sent.bytes);
        self.totals.received += 1;
        if found == expected {
            return Ok(());
        }
        Err(format!("frame {number}: {found:02x?} for {expected:02x?}"))
    }

    /// Everything has come out or was dropped.
    fn finish(&mut self) -> Result<(), String> {
        let inside = self.model.inside();
        if self.model.counts.verdicts != self.totals.acks || inside > 0 {
            return Err(format!("{inside} ACKs have not come out"));
        }
        let ways = self.ways.iter().flatten();
        let missing: u64 =
            ways.map(|way| way.skipped + (way.acks.len() + way.others.len()) as u64).sum();
        self.totals.counts = self.model.counts;
        if missing != self.totals.dropped {
            return Err(format!(
                "{missing} frames are missing, {} were dropped",
                self.totals.dropped
            ));
        }
        self.registers()
    }

    fn count(&mut self, port: usize, outputs: &Outputs) {
        let all = outputs.events >> (port * EVENTS) & ((1 << EVENTS) - 1)
            | u64::from(outputs.dropped >> port & 1) << EVENTS;
        for (event, count) in self.happened[port].iter_mut().enumerate() {
            *count += (all >> event & 1) as u32;
        }
    }

    /// The registers have counted what happened.
    fn registers(&mut self) -> Result<(), String> {
        for (port, events) in self.happened.iter().enumerate() {
            for (event, count) in events.iter().enumerate() {
                let address = PAGE * (port as u32 + 1) + COUNTERS + 4 * event as u32;
                let found = self.switch.read(&self.inputs, address);
                if found != Some(*count) {
                    return Err(format!("register {address:#x}: {found:?} for {count}"));
                }
            }
        }
        Ok(())
    }
}
