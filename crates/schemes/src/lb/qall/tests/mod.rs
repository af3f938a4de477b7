//! QALL: its index, the state of its ports, its draws.

mod forwarding;
mod index;
mod on_p4;
mod replay;
mod state;

use super::index::{Behaviour, Fit, Index, ONE};
use super::port::{Clone10, PortState, Rules};
use super::*;
use crate::Value;
use crate::testing::{FakeLeaf, chi_square, data, stated};
use leafspine_core::Rng;

const US: u64 = 1_000_000;
const TAU: u64 = 10_000;

fn defaults() -> Params {
    stated(ENTRY.info.params, &[("gap", "10ms")])
}

fn settings(params: &Params) -> Settings {
    Settings::read(params).unwrap()
}

fn word(key: &str, value: &str) -> Params {
    defaults().with(key, Value::Word(value.to_owned()))
}

fn index(variant: &str) -> Index {
    Index::new(&settings(&word("variant", variant)), TAU).unwrap()
}

fn fit(variant: &str) -> Fit {
    match index(variant) {
        Index::Fitted(fit) => *fit,
        Index::Derived { .. } => panic!("{variant} is a fit"),
    }
}

fn queue(occupancy: u8, interval: u64, trend: u8) -> Behaviour {
    Behaviour { occupancy, interval, trend }
}

fn found(packets: u32) -> PacketMeta {
    let mut packet = data(0, 9, 1, 0);
    packet.header.0[FOUND] = packets;
    packet
}

/// A leaf of 4 hosts and 4 uplinks (ports 4 to 7), 100 packets a port: a packet is a percent.
fn leaf() -> FakeLeaf {
    let mut leaf = FakeLeaf::new(4, 4, 1);
    leaf.env.buffer = Amount::Packets(100);
    leaf
}

/// A packet that found so many packets waiting is dequeued at `port` right now.
fn leave(leaf: &mut FakeLeaf, qall: &mut Qall, port: u16, packets: u32) {
    let now = leaf.now;
    leave_at(leaf, qall, port, packets, now);
}

fn leave_at(leaf: &mut FakeLeaf, qall: &mut Qall, port: u16, packets: u32, at: Time) {
    let mut cx = Context {
        now: leaf.now,
        rng: &mut leaf.rng,
        ports: &mut leaf.ports,
        outbox: &mut leaf.outbox,
    };
    qall.leaving(&mut found(packets), PortId(port), at, &mut cx);
}

/// The weight of `port` as the ingress would use it now.
fn weight(leaf: &mut FakeLeaf, qall: &mut Qall, port: u16) -> u64 {
    let mut cx = Context {
        now: leaf.now,
        rng: &mut leaf.rng,
        ports: &mut leaf.ports,
        outbox: &mut leaf.outbox,
    };
    qall.weight(PortId(port), &mut cx)
}

/// What the ingress knows of `port` now.
fn known(leaf: &mut FakeLeaf, qall: &mut Qall, port: u16) -> Behaviour {
    weight(leaf, qall, port);
    qall.ports[usize::from(port)].known
}
