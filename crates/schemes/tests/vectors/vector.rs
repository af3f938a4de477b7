//! A vector's text: its header, and the replay that writes every decision beside its event.

use super::bounds;
use super::header::Header;
use super::host::Host;
use super::line::{Args, Decision, Wrong};
use super::script::generic;
use super::switch::Switch;
use leafspine_core::{Rng, Time};
use leafspine_schemes::registry::Place;

/// What a vector drives: a scheme, and the numbers around it.
pub trait Device {
    /// Lets happen what a line says. `None`: nothing was asked.
    fn step(&mut self, now: Time, op: &str, args: &mut Args<'_>)
    -> Result<Option<Decision>, Wrong>;
    /// The scheme's time-driven work; the time of the next.
    fn tick(&mut self, now: Time) -> (Option<Time>, Decision);
    /// Whether there is time-driven work at all.
    fn ticks(&mut self) -> bool;
    /// When the scheme wants to be called next, if it says so after every event.
    fn wakes_at(&mut self) -> Option<Option<Time>> {
        None
    }
    /// The stream that the scheme draws from.
    fn rng(&self) -> &Rng;
}

/// A line that cannot be replayed: its number, from 1, and why.
pub type Stuck = (usize, Wrong);

/// Replays the events of `text` and returns the whole vector as it is now: the header in full, and every
/// event with its decision. Decisions, and times to tick, that stood there are not looked at. A
/// header without events other than ticks gets the generic ones.
pub fn replay(text: &str) -> Result<String, Stuck> {
    let lines: Vec<&str> = text.lines().collect();
    let body = lines.iter().position(|line| is_event(line)).unwrap_or(lines.len());
    // Comments and blank lines just above the first event belong to it.
    let comments = lines[..body].iter().rev().take_while(|line| is_comment(line)).count();
    let body = body - comments;
    let header = Header::parse(&lines[..body])?;
    let mut device: Box<dyn Device> = match header.place {
        Place::HostEdge => Box::new(Host::new(&header).map_err(|why| (1, why))?),
        _ => Box::new(Switch::new(&header).map_err(|why| (1, why))?),
    };
    let mut out = header.to_string();
    let mut clock = Clock {
        now: Time::ZERO,
        due: device.ticks().then_some(Time::ZERO),
        ticks: 0,
        device: &mut *device,
    };
    let mut events = 0;
    for (index, line) in lines[body..].iter().enumerate() {
        let event = line.split(" ->").next().unwrap_or_default().trim_end();
        if is_comment(event) {
            out += event;
            out.push('\n');
        } else if is_event(event) && event.split(' ').nth(1) != Some("tick") {
            clock.event(event, &mut out).map_err(|why| (body + index + 1, why))?;
            events += 1;
        } else if !event.starts_with("sent ") && !is_event(event) {
            return Err((body + index + 1, "no event, and none sent".to_owned()));
        }
    }
    if events > 0 { Ok(out) } else { generically(&header, body) }
}

/// What the control plane of a P4 switch writes where a vector's scheme is, if it decides as one.
pub fn control_plane(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().take_while(|line| !is_event(line)).collect();
    let header = Header::parse(&lines).ok()?;
    Switch::new(&header).ok()?.control_plane()
}

/// A vector of generic events. Their lines are in no file yet: what is wrong with one stands below
/// the header.
fn generically(header: &Header, body: usize) -> Result<String, Stuck> {
    let events = generic(header).map_err(|why| (body.max(1), why))?;
    let suits = |(_, why)| (body.max(1), format!("the generic events do not suit it: {why}"));
    replay(&format!("{header}\n{events}")).map_err(suits)
}

/// Of a vector. Each may send packets, a line each: more would be written than anyone reads.
const MOST_TICKS: u32 = 50_000;

fn is_event(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit())
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

struct Clock<'a> {
    now: Time,
    /// When the scheme wants to be called next.
    due: Option<Time>,
    /// So far.
    ticks: u32,
    device: &'a mut dyn Device,
}

impl Clock<'_> {
    /// One event, after the ticks that are due before it. Those due at the same instant come after
    /// it, as in a run.
    fn event(&mut self, text: &str, out: &mut String) -> Result<(), Wrong> {
        let mut words = text.split_ascii_whitespace();
        let at = Time(words.next().unwrap_or_default().parse().map_err(|_| "no time")?);
        let op = words.next().ok_or("no event")?;
        let mut args = Args::parse(words)?;
        if at < self.now {
            return Err(format!("time runs backwards: {} after {}", at.0, self.now.0));
        }
        bounds::time(at)?;
        self.ticks_before(at, out)?;
        self.now = at;
        let before = self.device.rng().clone();
        let decision = self.device.step(at, op, &mut args)?;
        args.finish()?;
        self.due = self.device.wakes_at().unwrap_or(self.due);
        *out += text;
        if let Some(mut decision) = decision {
            decision.pairs.extend(draws(before, self.device.rng())?);
            write_decision(out, &decision);
        }
        out.push('\n');
        Ok(())
    }

    fn ticks_before(&mut self, end: Time, out: &mut String) -> Result<(), Wrong> {
        // Ticks in a row that neither draw nor send are one line: (first, how many).
        let mut quiet: Option<(Time, u64)> = None;
        while let Some(at) = self.due.filter(|at| *at < end) {
            self.ticks += 1;
            if self.ticks > MOST_TICKS {
                return Err(format!("more than {MOST_TICKS} ticks until this event"));
            }
            let before = self.device.rng().clone();
            let (next, mut decision) = self.device.tick(at);
            if next.is_some_and(|next| next <= at) {
                return Err(format!("a tick at {} asks for another at {next:?}", at.0));
            }
            decision.pairs.extend(draws(before, self.device.rng())?);
            if decision.pairs.is_empty() && decision.sent.is_empty() {
                let (first, times) = quiet.unwrap_or((at, 0));
                quiet = Some((first, times + 1));
            } else {
                if let Some((first, times)) = quiet.take() {
                    write_tick(out, first, times, Some(at), Decision::default());
                }
                write_tick(out, at, 1, next, decision);
            }
            self.due = next;
        }
        if let Some((first, times)) = quiet {
            write_tick(out, first, times, self.due, Decision::default());
        }
        Ok(())
    }
}

fn write_tick(out: &mut String, at: Time, times: u64, next: Option<Time>, decision: Decision) {
    let next = next.map_or("never".to_owned(), |next| next.0.to_string());
    let pairs = std::iter::once(format!("next={next}")).chain(decision.pairs).collect();
    *out += &format!("{} tick", at.0);
    if times > 1 {
        *out += &format!(" times={times}");
    }
    write_decision(out, &Decision { pairs, ..decision });
    out.push('\n');
}

fn write_decision(out: &mut String, decision: &Decision) {
    *out += " ->";
    for pair in &decision.pairs {
        *out += " ";
        *out += pair;
    }
    for packet in &decision.sent {
        *out += "\nsent ";
        *out += packet;
    }
}

/// What was drawn between two states of a stream.
fn draws(mut before: Rng, after: &Rng) -> Result<Option<String>, Wrong> {
    let mut drawn = Vec::new();
    while before != *after {
        if drawn.len() == 1_000 {
            return Err("more than a thousand draws in one event".to_owned());
        }
        drawn.push(format!("{:#018x}", before.next_u64()));
    }
    Ok((!drawn.is_empty()).then(|| format!("draws={}", drawn.join(","))))
}
