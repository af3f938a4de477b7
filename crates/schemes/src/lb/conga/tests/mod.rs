//! CONGA's decisions at a leaf, and its tags through leaf, spine and leaf.

mod choosing;
mod links;
mod tags;

use super::*;
use crate::Value;
use crate::testing::{FakeLeaf, chi_square, control, data, stated};
use leafspine_core::{Flags, SwitchId};

const HOSTS: u16 = 4;
const UPLINKS: u16 = 4;
const GAP: Span = Span::from_micros(500);

/// A switch and its balancer.
struct Switch {
    at: FakeLeaf,
    conga: Box<dyn LoadBalancer>,
}

impl Switch {
    fn new(at: FakeLeaf, params: &Params) -> Switch {
        let conga = build(params, &at.env).unwrap();
        Switch { at, conga }
    }

    fn pick(&mut self, packet: &mut PacketMeta) -> PortId {
        self.at.pick(&mut *self.conga, packet)
    }

    fn arrive(&mut self, packet: &mut PacketMeta, from: PortId) {
        let arrival = self.at.with(|cx| self.conga.arrived(packet, from, cx));
        assert_eq!(arrival, Arrival::Forward);
    }

    fn leave(&mut self, packet: &mut PacketMeta, to: PortId, at: Time) {
        self.at.with(|cx| self.conga.leaving(packet, to, at, cx));
    }

    /// Sends so many bytes by `port` at once, in packets that say nothing.
    fn load(&mut self, port: PortId, bytes: u32) {
        let now = self.at.now;
        for _ in 0..bytes / 1000 {
            self.leave(&mut PacketMeta { size: 1000, ..data(0, 9, 1, 0) }, port, now);
        }
    }
}

/// Leaves 0 and 1 and a spine for each uplink, without time on the way.
struct Fabric {
    leaves: [Switch; 2],
    spines: Vec<Switch>,
}

fn defaults() -> Params {
    stated(ENTRY.info.params, &[("gap", "500us"), ("tau", "auto")])
}

fn leaf(number: u16, uplinks: u16) -> FakeLeaf {
    let mut leaf = FakeLeaf::new(HOSTS, uplinks, 1 + u64::from(number));
    (leaf.env.switch, leaf.env.tor) = (SwitchId(number), Some(TorId(number)));
    leaf
}

fn uplink(number: u16) -> PortId {
    PortId(HOSTS + number)
}

/// Data of a flow from the first host of leaf 0 to the first of leaf 1.
fn forth(sport: u16) -> PacketMeta {
    data(0, HOSTS, sport, 0)
}

/// Any packet the other way.
fn back(sport: u16) -> PacketMeta {
    control(HOSTS, 0, sport, Flags::ACK)
}

impl Fabric {
    fn new() -> Fabric {
        let leaves = [0, 1].map(|number| Switch::new(leaf(number, UPLINKS), &defaults()));
        let spine = |_| Switch::new(FakeLeaf::spine(HOSTS, 1, 9), &defaults());
        Fabric { leaves, spines: (0..UPLINKS).map(spine).collect() }
    }

    /// Carries a packet from leaf `from` to the other by the uplink that it picks, or by `only`.
    /// Returns the uplink's number and the packet as the spine sent it.
    fn carry(
        &mut self,
        mut packet: PacketMeta,
        from: usize,
        only: Option<u16>,
    ) -> (u16, PacketMeta) {
        let source = &mut self.leaves[from];
        source.arrive(&mut packet, PortId(0));
        let all = source.at.live.clone();
        if let Some(number) = only {
            source.at.live = vec![uplink(number)];
        }
        let port = source.pick(&mut packet);
        source.at.live = all;
        let now = source.at.now;
        source.leave(&mut packet, port, now);
        let number = port.0 - HOSTS;
        // A spine has one port a leaf here.
        self.spines[usize::from(number)].leave(&mut packet, PortId(1 - from as u16), now);
        let on_wire = packet;
        self.leaves[1 - from].arrive(&mut packet, port);
        assert_eq!(packet.header, SchemeHeader::default(), "the header ends at the leaf");
        (number, on_wire)
    }
}

fn tags(packet: &PacketMeta) -> [Option<(u16, u8)>; 2] {
    packet.header.0.map(|word| Tag::read(word).map(|tag| (tag.uplink, tag.metric)))
}
