//! ARS: flowlets (or packets) take the port of the best quality, which is measured at the switch itself.
//!
//! Source: SAI (Open Compute Project's Switch Abstraction Interface), "Adaptive Routing and Switching"
//! (`doc/ARS/Adaptive-Routing-and-Switching.md`, `inc/saiars.h`, `inc/saiarsprofile.h`), and SONiC's design
//! of local ARS (`doc/ars`). What switches sell as dynamic load balancing works in this way. Flows are
//! hashed to a table (flows that share an entry are one macro flow); a pause longer than `idle_time` cuts a
//! flowlet, which takes a member of the next-hop group anew by quality. A port's quality is of two loads, each
//! sampled every `sampling_interval` and averaged exponentially: the *past* load, the bytes that left,
//! and the *future* load, the bytes that are queued. Each is quantised into bands between a least and a
//! greatest threshold. Modes, names and defaults are SAI's: `flowlet-quality`, 256 us, 512 flows, 16 us,
//! weights of 16 (`average += (sample - average) / weight`), and whether a sample below the average
//! replaces it (`port_load_current`: the load falls at once and rises slowly).
//!
//! State per switch: the flow table, 16 bytes an entry; two averages a port. Cost per packet: a hash, an
//! entry; per flowlet a walk over the live ports and a random number. Per sample: a walk over the ports.
//!
//! Unspecified in the source, or left to the device, and what was chosen:
//! - Bands: 8 (`QUANT_BANDS` is the device's), of equal width between the thresholds, the first below
//!   the least, the last from the greatest on.
//! - Thresholds are 0 in SAI, so that the device chooses. Here the past load goes from 10 to 100 % of the line
//!   (rates scale themselves: there is no `load_scaling_factor`), the future load from 3 to 96 KB.
//! - How the two become one is the device's map. Here it is the weighted mean of the bands, with the past
//!   load's weight in percent (`load_past_weight` of Dell's module `sonic_ars`), 50; less is better.
//! - Among ports of equal quality a random one is taken. What waits is what is queued and in transmission.
//! - Averages are in 2^-16 of their unit, and start at 0. Between two samples qualities stand still.
//! - There is one table a switch: the equal-cost ports of a switch are one next-hop group in most fabrics.
//! - An entry is cut by a time stamp, not a swept bit. A flow whose port has gone is placed anew; in mode
//!   `fixed` nothing else moves it, while it shares its entry with no other flow.
//! - SAI's alternate paths (longer ones), `PORT_LOAD_EXPONENT` and monitoring are not here.
//!
//! Provenance: paper.

use super::departures::Departures;
use super::flowlets::Flowlets;
use super::{Entry, LoadBalancer, Needs};
use crate::{
    Context, Demands, Footprint, Inspect, Kind, Meaning, Neighbour, Param, ParamError, Params,
    Paths, Provenance, SchemeInfo, SwitchEnv, parameters, words,
};
use leafspine_core::{Bytes, PacketMeta, PortId, Span, Time};

/// Bands of a load: 0 is the best.
const BANDS: u64 = 8;
/// Fractional bits of an average.
const FRACTION: u32 = 16;
/// A share of the line's rate is counted in hundredths of a percent.
const WHOLE: u64 = 10_000;

words! {
    /// What decides, and for what.
    enum Mode {
        FlowletQuality = "flowlet-quality",
        FlowletRandom = "flowlet-random",
        PacketQuality = "per-packet-quality",
        PacketRandom = "per-packet-random",
        Fixed = "fixed",
    }
}

parameters! {
    struct Settings {
        mode: Mode = Param::new(
            Mode::KIND,
            "flowlet-quality",
            "What is placed: flowlets or packets, by quality or at random; fixed: a flow once, by quality.",
        ),
        idle_time: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "256us",
            "A longer pause between the packets of a flow ends its flowlet.",
        )
        .means(Meaning::FlowletGap)
        .only_with("mode", &["flowlet-quality", "flowlet-random"]),
        max_flows: usize = Param::new(
            Kind::Int(1, 1 << 24),
            "512",
            "Entries of the flow table; flows that hash to one entry share it.",
        ),
        sampling_interval: Span = Param::new(
            Kind::Span(1_000_000, u64::MAX),
            "16us",
            "How often loads are measured.",
        )
        .means(Meaning::Period),
        port_load_past_weight: u64 = Param::new(
            Kind::Int(1, 255),
            "16",
            "Weight of the average past load against a sample: 1 forgets the past.",
        ),
        port_load_future_weight: u64 = Param::new(
            Kind::Int(1, 255),
            "16",
            "Weight of the average future load against a sample: 1 forgets the past.",
        ),
        port_load_current: bool = Param::new(
            Kind::Bool,
            "false",
            "Whether a sample below the average replaces it.",
        ),
        load_past_weight: u64 = Param::new(
            Kind::Int(0, 100),
            "50",
            "Weight of the past load in the quality, in percent; the rest is the future load's.",
        ),
        load_past_min_val: u64 = Param::new(
            Kind::Int(0, WHOLE),
            "1000",
            "Past load of the best band, in hundredths of a percent of the line's rate.",
        ),
        load_past_max_val: u64 = Param::new(
            Kind::Int(1, WHOLE),
            "10000",
            "Past load from which the worst band begins, in hundredths of a percent of the line's rate.",
        ),
        load_future_min_val: Bytes = Param::new(
            Kind::Bytes(0, 1 << 40),
            "3KB",
            "Queued bytes of the best band.",
        ),
        load_future_max_val: Bytes = Param::new(
            Kind::Bytes(1, 1 << 40),
            "96KB",
            "Queued bytes from which the worst band begins.",
        ),
    }
}

/// Where the bands of a load lie.
#[derive(Clone, Copy)]
struct Bands {
    least: u64,
    greatest: u64,
}

impl Bands {
    /// The band of an average.
    fn of(self, average: u64) -> u64 {
        let load = average >> FRACTION;
        if load >= self.greatest {
            return BANDS - 1;
        }
        if load <= self.least {
            return 0;
        }
        1 + (load - self.least) * (BANDS - 2) / (self.greatest - self.least)
    }
}

/// One port's loads.
#[derive(Default)]
struct Load {
    /// Bytes that began their transmission since the last sample.
    sent: u64,
    /// Averages, with [`FRACTION`].
    past: u64,
    future: u64,
    /// Of both, in hundredths of a band.
    quality: u64,
    departures: Departures,
}

/// A sample joins its average.
fn averaged(average: u64, sample: u64, weight: u64, falls_at_once: bool) -> u64 {
    let sample = sample << FRACTION;
    if sample < average && falls_at_once {
        return sample;
    }
    if sample < average {
        return average - (average - sample) / weight;
    }
    average + (sample - average) / weight
}

struct Ars {
    settings: Settings,
    flowlets: Flowlets,
    past: Bands,
    future: Bands,
    /// By port; of those that lead to hosts none is ever looked at.
    loads: Vec<Option<Load>>,
    /// Live ports of the best quality, while one is chosen.
    best: Vec<PortId>,
}

impl Ars {
    /// A port of the best quality.
    fn best(&mut self, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        let mut least = u64::MAX;
        self.best.clear();
        for port in paths.ports {
            let load = self.loads.get(usize::from(port.0)).and_then(Option::as_ref);
            let quality = load.map_or(0, |load| load.quality);
            if quality < least {
                least = quality;
                self.best.clear();
            }
            if quality == least {
                self.best.push(*port);
            }
        }
        self.best[cx.rng.below(self.best.len() as u64) as usize]
    }

    fn place(&mut self, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        match self.settings.mode {
            Mode::FlowletRandom | Mode::PacketRandom => {
                paths.ports[cx.rng.below(paths.ports.len() as u64) as usize]
            }
            _ => self.best(paths, cx),
        }
    }

    fn sample(&mut self, cx: &mut Context<'_>) {
        let interval = self.settings.sampling_interval;
        let falls = self.settings.port_load_current;
        for (number, load) in self.loads.iter_mut().enumerate() {
            let Some(load) = load else { continue };
            let port = PortId(number as u16);
            while let Some((_, bytes)) = load.departures.next_begun(cx.now) {
                load.sent += u64::from(bytes);
            }
            let (backlog, rate) = cx.ports.line(port);
            let whole = rate.time_for(load.sent).0;
            let past = u128::from(whole) * u128::from(WHOLE) / u128::from(interval.0);
            let queued = u64::from(backlog.bytes) + u64::from(backlog.in_service);
            load.sent = 0;
            let settings = &self.settings;
            load.past = averaged(load.past, past as u64, settings.port_load_past_weight, falls);
            load.future = averaged(load.future, queued, settings.port_load_future_weight, falls);
            let share = self.settings.load_past_weight;
            load.quality =
                share * self.past.of(load.past) + (100 - share) * self.future.of(load.future);
        }
    }
}

impl LoadBalancer for Ars {
    fn needs(&self) -> Needs {
        let measures = !matches!(self.settings.mode, Mode::FlowletRandom | Mode::PacketRandom);
        Needs { leaving: measures, tick: measures, ..Needs::default() }
    }

    fn pick(&mut self, packet: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        if matches!(self.settings.mode, Mode::PacketQuality | Mode::PacketRandom) {
            return self.place(paths, cx);
        }
        let slot = self.flowlets.slot(packet);
        let kept = match self.settings.mode {
            Mode::Fixed => self.flowlets.cached(slot),
            _ => self.flowlets.under_way(slot, cx.now),
        };
        let port = match kept {
            Some(port) if paths.ports.contains(&port) => port,
            _ => self.place(paths, cx),
        };
        self.flowlets.note(slot, port, cx.now);
        port
    }

    fn leaving(&mut self, packet: &mut PacketMeta, to: PortId, at: Time, _: &mut Context<'_>) {
        if let Some(Some(load)) = self.loads.get_mut(usize::from(to.0)) {
            load.departures.queued(at, u32::from(packet.size));
        }
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Option<Time> {
        if cx.now > Time::ZERO {
            self.sample(cx);
        }
        Some(cx.now + self.settings.sampling_interval)
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for Ars {
    fn footprint(&self, now: Time) -> Footprint {
        // Two averages and a count a port.
        let ports = 3 * 8 * self.loads.iter().flatten().count() as u64;
        let flows = self.flowlets.footprint(now);
        Footprint { bytes: flows.bytes + ports, ..flows }
    }

    fn slot(&self, packet: &PacketMeta) -> Option<u32> {
        Some(self.flowlets.slot(packet) as u32)
    }
}

/// The key whose least value is not below its greatest, if it is not.
fn ordered(key: &str, least: u64, greatest: u64) -> Result<Bands, ParamError> {
    if least < greatest {
        return Ok(Bands { least, greatest });
    }
    Err(ParamError::new(key, least, format!("less than the greatest threshold, {greatest}")))
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    let past =
        ordered("load_past_min_val", settings.load_past_min_val, settings.load_past_max_val)?;
    let (least, greatest) = (settings.load_future_min_val.0, settings.load_future_max_val.0);
    let future = ordered("load_future_min_val", least, greatest)?;
    let leads_on = |to: &Neighbour| matches!(to, Neighbour::Switch(..));
    let loads =
        env.ports.iter().map(|port| leads_on(&port.neighbour).then(Load::default)).collect();
    Ok(Box::new(Ars {
        flowlets: Flowlets::new(env.hash_seed, settings.idle_time, settings.max_flows),
        past,
        future,
        loads,
        best: Vec::with_capacity(env.ports.len()),
        settings,
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "ars",
        summary: "Sends every flowlet by the port of the best quality, measured at the switch itself.",
        source: "SAI, Adaptive Routing and Switching; SONiC's design of local ARS",
        provenance: Provenance::Paper,
        unspecified: &[
            "Eight quality bands of equal width lie between the two thresholds of a load.",
            "Past load: 10 to 100 % of the line; future load: 3 to 96 KB. SAI leaves them to the device.",
            "A port's quality is the weighted mean of its two bands; ties are broken at random.",
            "One flow table a switch; entries are cut by a time stamp, not by a swept age bit.",
            "Alternate paths and the exponent of the port's load are not there.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    edge: None,
    host_aqm: None,
};

#[cfg(test)]
mod tests;
