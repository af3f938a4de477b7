//! Random operations, for proptest.

use super::packets::Fields;
use super::switch::{END, FABRIC, HOSTS, RATES};
use super::{host, switch};
use proptest::prelude::*;

/// What a packet may carry that no scheme wrote: small numbers, which mean something, or any.
fn fields() -> impl Strategy<Value = Fields> {
    let word = || prop_oneof![0..16u32, any::<u32>()];
    let byte = || prop_oneof![0..8u8, any::<u8>()];
    let path = prop_oneof![0..16u16, any::<u16>()];
    let tag = prop_oneof![0..8u16, any::<u16>()];
    ([word(), word()], tag, byte(), path).prop_map(|(header, tag, class, path)| Fields {
        header,
        tag,
        class,
        path,
    })
}

/// What happens at a switch.
pub fn at_a_switch() -> impl Strategy<Value = switch::Op> {
    let some_fields = || proptest::option::of(fields());
    let port = || 0..HOSTS + FABRIC;
    // The time of a bit, of some packets, of a round trip, of a timeout, of anything.
    let wait = prop_oneof![
        0..1_000u64,
        0..10_000_000u64,
        0..10_000_000_000u64,
        0..10_000_000_000_000u64,
        0..END.0 / 8
    ];
    let count = prop_oneof![10 => Just(1u16), 4 => 1..20u16, 1 => 1..600u16];
    let up = prop_oneof![9 => any::<u8>(), 1 => Just(0)];
    let rate = prop_oneof![Just(1_000_000u64), Just(1_000_000_000), Just(400_000_000_000), RATES];
    prop_oneof![
        12 => (any::<u8>(), 0..24u16, any::<u16>(), port(), any::<u32>(), count, some_fields()).prop_map(
            |(kind, flow, src, from, seq, count, fields)| switch::Op::Packets { kind, flow, src, from, seq, count, fields }),
        1 => (any::<usize>(), port(), some_fields())
            .prop_map(|(which, from, fields)| switch::Op::Probe { which, from, fields }),
        1 => (up, any::<u64>()).prop_map(|(up, random)| switch::Op::Links { up, random }),
        1 => (port(), rate).prop_map(|(port, rate)| switch::Op::Rate { port, rate }),
        8 => wait.prop_map(switch::Op::Wait),
    ]
}

/// What happens between hosts.
pub fn between_hosts() -> impl Strategy<Value = host::Op> {
    // Mostly the packet that has been on its way longest, or one close to it.
    let which = prop_oneof![4 => Just(0usize), 2 => 0..4usize, 1 => any::<usize>()];
    let some_fields = || proptest::option::weighted(0.1, fields());
    let wait = prop_oneof![0..2_000_000u64, 0..2_000_000_000u64, 0..10_000_000_000_000u64];
    prop_oneof![
        2 => (0..host::FLOWS).prop_map(host::Op::Start),
        20 => (which, prop::bool::weighted(0.3), some_fields())
            .prop_map(|(which, mark, fields)| host::Op::Deliver { which, mark, fields }),
        1 => any::<usize>().prop_map(host::Op::Drop),
        4 => wait.prop_map(host::Op::Wait),
    ]
}
