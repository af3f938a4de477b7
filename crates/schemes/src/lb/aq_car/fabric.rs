//! Two mock leaves and the mock spines between them: what the tests send goes from the source's
//! leaf over the stamp of a spine to the destination's, and what is fed back returns.

use super::ENTRY;
use super::header::{Feedback, feedback};
use super::table::Table;
use crate::lb::LoadBalancer;
use crate::testing::{FakeLeaf, control, data, stated};
use crate::{Backlog, Level, Params};
use leafspine_core::{Ecn, Flags, HostId, PacketMeta, PortId, Span, SwitchId, TorId};

/// Hosts of a leaf: 0 to 3 are the source's, 4 to 7 the destination's.
pub(super) const HOSTS: u16 = 4;
/// The source and the destination of most flows.
pub(super) const SRC: u16 = 0;
pub(super) const DST: u16 = 5;

/// A mock switch, and its balancer.
pub(super) struct Switch {
    pub(super) place: FakeLeaf,
    pub(super) balancer: Box<dyn LoadBalancer>,
}

impl Switch {
    fn new(mut place: FakeLeaf, params: &Params) -> Switch {
        place.env.queues = 3;
        place.env.weights = vec![4, 2, 1];
        for port in &mut place.ports.ports {
            port.queues = vec![Backlog::default(); 3];
        }
        let balancer = (ENTRY.build)(params, &place.env).unwrap();
        Switch { place, balancer }
    }

    /// Lets so many packets wait in a queue of a port.
    pub(super) fn fill(&mut self, port: u16, queue: usize, packets: u32) {
        let waits = Backlog { packets, bytes: packets * 1500, in_service: 0 };
        self.place.ports.ports[usize::from(port)].queues[queue] = waits;
    }

    pub(super) fn arrived(&mut self, packet: &mut PacketMeta, from: u16) {
        let balancer = &mut self.balancer;
        self.place.with(|cx| balancer.arrived(packet, PortId(from), cx));
    }

    pub(super) fn leaving(&mut self, packet: &mut PacketMeta, to: u16) {
        let balancer = &mut self.balancer;
        self.place.with(|cx| balancer.leaving(packet, PortId(to), cx.now, cx));
    }

    pub(super) fn pick(&mut self, packet: &mut PacketMeta) -> PortId {
        self.place.pick(&mut *self.balancer, packet)
    }
}

/// See the module's text.
pub(super) struct Fabric {
    pub(super) source: Switch,
    pub(super) destination: Switch,
    /// By number; each has its port to the destination's leaf as port 1.
    pub(super) spines: Vec<Switch>,
}

/// Rerouting as the text was read first: from there each test changes one reading.
pub(super) fn first_read() -> Params {
    let readings = [
        ("threshold", "64pkt"),
        ("reroute_stages", "upper-half"),
        ("stop_level", "1"),
        ("uncongested_only", "false"),
        ("large_sharing", "one-leaf"),
    ];
    stated(ENTRY.info.params, &readings)
}

impl Fabric {
    pub(super) fn new(spines: u16) -> Fabric {
        Fabric::with(spines, &first_read())
    }

    pub(super) fn with(spines: u16, params: &Params) -> Fabric {
        let source = FakeLeaf::new(HOSTS, spines, 1);
        let mut destination = FakeLeaf::new(HOSTS, spines, 2);
        (destination.env.switch, destination.env.tor) = (SwitchId(1), Some(TorId(1)));
        let spine = |_| {
            let mut place = FakeLeaf::new(0, 4, 3);
            (place.env.level, place.env.tor) = (Level(1), None);
            Switch::new(place, params)
        };
        Fabric {
            source: Switch::new(source, params),
            destination: Switch::new(destination, params),
            spines: (0..spines).map(spine).collect(),
        }
    }

    /// Lets time pass everywhere.
    pub(super) fn wait(&mut self, span: Span) {
        self.source.place.wait(span);
        self.destination.place.wait(span);
    }

    /// Sends a packet of the source's hosts to the destination's leaf. Returns the spine it took.
    pub(super) fn send(&mut self, mut packet: PacketMeta) -> u16 {
        let spine = self.source.pick(&mut packet).0 - HOSTS;
        self.deliver(packet, spine);
        spine
    }

    /// A packet leaves this spine for the destination's leaf and arrives there.
    pub(super) fn deliver(&mut self, mut packet: PacketMeta, spine: u16) {
        self.spines[usize::from(spine)].leaving(&mut packet, 1);
        self.destination.arrived(&mut packet, HOSTS + spine);
    }

    /// Sends what a host at the destination's leaf answers; the source's leaf gets it. Returns what was
    /// fed back with it.
    pub(super) fn reply(&mut self, mut packet: PacketMeta) -> Feedback {
        let port = self.destination.pick(&mut packet).0;
        self.spines[usize::from(port - HOSTS)].leaving(&mut packet, 0);
        self.source.arrived(&mut packet, port);
        feedback(&packet)
    }

    /// Opens a flow. Returns the spines that its SYN and then its data take.
    pub(super) fn open(&mut self, sport: u16) -> (u16, u16) {
        let syn = self.send(control(SRC, DST, sport, Flags::SYN));
        self.reply(syn_ack(sport));
        (syn, self.send(data(SRC, DST, sport, 0)))
    }

    /// Makes the destination's leaf see this level on every spine, in packets of this stage.
    pub(super) fn show(&mut self, stage: u8, levels: &[u32]) {
        for (spine, level) in levels.iter().enumerate() {
            let queue = if stage == 0 { 0 } else { 1 };
            self.spines[spine].fill(1, queue, level * 16);
            // A flow of another leaf: it asks for nothing here.
            self.deliver(PacketMeta { class: stage, ..data(12, DST, 999, 0) }, spine as u16);
        }
    }
}

/// The SYN-ACK of flow `sport`.
pub(super) fn syn_ack(sport: u16) -> PacketMeta {
    reversed(control(SRC, DST, sport, Flags::SYN.with(Flags::ACK)))
}

/// A pure ACK of flow `sport`.
pub(super) fn ack(sport: u16) -> PacketMeta {
    reversed(control(SRC, DST, sport, Flags::ACK))
}

/// As the destination sends it.
pub(super) fn reversed(packet: PacketMeta) -> PacketMeta {
    PacketMeta { tuple: packet.tuple.reversed(), ..packet }
}

/// A data packet of flow `sport` with a stage.
pub(super) fn staged(sport: u16, stage: u8) -> PacketMeta {
    PacketMeta { class: stage, ..data(SRC, DST, sport, 0) }
}

/// The same, marked.
pub(super) fn marked(sport: u16, stage: u8) -> PacketMeta {
    PacketMeta { ecn: Ecn::Congested, ..staged(sport, stage) }
}

/// A table with these levels.
pub(super) fn table(levels: &[u32]) -> Table {
    let mut table = Table::default();
    for (port, level) in levels.iter().enumerate() {
        table.set(port as u8, *level);
    }
    table
}

/// The five-tuple of flow `sport`.
pub(super) fn flow(sport: u16) -> leafspine_core::FiveTuple {
    leafspine_core::FiveTuple::new(HostId(SRC), HostId(DST), sport, 80)
}
