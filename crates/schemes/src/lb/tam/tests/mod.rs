//! TAM line by line. The switch is a leaf of the paper's small fabric: 1 Gb/s, RTT 200 us, hosts on
//! ports 0 to 7, uplinks 8 to 11.

mod marking;
mod on_p4;
mod routing;
mod tables;

use super::*;
use crate::aqm::Admit;
use crate::testing::{FakeLeaf, data, stated};
use crate::{Amount, Backlog, QueueView, Value};
use leafspine_core::{Rng, Role};

const RTT: Span = Span::from_micros(200);
const GAP: Span = Span::from_micros(500);

/// A leaf that runs TAM.
struct Leaf {
    fake: FakeLeaf,
    tam: Tam,
}

fn word(text: &str) -> Value {
    Value::Word(text.to_owned())
}

/// The parameters of the paper's small fabric. Sizes are what the switch has seen: packets need no
/// sequence numbers.
fn small() -> Params {
    stated(ENTRY.info.params, &[("threshold", "by-rate"), ("gap", "by-rate")])
        .with("rtt", Value::Span(RTT))
        .with("size", word("seen"))
}

impl Leaf {
    fn new(params: &Params) -> Leaf {
        Leaf::at(params, Rate::from_gbps(1), 1)
    }

    /// All ports of the same rate.
    fn at(params: &Params, rate: Rate, seed: u64) -> Leaf {
        let mut fake = FakeLeaf::new(8, 4, seed);
        fake.env.ports.iter_mut().for_each(|port| port.rate = rate);
        fake.ports.ports.iter_mut().for_each(|port| port.rate = rate);
        let tam = made(&Settings::read(params).unwrap(), &fake.env);
        Leaf { fake, tam }
    }

    fn wait(&mut self, span: Span) {
        self.fake.wait(span);
    }

    /// So many full packets wait at `port`, one more is in transmission.
    fn queue(&mut self, port: u16, packets: u32) {
        let port = &mut self.fake.ports.ports[usize::from(port)];
        port.queues[0] = Backlog { packets, bytes: packets * 1500, in_service: 0 };
        port.in_service = 1500;
    }

    /// Calls `f` with TAM and what the engine hands it.
    fn with<T>(&mut self, f: impl FnOnce(&mut Tam, &mut Context<'_>) -> T) -> T {
        let fake = &mut self.fake;
        let mut cx = Context {
            now: fake.now,
            rng: &mut fake.rng,
            ports: &mut fake.ports,
            outbox: &mut fake.outbox,
        };
        f(&mut self.tam, &mut cx)
    }

    /// The packet comes in and is given a port.
    fn pick(&mut self, packet: &mut PacketMeta) -> u16 {
        self.with(|tam, cx| tam.arrived(packet, PortId(0), cx));
        self.fake.pick(&mut self.tam, packet).0
    }

    /// The packet asks to be queued at `port`.
    fn admit(&mut self, packet: &PacketMeta, port: u16) -> Admit {
        let port = PortId(port);
        let (now, rate) = (self.fake.now, self.fake.ports.ports[usize::from(port.0)].rate);
        let waits = crate::Ports::backlog(&mut self.fake.ports, port);
        let queue = QueueView { port, queue: 0, this: waits, port_total: waits, rate };
        let mut rng = Rng::new(1, Role::Aqm, 0);
        self.tam.admit(packet, &queue, now, &mut rng)
    }

    /// A full packet of the flow `sport` goes up: its port, and whether it is marked.
    fn send(&mut self, sport: u16) -> (u16, Admit) {
        let mut packet = data(0, 9, sport, 0);
        let port = self.pick(&mut packet);
        (port, self.admit(&packet, port))
    }

    /// Only `port` is live while `f` runs.
    fn only<T>(&mut self, port: u16, f: impl FnOnce(&mut Leaf) -> T) -> T {
        let live = std::mem::replace(&mut self.fake.live, vec![PortId(port)]);
        let result = f(self);
        self.fake.live = live;
        result
    }

    /// The same by `port`, the only one that is live.
    fn send_by(&mut self, port: u16, sport: u16) -> Admit {
        self.only(port, |leaf| leaf.send(sport)).1
    }

    /// The flow becomes long on `port`: 67 full packets are 100,500 bytes. A short flow is active
    /// there from then on.
    fn make_long(&mut self, sport: u16, port: u16) {
        (0..67).for_each(|_| _ = self.send_by(port, sport));
    }

    /// The same, and so much later that no short flow is active any more and the flow is.
    fn make_long_alone(&mut self, sport: u16, port: u16) {
        self.make_long(sport, port);
        self.wait(RTT);
        assert_eq!(self.send(sport).0, port);
    }

    /// Active and all long flows of `port`.
    fn long_flows(&self, port: u16) -> (u32, u32) {
        let port = &self.tam.ports.ports[usize::from(port)];
        (port.active, port.total)
    }

    fn footprint(&self) -> Footprint {
        self.tam.footprint(self.fake.now)
    }
}
