//! The Rust scheme and the simulator's hold queues, told what the RTL was shown in a cycle.

use abq_cosim::{CAPACITY, Event, Outputs, PORTS, happened, port_id, span, time};
use leafspine_core::{Flags, PacketMeta, Rng, Time};
use leafspine_schemes::hold::{Expired, Held, HoldQueue, Ingress, IngressHold, Needs};
use leafspine_schemes::registry;
use leafspine_schemes::testing::FakeLeaf;
use leafspine_schemes::{Amount, Params, Value};
use std::collections::VecDeque;

/// What the registers of the RTL and the parameters of the scheme are.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub in_bytes: bool,
    pub threshold: u32,
    pub floor: u32,
    pub corrector: bool,
    pub ece_below_floor: bool,
    /// Cycles; 0 is as soon as the reader can, which is one cycle after the one before.
    pub pace: u32,
    /// Cycles; 0 is no bound.
    pub max_hold: u32,
    pub capacity: u32,
}

impl Settings {
    pub fn random(rng: &mut Rng) -> Settings {
        let mut between = |low: u64, high: u64| (low + rng.below(high - low + 1)) as u32;
        let in_bytes = between(0, 1) == 1;
        let (threshold, floor) = match in_bytes {
            true => (between(500, 8000), between(1, 1500)),
            false => (between(1, 30), between(1, 6)),
        };
        let pace = [0, between(1, 12), between(13, 300)][between(0, 2) as usize];
        let max_hold = [0, between(1, 100), between(100, 5000)][between(0, 2) as usize];
        let (corrector, ece_below_floor) = (between(0, 3) > 0, between(0, 1) == 1);
        let capacity = [CAPACITY, between(1, 8)][between(0, 1) as usize];
        let rest = (pace, max_hold, capacity);
        let (pace, max_hold, capacity) = rest;
        Settings {
            in_bytes,
            threshold,
            floor,
            corrector,
            ece_below_floor,
            pace,
            max_hold,
            capacity,
        }
    }

    fn params(&self) -> Params {
        let amount = |value: u32| match self.in_bytes {
            true => Value::Amount(Amount::Bytes(value.into())),
            false => Value::Amount(Amount::Packets(value)),
        };
        let max_hold = match self.max_hold {
            0 => Value::Word("none".to_owned()),
            cycles => Value::Span(span(cycles)),
        };
        let info = registry::ingress_hold("abq").expect("it is registered").info;
        Params::defaults(info.params)
            .with("threshold", amount(self.threshold))
            .with("floor", amount(self.floor))
            .with("corrector", Value::Bool(self.corrector))
            .with("ece_below_floor", Value::Bool(self.ece_below_floor))
            .with("pace", Value::Span(span(self.pace.max(1))))
            .with("max_hold", max_hold)
            .with("capacity", Value::Int(self.capacity.into()))
    }
}

/// What was compared.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub verdicts: u64,
    pub steps: u64,
    pub released: u64,
    pub overflows: u64,
    pub expiries: u64,
    /// Cycles by which an expiry or a read was later than due, at most: the reader was busy.
    pub late: u32,
}

/// One port.
#[derive(Default)]
struct Port {
    /// ACKs that have gone in and of which nothing is decided.
    coming: VecDeque<u32>,
    held: HoldQueue<u32>,
    backlog: u32,
    /// When the next is read.
    due: Option<Time>,
    late: u32,
}

pub struct Model {
    abq: Box<dyn IngressHold>,
    needs: Needs,
    ports: [Port; PORTS],
    pub counts: Counts,
}

/// An ACK that goes on: its number, and whether with ECE.
pub type Gone = (u32, bool);

fn same<T: PartialEq + std::fmt::Debug>(what: &str, rtl: T, scheme: T) -> Result<(), String> {
    if rtl == scheme {
        return Ok(());
    }
    Err(format!("{what}: RTL {rtl:?}, scheme {scheme:?}"))
}

impl Model {
    pub fn new(settings: &Settings) -> Model {
        let entry = registry::ingress_hold("abq").expect("it is registered");
        let env = FakeLeaf::new(PORTS as u16, 1, 1).env;
        let abq = (entry.build)(&settings.params(), &env).expect("they are allowed");
        let needs = abq.needs();
        Model { abq, needs, ports: Default::default(), counts: Counts::default() }
    }

    /// An ACK has gone into a port.
    pub fn comes(&mut self, port: usize, number: u32) {
        self.ports[port].coming.push_back(number);
    }

    /// What is in no hold and yet to be decided, or in a hold.
    pub fn inside(&self) -> usize {
        self.ports.iter().map(|port| port.coming.len() + port.held.len()).sum()
    }

    /// A cycle of a port. Returns the ACKs that go on.
    pub fn cycle(&mut self, port: usize, rtl: &Outputs) -> Result<Vec<Gone>, String> {
        let now = time(rtl.now);
        let mut gone = Vec::new();
        self.arrival(port, rtl, now, &mut gone)?;
        self.timers(port, rtl, now, &mut gone)?;
        self.step(port, rtl, now)?;
        Ok(gone)
    }

    fn arrival(
        &mut self,
        at: usize,
        rtl: &Outputs,
        now: Time,
        gone: &mut Vec<Gone>,
    ) -> Result<(), String> {
        let is = |event| happened(rtl, at, event);
        let port = &mut self.ports[at];
        if !is(Event::Passed) && !is(Event::Stored) {
            return same("overflow", is(Event::Overflowed), false);
        }
        self.counts.verdicts += 1;
        let number = port.coming.pop_front().ok_or("RTL: an ACK that nobody sent")?;
        let ack = PacketMeta { flags: Flags::ACK, ..PacketMeta::default() };
        let (stored, oldest) = match self.abq.arrived(&ack, port_id(at), port.backlog, now) {
            Ingress::Hold => (true, port.held.keep(number, now, &self.needs).0),
            Ingress::Follow if port.held.is_reading() => {
                same("follow", is(Event::Followed), true)?;
                (true, port.held.follow(number, now, &self.needs))
            }
            Ingress::Follow | Ingress::Pass => {
                gone.push((number, false));
                (false, None)
            }
        };
        same("verdict: stored", is(Event::Stored), stored)?;
        same("overflow", is(Event::Overflowed), oldest.is_some())?;
        if let Some((_, ece)) = oldest {
            same("overflow's ECE", is(Event::LeftEce), ece)?;
            self.counts.overflows += 1;
        }
        gone.extend(oldest);
        Ok(())
    }

    fn timers(
        &mut self,
        at: usize,
        rtl: &Outputs,
        now: Time,
        gone: &mut Vec<Gone>,
    ) -> Result<(), String> {
        let is = |event| happened(rtl, at, event);
        let port = &mut self.ports[at];
        let mut leaves = is(Event::Left) && !is(Event::Overflowed);
        let mut late = false;
        if is(Event::Expired) {
            self.counts.expiries += 1;
            match port.held.expire_next(now, &self.needs) {
                None => return Err("RTL: an ACK expires before its time".to_owned()),
                Some(Expired::IsRead) => {}
                Some(Expired::Goes(number, ece)) => {
                    same("expiry's ECE", leaves && is(Event::LeftEce), ece)?;
                    same("an expired ACK leaves", leaves, true)?;
                    leaves = false;
                    gone.push((number, ece));
                }
            }
        } else if !port.held.is_empty() && self.needs.max_hold.is_some() {
            late |= port.held.clone().expire_next(now, &self.needs).is_some();
        }
        let is_due = port.due.is_some_and(|due| due <= now);
        if leaves {
            same("a read is due", true, is_due)?;
            let (next, again) = port.held.read(now, self.abq.needs().pace);
            let (number, ece) = next.ok_or("RTL: a read of nothing")?;
            same("a read's ECE", is(Event::LeftEce), ece)?;
            self.counts.released += 1;
            port.due = again;
            gone.push((number, ece));
        } else if is_due && !port.held.is_reading() {
            // What was to be read has stayed.
            port.due = port.held.read(now, self.abq.needs().pace).1;
        } else {
            late |= is_due;
        }
        // One that was pushed out has left in the place of the one that was due.
        let late = late && !is(Event::Overflowed);
        port.late = if late { port.late + 1 } else { 0 };
        self.counts.late = self.counts.late.max(port.late);
        Ok(())
    }

    fn step(&mut self, at: usize, rtl: &Outputs, now: Time) -> Result<(), String> {
        let is = |event| happened(rtl, at, event);
        let port = &mut self.ports[at];
        let found = (is(Event::LetGo), is(Event::LetGoEce), is(Event::Stop));
        if port.backlog == rtl.backlog[at] {
            return same("a queue that has not changed", found, (false, false, false));
        }
        port.backlog = rtl.backlog[at];
        self.counts.steps += 1;
        let expected = match self.abq.backlog_changed(port_id(at), port.backlog, now) {
            Held::Keep => (false, false, false),
            Held::Release { ece } => {
                let none = |_, _| unreachable!("there is a pace");
                let due = port.held.release(ece, now, self.abq.needs().pace, none);
                port.due = due.or(port.due);
                (true, ece, false)
            }
            Held::Stop => {
                port.held.stop(now, &self.needs);
                (false, false, true)
            }
        };
        same("let go, with ECE, stop", found, expected)
    }
}
