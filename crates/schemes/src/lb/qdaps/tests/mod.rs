//! QDAPS's choices by hand. Ports 8 to 11 are the uplinks Q1 to Q4. Unless a test says otherwise their
//! links have 1 Gb/s, as in §IV: a full packet takes 12 us, and S is 33 packets.

mod choosing;
mod on_p4;
mod rerouting;
mod star;
mod table;

use super::entries::{build, build_star};
use super::*;
use crate::testing::{FakeLeaf, chi_square, control, data, stated};
use crate::{Params, SwitchEnv, Value};
use leafspine_core::{Bytes, Flags, Rate};

const Q1: PortId = PortId(8);
const Q2: PortId = PortId(9);
const Q3: PortId = PortId(10);
const Q4: PortId = PortId(11);

fn defaults() -> Params {
    stated(ENTRY.info.params, &[("marking", "65"), ("threshold", "41pkt")])
}

fn word(text: &str) -> Value {
    Value::Word(text.to_owned())
}

/// A leaf with so many uplinks at 1 Gb/s.
fn leaf(uplinks: u16) -> FakeLeaf {
    let mut leaf = FakeLeaf::new(8, uplinks, 1);
    for (port, info) in leaf.ports.ports.iter_mut().zip(&mut leaf.env.ports) {
        (port.rate, info.rate) = (Rate::from_gbps(1), Rate::from_gbps(1));
    }
    leaf
}

/// So many bytes wait at `port`.
fn wait_bytes(leaf: &mut FakeLeaf, port: PortId, packets: u32, bytes: u32) {
    leaf.ports.ports[usize::from(port.0)].queues[0] = Backlog { packets, bytes, in_service: 0 };
}

/// So many full packets wait at Q1, Q2 and so on, as far as there are such ports.
fn queues(leaf: &mut FakeLeaf, packets: &[u32]) {
    let ports = leaf.ports.ports.len() as u16;
    for (port, packets) in (Q1.0..ports).map(PortId).zip(packets) {
        wait_bytes(leaf, port, *packets, packets * 1500);
    }
}

fn us(us: u64) -> Span {
    Span::from_micros(us)
}

/// A switch and its balancer, fed with one flow.
struct Flow {
    leaf: FakeLeaf,
    qdaps: Box<dyn LoadBalancer>,
    seq: u32,
}

impl Flow {
    fn new(leaf: FakeLeaf, params: &Params) -> Flow {
        let qdaps = build(params, &leaf.env).unwrap();
        Flow { leaf, qdaps, seq: 0 }
    }

    /// Where the flow's next packet goes when so many packets wait at Q1, Q2 and so on.
    fn next(&mut self, packets: &[u32]) -> PortId {
        queues(&mut self.leaf, packets);
        self.send(1500)
    }

    fn send(&mut self, size: u16) -> PortId {
        self.seq += 1;
        let mut packet = PacketMeta { size, ..data(0, 9, 1, self.seq) };
        self.leaf.pick(&mut *self.qdaps, &mut packet)
    }

    /// Sends full packets until the flow has sent so many bytes, all by an empty Q1, and waits until
    /// nothing is left of the last one's delay.
    fn grow(&mut self, bytes: u32) {
        let mut left = bytes;
        while left > 0 {
            queues(&mut self.leaf, &[0, 9, 9, 9]);
            let size = left.min(1500);
            assert_eq!(self.send(size as u16), Q1);
            left -= size;
            self.leaf.wait(us(12));
        }
    }
}
