//! RED: random early detection, marking or dropping by an average of the queue.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM Transactions on Networking 1(4), 1993, Fig. 2 (the algorithm), §4 (idle time, byte
//! mode) and §7 (spacing of marks). `gentle`: Floyd, "Recommendation on using the gentle variant of
//! RED", 2000: between max_threshold and twice that, the probability rises from max_probability to
//! 1 instead of jumping there.
//!
//! On every arrival, q being what waits in the packet's service queue:
//! * the line is busy or packets wait: `avg = (1 - w) avg + w q`;
//! * the line has been idle for m small packets' time: `avg = (1 - w)^m avg`;
//! * `min <= avg < max`: `count += 1`, `pb = max_p (avg - min) / (max - min)`,
//!   `pa = pb / (1 - count pb)`; with probability `pa` the packet is marked and `count = 0`;
//! * `max <= avg`: marked, `count = 0`; below min: `count = -1`.
//!
//! Marking sets CE on ECN-capable packets and drops others (RFC 3168 §5), unless `drop_not_capable` is off. Thresholds in bytes make
//! the average one of bytes, and scale `pb` by packet size over MTU (§4). Thresholds in time are the
//! bytes that the port sends in it, by its rate as built.
//!
//! State per port: 16 bytes a service queue (average and count) and the line's clock. Cost per
//! packet: a multiplication or two, in f64 with `+ - * /` only; one `libm::pow` after an idle time (none
//! with weight 1, whose average is the queue itself); one random number between the thresholds.
//!
//! Unspecified in the source: what "the queue is empty" means beside a packet in transmission
//! (here: the line is idle; a busy line with nothing waiting is q = 0). m is not rounded. The size
//! of a small packet is a parameter (500 bytes, as in ns-2). Fig. 2 counts a packet before it uses
//! the count, so that spacing is uniform on 1 to 1/pb - 1 after a mark, not 1 to 1/pb as §7 has it:
//! the figure is followed. Several service queues each have an average; idle is the line's time.
//!
//! Provenance: paper. Defaults are its §5 simulation's (w 0.002, 5 and 15 packets, max_p 1/50).

use super::{Admit, Aqm, Entry, Needs};
use crate::{
    Amount, Demands, Depth, Footprint, Inspect, Kind, Meaning, Param, ParamError, Params,
    Provenance, QueueView, SchemeInfo, SwitchEnv, parameters,
};
use leafspine_core::{Bytes, Ecn, Pace, PacketMeta, PortId, Rate, Rng, Span, Time};

/// One service queue's average.
#[derive(Clone, Copy)]
struct Average {
    queue: f64,
    /// Packets since the last mark; -1 while the average is below the lower threshold.
    count: i32,
}

struct Red {
    low: f64,
    high: f64,
    max_probability: f64,
    weight: f64,
    gentle: bool,
    drop_not_capable: bool,
    /// Largest packet, if the thresholds are in bytes.
    byte_mode: Option<f64>,
    idle_packet: u64,
    averages: Vec<Average>,
    line: Line,
}

/// The port's line: when it will have sent all that was queued. A manager sees every packet of its
/// port, so the line's idle times follow from the arrivals; no dequeue hook is needed.
struct Line {
    rate: Rate,
    pace: Pace,
    free_at: Time,
}

impl Line {
    fn take(&mut self, size: u16, rate: Rate, now: Time) {
        if rate != self.rate {
            self.rate = rate;
            self.pace = Pace::new(rate);
        }
        self.free_at = self.free_at.max(now) + self.pace.take(u32::from(size));
    }
}

impl Red {
    /// The average on arrival at a queue (Fig. 2).
    #[inline]
    fn average(&self, before: f64, queue: &QueueView, now: Time) -> f64 {
        let waits = self.waiting(queue);
        if self.follows_queue() {
            return f64::from(waits);
        }
        let port = queue.port_total;
        let idle = now.since(self.line.free_at);
        if port.packets == 0 && port.in_service == 0 && idle > Span::ZERO {
            return self.decayed(before, idle, queue.rate);
        }
        (1.0 - self.weight) * before + self.weight * f64::from(waits)
    }

    /// What waits in the packet's queue, in the thresholds' unit.
    #[inline]
    fn waiting(&self, queue: &QueueView) -> u32 {
        match self.byte_mode {
            Some(_) => queue.this.bytes,
            None => queue.this.packets,
        }
    }

    /// Whether the average is the queue itself, as DCQCN's switches have it: then nothing decays, and the
    /// line's idle times do not matter.
    #[inline]
    fn follows_queue(&self) -> bool {
        self.weight == 1.0
    }

    /// The average after an idle time.
    #[cold]
    fn decayed(&self, before: f64, idle: Span, rate: Rate) -> f64 {
        if before == 0.0 {
            return 0.0;
        }
        let small = rate.time_for(self.idle_packet);
        before * libm::pow(1.0 - self.weight, idle.0 as f64 / small.0.max(1) as f64)
    }

    /// The probability `pb` that this average asks for, from the lower threshold on.
    fn probability(&self, average: f64) -> f64 {
        if average < self.high {
            self.max_probability * (average - self.low) / (self.high - self.low)
        } else if self.gentle && average < 2.0 * self.high {
            let beyond = (average - self.high) / self.high;
            self.max_probability + (1.0 - self.max_probability) * beyond
        } else {
            1.0
        }
    }

    /// Whether the packet is marked, given its queue's average, which has reached the lower threshold.
    fn marks(&mut self, index: usize, packet: &PacketMeta, rng: &mut Rng) -> bool {
        let Average { queue, count } = self.averages[index];
        let sure = self.high * if self.gentle { 2.0 } else { 1.0 };
        if queue >= sure {
            self.averages[index].count = 0;
            return true;
        }
        let count = count.saturating_add(1);
        let share = self.byte_mode.map_or(1.0, |largest| f64::from(packet.size) / largest);
        let pb = self.probability(queue) * share;
        let rest = 1.0 - f64::from(count) * pb;
        // pb / rest >= 1, without dividing by zero.
        let marked = rest <= pb || rng.chance(pb / rest);
        self.averages[index].count = if marked { 0 } else { count };
        marked
    }

    /// What becomes of a packet by its queue's average on arrival.
    #[inline(never)]
    fn judge(
        &mut self,
        index: usize,
        packet: &PacketMeta,
        queue: &QueueView,
        now: Time,
        rng: &mut Rng,
    ) -> Admit {
        let average = self.average(self.averages[index].queue, queue, now);
        self.averages[index].queue = average;
        let marked = if average < self.low {
            self.averages[index].count = -1;
            false
        } else {
            self.marks(index, packet, rng)
        };
        let verdict = match (marked, packet.ecn) {
            (false, _) => Admit::Take,
            (true, Ecn::NotCapable) if self.drop_not_capable => Admit::Drop,
            (true, Ecn::NotCapable) => Admit::Take,
            (true, Ecn::Capable | Ecn::Congested) => Admit::Mark,
        };
        if verdict != Admit::Drop && !self.follows_queue() {
            self.line.take(packet.size, queue.rate, now);
        }
        verdict
    }
}

impl Aqm for Red {
    /// Where the average is the queue, what finds none begins a new count, and so does the first that has to wait.
    /// So does any that finds less than the lower threshold, and a queue of bytes that rises to it has one packet at
    /// least that finds less than it by no more than the largest packet.
    fn needs(&self) -> Needs {
        let follows = self.follows_queue();
        let bytes = if follows && self.byte_mode.is_some() { self.low as u32 } else { 0 };
        let passes_below = bytes.saturating_sub(u32::from(u16::MAX));
        Needs { passes_idle: follows && self.low > 0.0, passes_below, ..Needs::default() }
    }

    fn admit(&mut self, packet: &PacketMeta, queue: &QueueView, now: Time, rng: &mut Rng) -> Admit {
        let index = usize::from(queue.queue).min(self.averages.len() - 1);
        if self.follows_queue() && f64::from(self.waiting(queue)) < self.low {
            // The most common case, and no average to keep.
            self.averages[index].count = -1;
            return Admit::Take;
        }
        self.judge(index, packet, queue, now, rng)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Red {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = size_of::<Red>() + size_of_val(&self.averages[..]);
        Footprint { bytes: bytes as u64, per_port: bytes as u32, ..Footprint::default() }
    }
}

parameters! {
    struct Settings {
        min_threshold: Depth = Param::new(
            Kind::Depth,
            "max(5pkt, 0.25bdp)",
            "Average below which nothing is marked; a time is what the port sends in it.",
        )
        .means(Meaning::Backlog),
        max_threshold: Depth = Param::new(
            Kind::Depth,
            "max(15pkt, 0.75bdp)",
            "Average at which all is marked (gentle: at twice this).",
        )
        .means(Meaning::Backlog),
        max_probability: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "0.02",
            "Marking probability as the average reaches max_threshold.",
        ),
        weight: f64 = Param::new(
            Kind::Float(0.000_000_1, 1.0),
            "0.002",
            "Weight of the present queue in the average; 1 follows the queue itself.",
        ),
        gentle: bool = Param::new(
            Kind::Bool,
            "false",
            "Whether the probability rises to 1 at twice max_threshold instead of jumping.",
        ),
        idle_packet: Bytes = Param::new(
            Kind::Bytes(1, 65_535),
            "500B",
            "Packet size whose transmission time is one step of decay on an idle line.",
        ),
        drop_not_capable: bool = Param::new(
            Kind::Bool,
            "true",
            "Whether what cannot be marked is dropped instead; no: it passes, as answers do in \
             RoCE fabrics.",
        )
        .quiet(),
    }
}

/// The thresholds at a port of this rate, both in packets or both in bytes.
fn thresholds(settings: &Settings, rate: Rate) -> Result<(f64, f64, bool), ParamError> {
    let (low, high) = (settings.min_threshold, settings.max_threshold);
    let by_time = |depth| matches!(depth, Depth::Time(_));
    let (low_value, high_value, bytes) = match (low.at(rate), high.at(rate)) {
        (Amount::Packets(low), Amount::Packets(high)) => (u64::from(low), u64::from(high), false),
        (Amount::Bytes(least), Amount::Bytes(most)) if by_time(low) == by_time(high) => {
            (least, most, true)
        }
        _ => {
            let of = |key, value| format!("the unit of {key}, which is {value}");
            let seen = ParamError::new("max_threshold", high, of("min_threshold", low));
            return Err(seen.or(ParamError::new("min_threshold", low, of("max_threshold", high))));
        }
    };
    if high_value < low_value {
        let allowed = format!("at least min_threshold, {low}");
        let most = format!("at most max_threshold, {high}");
        return Err(ParamError::new("max_threshold", high, allowed).or(ParamError::new(
            "min_threshold",
            low,
            most,
        )));
    }
    Ok((low_value as f64, high_value as f64, bytes))
}

fn make(params: &Params, env: &SwitchEnv, port: PortId) -> Result<Red, ParamError> {
    let settings = Settings::read(params)?;
    let rate = env.ports[usize::from(port.0)].rate;
    let (low, high, bytes) = thresholds(&settings, rate)?;
    Ok(Red {
        low,
        high,
        max_probability: settings.max_probability,
        weight: settings.weight,
        gentle: settings.gentle,
        drop_not_capable: settings.drop_not_capable,
        byte_mode: bytes.then(|| f64::from(env.mtu)),
        idle_packet: settings.idle_packet.0,
        averages: vec![Average { queue: 0.0, count: -1 }; usize::from(env.queues.max(1))],
        line: Line { rate, pace: Pace::new(rate), free_at: Time::ZERO },
    })
}

fn build(params: &Params, env: &SwitchEnv, port: PortId) -> Result<Box<dyn Aqm>, ParamError> {
    Ok(Box::new(make(params, env, port)?))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "red",
        summary: "Marks or drops at random, more often the longer the average queue.",
        source: "Floyd and Jacobson, RED, IEEE/ACM ToN 1(4), 1993; gentle: Floyd, 2000",
        provenance: Provenance::Paper,
        unspecified: &[
            "The queue counts as empty when the line is idle; a busy line with nothing waiting is \
             a queue of 0.",
            "The idle correction's exponent is not rounded; its small packet has 500 bytes.",
            "Above the upper threshold (gentle: twice that) ECN-capable packets are marked, not \
             dropped.",
            "Each service queue has its own average; idle time is the line's.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    marks: |_| true,
};

#[cfg(test)]
#[path = "red_tests.rs"]
mod tests;
