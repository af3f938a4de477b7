//! CLOVE-ECN: hosts send flowlets over weighted paths, and cut the weight of a path that was marked.
//!
//! Source: Katta, Ghag, Hira, Keslassy, Bergman, Kim and Rexford, "Clove: Congestion-Aware Load
//! Balancing at the Virtual Edge", CoNEXT 2017, §3.
//!
//! * The hypervisor cuts flowlets and gives each a path by weighted round robin over the paths
//!   to its destination.
//! * Clove-ECN: the destination's hypervisor sees which path's packets were marked and
//!   reports to the source on packets of the reverse direction, each path at most once in half a round trip.
//! * The source then takes a third of that path's weight and spreads it evenly over the paths that
//!   were not reported lately. If all were, nothing moves.
//!
//! A path is an uplink of the host's leaf, `packet.path`, which the balancer `pinned` obeys: what the
//! paper's traceroute finds out beforehand (source ports that the switches hash to distinct paths) is
//! given here. Behind the first switch, choices are hashed.
//!
//! State per host: 16 bytes per path and destination rack (at most 256 racks' worth, beyond which
//! racks share), 16 bytes per source rack and path for feedback, made when the rack is first met; per
//! flow and direction 2 words. Cost per packet: a comparison; per flowlet a pass over the paths.
//!
//! Unspecified in the source, or done differently here: hosts of one rack share their paths' weights and their
//! reports (the paper keeps both per destination hypervisor), so a report goes to whichever of them is
//! sent to next. The turns of the weighted round robin begin at a random path: if all hosts began at the first,
//! flows that start together would meet there. How long a report counts as "lately" is `recent`. The
//! guest's transport sees the marks, too (the paper's guests know no ECN; DCTCP cannot do without).
//! ACKs are flowlets as well.
//!
//! Provenance: paper.

use super::racks::{Racks, Rows};
use super::{EdgeContext, Entry, FlowView, HostEdge, HostEnv, Needs};
use crate::{
    Demands, Footprint, Inspect, Kind, Meaning, Param, ParamError, Params, Provenance, SchemeInfo,
    parameters,
};
use leafspine_core::{Ecn, PacketMeta, Rng, Span, Time};

/// Words of a flow's state, on either side: when it last sent, and its path plus one.
const LAST: usize = 0;
const PATH: usize = 1;
/// The weight that a path starts with: thirds of it stay whole for long.
const WEIGHT: u32 = 3 * 3 * 3 * 3 * 1_000;
/// In the second word of the header: feedback is there, and about which path.
const FEEDBACK: u32 = 1 << 31;

/// A path towards a rack.
#[derive(Clone, Copy, Debug)]
struct Path {
    weight: u32,
    /// Weighted round robin: what it has been credited and not yet sent.
    credit: i32,
    /// When it was last reported; `Time::ZERO` if never.
    reported: Time,
}

/// What is to be reported to a rack about one of its paths to here.
#[derive(Clone, Copy, Debug)]
struct Report {
    due: bool,
    /// Not before.
    next: Time,
}

struct CloveEcn {
    racks: Racks,
    paths: usize,
    gap: Span,
    recent: Span,
    relay: Span,
    towards: Rows<Path>,
    reports: Rows<Report>,
    /// Where the search for a due report begins, by rack.
    turn: Vec<u16>,
}

impl CloveEcn {
    /// A pause longer than the gap ends the flowlet; the next takes the next path.
    fn route(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let state = &mut flow.state;
        let pause = cx.now.0.saturating_sub(state[LAST]);
        if state[PATH] == 0 || pause > self.gap.0 {
            let rack = self.racks.row(packet.dst());
            self.meet(rack, cx.rng);
            state[PATH] = self.next_path(rack) as u64 + 1;
        }
        state[LAST] = cx.now.0;
        packet.path = (state[PATH] - 1) as u16;
    }

    /// The turns towards a rack begin anywhere: some paths are taken to have had theirs.
    fn meet(&mut self, rack: usize, rng: &mut Rng) {
        if !self.towards.met(rack) {
            (0..rng.below(self.paths as u64)).for_each(|_| _ = self.next_path(rack));
        }
    }

    /// Weighted round robin that interleaves: each path is credited its weight, the one with the most
    /// pays the sum.
    fn next_path(&mut self, rack: usize) -> usize {
        let row = self.towards.row(rack);
        let mut total = 0;
        let mut best = 0;
        for at in 0..row.len() {
            total += row[at].weight as i32;
            row[at].credit += row[at].weight as i32;
            if row[at].credit > row[best].credit {
                best = at;
            }
        }
        row[best].credit -= total;
        best
    }

    /// Clove-ECN: a third of a reported path's weight goes to those that were not reported lately.
    fn cut(&mut self, rack: usize, path: usize, now: Time) {
        let recent = self.recent;
        let row = self.towards.row(rack);
        row[path].reported = now;
        let quiet = |p: &Path| p.reported == Time::ZERO || now.since(p.reported) > recent;
        let takers = row.iter().filter(|p| quiet(p)).count() as u32;
        if takers == 0 {
            return;
        }
        let each = row[path].weight / 3 / takers;
        row[path].weight -= each * takers;
        row.iter_mut().filter(|p| quiet(p)).for_each(|p| p.weight += each);
    }

    /// Notes a mark on a path from the packet's source to here.
    fn notice(&mut self, packet: &PacketMeta) {
        let path = usize::from(packet.path);
        if packet.ecn == Ecn::Congested && path < self.paths {
            let rack = self.racks.row(packet.src());
            self.reports.row(rack)[path].due = true;
        }
    }

    /// Puts a due report into a packet that goes the other way.
    fn report(&mut self, packet: &mut PacketMeta, now: Time) {
        let rack = self.racks.row(packet.dst());
        if !self.reports.met(rack) {
            return;
        }
        let row = self.reports.row(rack);
        let first = usize::from(self.turn[rack]);
        let due = |at: &usize| row[*at].due && row[*at].next <= now;
        let Some(path) = (first..self.paths).chain(0..first).find(due) else { return };
        row[path] = Report { due: false, next: now + self.relay };
        self.turn[rack] = if path + 1 == self.paths { 0 } else { path as u16 + 1 };
        packet.header.0[1] = FEEDBACK | path as u32;
    }

    /// Reads a report about a path from here to the packet's source.
    fn hear(&mut self, packet: &PacketMeta, cx: &mut EdgeContext<'_>) {
        let word = packet.header.0[1];
        let path = (word & !FEEDBACK) as usize;
        if word & FEEDBACK != 0 && path < self.paths {
            let rack = self.racks.row(packet.src());
            self.meet(rack, cx.rng);
            self.cut(rack, path, cx.now);
        }
    }
}

impl HostEdge for CloveEcn {
    fn needs(&self) -> Needs {
        Needs { keeps_class: true, ..Needs::default() }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        self.route(packet, flow, cx);
        self.report(packet, cx.now);
    }

    /// ACKs are flowlets and carry reports as data does.
    fn replying(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        self.sending(packet, flow, cx);
    }

    fn acked(
        &mut self,
        ack: &PacketMeta,
        _: Option<Span>,
        _: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        self.hear(ack, cx);
    }

    fn receiving(
        &mut self,
        packet: &mut PacketMeta,
        _: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        self.notice(packet);
        self.hear(packet, cx);
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for CloveEcn {
    fn footprint(&self, _: Time) -> Footprint {
        let turns = (self.turn.len() * size_of::<u16>()) as u64;
        let bytes = self.towards.bytes() + self.reports.bytes() + turns;
        Footprint { bytes, per_flow: 16, ..Footprint::default() }
    }
}

parameters! {
    struct Settings {
        gap: Span = Param::new(
            Kind::Span(1, SPAN),
            "2rtt",
            "Flowlet timeout: a longer pause between a flow's packets ends its flowlet.",
        )
        .means(Meaning::FlowletGap),
        relay: Option<Span> = Param::new(
            Kind::SpanOr(0, SPAN, "rtt/2"),
            "0.5rtt",
            "The shortest time between two reports of one path; \"rtt/2\" is half a round trip of \
             the empty fabric.",
        ),
        recent: Span = Param::new(
            Kind::Span(0, SPAN),
            "2rtt",
            "How long after a report a path takes no weight from others.",
        ),
    }
}

fn make(settings: &Settings, env: &HostEnv) -> CloveEcn {
    let racks = Racks::new(&env.tor_of);
    let rows = racks.rows();
    let paths = usize::from(env.uplinks).max(1);
    let path = Path { weight: WEIGHT, credit: 0, reported: Time::ZERO };
    CloveEcn {
        racks,
        paths,
        gap: settings.gap,
        recent: settings.recent,
        relay: settings.relay.unwrap_or(Span(env.base_rtt.0 / 2)),
        towards: Rows::new(rows, paths, path),
        reports: Rows::new(rows, paths, Report { due: false, next: Time::ZERO }),
        turn: vec![0; rows],
    }
}

/// Paths whose weights and their sum a credit can hold.
const MOST_PATHS: u16 = 1_024;

fn build(params: &Params, env: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let settings = Settings::read(params)?;
    if env.uplinks > MOST_PATHS {
        let found = format!("{} uplinks", env.uplinks);
        return Err(ParamError::new("scheme", found, format!("at most {MOST_PATHS}")));
    }
    Ok(Box::new(make(&settings, env)))
}

const SPAN: u64 = 1_000_000_000_000;

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "clove-ecn",
        summary: "Sends flowlets over weighted paths and cuts the weight of a path that was marked.",
        source: "Katta et al., Clove, CoNEXT 2017, §3",
        provenance: Provenance::Paper,
        unspecified: &[
            "A path is an uplink of the host's leaf, known without the paper's traceroute; behind \
             the first switch choices are hashed.",
            "Hosts of one rack share their paths' weights and reports; beyond 256 racks, racks share too.",
            "The round robin over the paths to a rack begins at a random one.",
            "A path was reported lately if it was within two round trips (recent).",
            "If every path was reported lately, no weight moves.",
            "The guest's transport sees the marks as well: DCTCP needs them.",
            "ACKs are cut into flowlets and routed like data.",
            "A mark is the path's wherever it comes from: with switch.host_ports = \"like-switch\" the host's \
             own port may mark, and cuts whatever path the packet takes.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 32, header_words: 2, queues: 1 },
    },
    build,
    balancers: &["pinned"],
    by_marks: true,
    by_stack: true,
    in_order: None,
    sprays: false,
};

#[cfg(test)]
#[path = "clove_ecn_tests.rs"]
mod tests;
