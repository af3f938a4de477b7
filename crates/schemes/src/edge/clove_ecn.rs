//! CLOVE-ECN: hosts send flowlets over weighted paths, and cut the weight of a path that was marked.
//!
//! Source: Katta, Ghag, Hira, Keslassy, Bergman, Kim and Rexford, "Clove: Congestion-Aware Load
//! Balancing at the Virtual Edge", CoNEXT 2017, §3.
//!
//! * The hypervisor cuts flowlets and gives each a path by weighted round robin over the paths
//!   to its destination.
//! * Clove-ECN: the destination's hypervisor sees which path's packets were marked and
//!   tells the source on packets of the reverse direction, each path at most once in half a round trip.
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
//! Where the source is silent or differs: hosts of one rack share their paths' weights and their
//! reports (the paper keeps both per destination hypervisor), so a report goes to whichever of them is
//! sent to next. The turns of the weighted round robin begin at a random path: if all hosts began at the first,
//! flows that start together would meet there. How long a report counts as "lately" is `recent`. The
//! guest's transport sees the marks, too (the paper's guests know no ECN; DCTCP cannot do without).
//! ACKs are flowlets as well.
//!
//! Provenance: paper.

use super::racks::{Racks, Rows};
use super::{EdgeContext, Entry, FlowView, HostEdge, HostEnv};
use crate::{Demands, Footprint, Inspect, Kind, Param, ParamError, Params, Provenance, SchemeInfo};
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

/// What is to be told to a rack about one of its paths to here.
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
    fn tell(&mut self, packet: &mut PacketMeta, now: Time) {
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
    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        self.route(packet, flow, cx);
        self.tell(packet, cx.now);
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

fn make(params: &Params, env: &HostEnv) -> CloveEcn {
    let racks = Racks::new(&env.tor_of);
    let rows = racks.rows();
    let paths = usize::from(env.uplinks).max(1);
    let path = Path { weight: WEIGHT, credit: 0, reported: Time::ZERO };
    CloveEcn {
        racks,
        paths,
        gap: params.span("gap"),
        recent: params.span("recent"),
        relay: params.span_or("relay").unwrap_or(Span(env.base_rtt.0 / 2)),
        towards: Rows::new(rows, paths, path),
        reports: Rows::new(rows, paths, Report { due: false, next: Time::ZERO }),
        turn: vec![0; rows],
    }
}

/// Paths whose weights and their sum a credit can hold.
const MOST_PATHS: u16 = 1_024;

fn build(params: &Params, env: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    if env.uplinks > MOST_PATHS {
        let message = format!("found {} uplinks; allowed: at most {MOST_PATHS}", env.uplinks);
        return Err(ParamError { key: "scheme".to_owned(), message });
    }
    Ok(Box::new(make(params, env)))
}

const SPAN: u64 = 1_000_000_000_000;

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "clove-ecn",
        summary: "Sends flowlets over weighted paths and cuts the weight of a path that was marked.",
        source: "Katta et al., Clove, CoNEXT 2017, §3",
        provenance: Provenance::Paper,
        silent: &[
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
        params: &[
            Param {
                name: "gap",
                kind: Kind::Span(1, SPAN),
                default: Some("2rtt"),
                doc: "Flowlet timeout: a longer pause between a flow's packets ends its flowlet.",
            },
            Param {
                name: "relay",
                kind: Kind::SpanOr(0, SPAN, "rtt/2"),
                default: Some("0.5rtt"),
                doc: "The shortest time between two reports of one path; \"rtt/2\" is half a round trip of \
                      the empty fabric.",
            },
            Param {
                name: "recent",
                kind: Kind::Span(0, SPAN),
                default: Some("2rtt"),
                doc: "How long after a report a path takes no weight from others.",
            },
        ],
        demands: Demands { header_bits: 32, header_words: 2, queues: 1 },
    },
    build,
    balancers: &["pinned"],
    by_marks: true,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeHost, control, data, stated};
    use leafspine_core::Flags;

    /// Host 0 with 4 paths to each of 4 racks of 8; an empty fabric's round trip of 20 us.
    fn made() -> (CloveEcn, FakeHost) {
        let host = FakeHost::new(1_000);
        (
            make(
                &stated(
                    ENTRY.info.params,
                    &[("gap", "40us"), ("relay", "10us"), ("recent", "40us")],
                ),
                &host.env,
            ),
            host,
        )
    }

    fn us(n: u64) -> Span {
        Span::from_micros(n)
    }

    /// The path of a packet to rack 1, sent after a pause.
    fn send(edge: &mut CloveEcn, host: &mut FakeHost, pause: Span) -> u16 {
        host.now += pause;
        let mut packet = data(0, 9, 1, 0);
        host.send(edge, &mut packet);
        packet.path
    }

    /// How many of `flowlets` take each path.
    fn counts(edge: &mut CloveEcn, host: &mut FakeHost, flowlets: u32) -> [u32; 4] {
        let mut counts = [0; 4];
        for _ in 0..flowlets {
            counts[usize::from(send(edge, host, us(41)))] += 1;
        }
        counts
    }

    /// A report about a path from here to rack 1.
    fn report(edge: &mut CloveEcn, host: &mut FakeHost, path: u32) {
        let mut ack = control(9, 0, 80, Flags::ACK);
        ack.header.0[1] = FEEDBACK | path;
        host.with(|flow, cx| edge.acked(&ack, None, flow, cx));
    }

    /// Breaks if a flowlet ends at its gap instead of after it, or does not end, or if equal weights
    /// do not take turns.
    #[test]
    fn flowlets_take_turns() {
        let (mut edge, mut host) = made();
        let first = send(&mut edge, &mut host, us(100));
        assert_eq!(send(&mut edge, &mut host, us(40)), first);
        assert_ne!(send(&mut edge, &mut host, us(41)), first);
        assert_eq!(counts(&mut edge, &mut host, 400), [100; 4]);
    }

    /// Breaks if all hosts begin at one path, where flows that start together would meet: 400 hosts over
    /// 4 paths, standard deviation 8.7; five of them.
    #[test]
    fn turns_begin_anywhere() {
        let mut firsts = [0; 4];
        for seed in 0..400 {
            let (mut edge, mut host) = made();
            host.rng = Rng::new(seed, leafspine_core::Role::Edge, 0);
            firsts[usize::from(send(&mut edge, &mut host, us(100)))] += 1;
        }
        assert!(firsts.iter().all(|n| (57..=143).contains(n)), "{firsts:?}");
    }

    /// Breaks if racks that a host has nothing to do with take memory: 4 racks' lists and turns, then
    /// a row of 4 paths of 16 bytes.
    #[test]
    fn only_racks_that_are_met_cost_memory() {
        let (mut edge, mut host) = made();
        let before = edge.inspect().footprint(Time::ZERO).bytes;
        assert_eq!(before, 4 * (16 + 16 + 2));
        send(&mut edge, &mut host, us(0));
        assert_eq!(edge.inspect().footprint(Time::ZERO).bytes - before, 4 * 16);
    }

    /// Breaks if a report does not take a third from its path and spread it over the others: 4 x
    /// 1/4 become 1/6 and 3 x 5/18, that is 3, 5, 5, 5 of 18.
    #[test]
    fn a_report_moves_a_third() {
        let (mut edge, mut host) = made();
        host.now = Time(1);
        report(&mut edge, &mut host, 0);
        assert_eq!(counts(&mut edge, &mut host, 180), [30, 50, 50, 50]);
    }

    /// Breaks if a path that was itself reported lately takes another's weight, or if weight is made
    /// or lost, or moves when all were reported.
    #[test]
    fn only_quiet_paths_take() {
        let (mut edge, mut host) = made();
        host.now = Time(1);
        let row = |edge: &CloveEcn| -> Vec<u32> {
            (0..4).map(|path| edge.towards.get(1, path).weight * 18 / WEIGHT).collect()
        };
        report(&mut edge, &mut host, 0);
        report(&mut edge, &mut host, 1);
        // Path 1 gives a third of 20/18 to paths 2 and 3, none to 0.
        assert_eq!(row(&edge), [12, 13, 23, 23]);
        report(&mut edge, &mut host, 2);
        report(&mut edge, &mut host, 3);
        let before = row(&edge);
        report(&mut edge, &mut host, 3);
        assert_eq!(row(&edge), before);
        let total: u32 = (0..4).map(|path| edge.towards.get(1, path).weight).sum();
        assert_eq!(total, 4 * WEIGHT);
        host.now += us(40);
        report(&mut edge, &mut host, 3);
        assert_eq!(row(&edge), before, "two round trips later is still lately");
        host.now += us(1);
        report(&mut edge, &mut host, 3);
        assert!(row(&edge)[0] > before[0], "but no later");
    }

    /// Breaks if a mark is not told to its rack, is told twice, or more often than twice a round
    /// trip, or to another rack.
    #[test]
    fn marks_are_relayed_at_a_bounded_rate() {
        let (mut edge, mut host) = made();
        let mark = |edge: &mut CloveEcn, host: &mut FakeHost| {
            let mut packet = PacketMeta { path: 2, ecn: Ecn::Congested, ..data(17, 0, 1, 0) };
            host.with(|flow, cx| edge.receiving(&mut packet, flow, cx));
        };
        let told = |edge: &mut CloveEcn, host: &mut FakeHost, to: u16| {
            let mut ack = control(0, to, 80, Flags::ACK);
            host.with(|flow, cx| edge.replying(&mut ack, flow, cx));
            ack.header.0[1]
        };
        host.now = Time(1);
        mark(&mut edge, &mut host);
        assert_eq!(told(&mut edge, &mut host, 9), 0, "rack 1 has not asked");
        assert_eq!(told(&mut edge, &mut host, 18), FEEDBACK | 2, "any host of rack 2 will do");
        mark(&mut edge, &mut host);
        host.now += us(9);
        assert_eq!(told(&mut edge, &mut host, 17), 0);
        host.now += us(1);
        assert_eq!(told(&mut edge, &mut host, 17), FEEDBACK | 2);
        assert_eq!(told(&mut edge, &mut host, 17), 0);
    }

    /// Breaks if an unmarked packet is told of, or if a report in a data packet is not heard: it cuts
    /// the path that it names, for a host that only receives data from there.
    #[test]
    fn data_brings_reports_too() {
        let (mut edge, mut host) = made();
        host.now = Time(1);
        let mut packet = PacketMeta { path: 2, ..data(9, 0, 1, 0) };
        packet.header.0[1] = FEEDBACK | 3;
        host.with(|flow, cx| edge.receiving(&mut packet, flow, cx));
        assert_eq!(edge.towards.get(1, 3).weight, WEIGHT / 3 * 2);
        let mut ack = control(0, 9, 80, Flags::ACK);
        host.with(|flow, cx| edge.replying(&mut ack, flow, cx));
        assert_eq!(ack.header.0[1], 0);
    }

    /// Breaks if ACKs are not cut into flowlets and spread over the paths as data are.
    #[test]
    fn acks_are_flowlets() {
        let (mut edge, mut host) = made();
        let mut counts = [0; 4];
        for _ in 0..400 {
            host.now += us(41);
            let mut back = |now: Time| {
                host.now = now;
                let mut ack = control(0, 9, 80, Flags::ACK);
                host.with(|flow, cx| edge.replying(&mut ack, flow, cx));
                ack.path
            };
            let now = Time(us(41).0 * (1 + counts.iter().sum::<u64>()));
            let path = back(now);
            assert_eq!(back(now), path);
            counts[usize::from(path)] += 1;
        }
        assert_eq!(counts, [100; 4]);
    }

    /// Breaks if several marked paths do not take turns in being told.
    #[test]
    fn reports_take_turns() {
        let (mut edge, mut host) = made();
        let mut told = Vec::new();
        for step in 1..=6 {
            host.now = Time(us(10 * step).0);
            for path in [1, 3] {
                let mut packet = PacketMeta { path, ecn: Ecn::Congested, ..data(17, 0, 1, 0) };
                host.with(|flow, cx| edge.receiving(&mut packet, flow, cx));
            }
            let mut ack = control(0, 17, 80, Flags::ACK);
            host.with(|flow, cx| edge.replying(&mut ack, flow, cx));
            told.push(ack.header.0[1] & !FEEDBACK);
        }
        assert_eq!(told, [1, 3, 1, 3, 1, 3]);
    }
}
