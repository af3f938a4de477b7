//! Hermes against its algorithms.

mod choosing;
mod failures;
mod feedback;
mod sensing;

use super::entry::{Settings, build, make};
use super::sense::GAIN;
use super::*;
use crate::Params;
use crate::Value;
use crate::testing::{FakeHost, control, data, stated};
use leafspine_core::Bytes;

/// So many microseconds in the units of a `Sense`.
fn units(us: u64) -> u32 {
    (Span::from_micros(us).0 >> (STAMP_SHIFT - GAIN)) as u32
}

/// Host 0, rack 0's agent, with 4 paths to each of 4 racks. At 10 Gb/s with 1500-byte packets and a
/// round trip of 20 us the low bound is 50 us, the high one 137, and notably better 78 less.
fn made() -> (Hermes, FakeHost) {
    made_with(&stated(ENTRY.info.params, &[("low_delay", "25pkt"), ("hop_delay", "65pkt")]))
}

fn made_with(params: &Params) -> (Hermes, FakeHost) {
    let host = FakeHost::new(1_460);
    (make(&Settings::read(params).unwrap(), &host.env), host)
}

fn by_default() -> Settings {
    Settings::read(&Params::defaults(Settings::PARAMS)).unwrap()
}

/// Makes a path to rack 1 known as this.
fn know(hermes: &mut Hermes, path: usize, us: u64, marked: f64) {
    hermes.table.row(1)[path].sense = Sense { rtt: units(us), marked: (marked * 65_536.0) as u32 };
}

/// The path of the flow's next segment to rack 1.
fn send(hermes: &mut Hermes, host: &mut FakeHost) -> u16 {
    let mut packet = data(0, 9, 1, 0);
    host.send(hermes, &mut packet);
    packet.path
}

/// An ACK from rack 1 about a path.
fn ack(hermes: &mut Hermes, host: &mut FakeHost, path: u32, us: u64, marked: bool) {
    let mut ack = control(9, 0, 80, Flags::ACK);
    ack.header.0[1] = VALID | if marked { MARKED } else { 0 } | path;
    let rtt = Some(Span::from_micros(us));
    host.with(|flow, cx| hermes.acked(&ack, rtt, flow, cx));
}
