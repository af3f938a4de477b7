//! Random operations, for proptest.

use super::packets::Fields;
use super::switch::{END, FABRIC, HOSTS};
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
    let wait = prop_oneof![0..1_000u64, 0..10_000_000u64, 0..10_000_000_000u64, 0..END.0 / 8];
    let packets = prop_oneof![Just(0u32), 0..20u32, 0..300u32, 0..30_000u32];
    let rate =
        prop_oneof![Just(1_000_000u64), Just(1_000_000_000), Just(400_000_000_000), 1..u64::MAX];
    prop_oneof![
        12 => (any::<u8>(), 0..24u16, any::<u16>(), port(), any::<u32>(), some_fields())
            .prop_map(|(kind, flow, src, from, seq, fields)| switch::Op::Packet { kind, flow, src, from, seq, fields }),
        1 => (any::<usize>(), port(), some_fields())
            .prop_map(|(which, from, fields)| switch::Op::Probe { which, from, fields }),
        6 => (port(), 1..8u8).prop_map(|(port, count)| switch::Op::Serve { port, count }),
        3 => (port(), 0..4u8, packets, any::<bool>()).prop_map(
            |(port, queue, packets, in_service)| switch::Op::Load { port, queue, packets, in_service }),
        1 => (1u8.., any::<u64>()).prop_map(|(up, random)| switch::Op::Links { up, random }),
        1 => (port(), rate).prop_map(|(port, rate)| switch::Op::Rate { port, rate }),
        1 => (0..4u8, 0..1_000_000_000u64).prop_map(|(queue, ago)| switch::Op::Turn { queue, ago }),
        4 => wait.prop_map(switch::Op::Wait),
    ]
}

/// What happens between hosts.
pub fn between_hosts() -> impl Strategy<Value = host::Op> {
    let flow = || 0..6usize;
    // Mostly the packet that has been on its way longest, or one close to it.
    let which = prop_oneof![4 => Just(0usize), 2 => 0..4usize, 1 => any::<usize>()];
    let some_fields = || proptest::option::weighted(0.1, fields());
    let again = prop_oneof![4 => Just(None), 1 => any::<u32>().prop_map(Some)];
    let wait = prop_oneof![0..2_000_000u64, 0..2_000_000_000u64, 0..10_000_000_000_000u64];
    prop_oneof![
        6 => (flow(), 1..12u8, again)
            .prop_map(|(flow, count, again)| host::Op::Send { flow, count, again }),
        1 => (flow(), any::<u8>(), some_fields())
            .prop_map(|(flow, kind, fields)| host::Op::Control { flow, kind, fields }),
        20 => (which, prop::bool::weighted(0.3), some_fields())
            .prop_map(|(which, mark, fields)| host::Op::Deliver { which, mark, fields }),
        1 => any::<usize>().prop_map(host::Op::Drop),
        1 => (flow(), any::<bool>()).prop_map(|(flow, timeout)| host::Op::Lost { flow, timeout }),
        4 => wait.prop_map(host::Op::Wait),
    ]
}
