//! Packet headers: whatever words, tags, stages and paths packets carry, every scheme of switches and
//! hosts keeps its bounds, and does the same again.
//!
//! The bounds are those of the property test in `crates/node/tests/any`, which draws its
//! operations at random; here they follow the input.

use crate::any::packets::Fields;
use crate::any::switch::{END, FABRIC, HOSTS, RATES};
use crate::any::world::World;
use crate::any::{host, switch};
use arbitrary::{Result, Unstructured};
use leafspine_core::mix;
use leafspine_schemes::registry::{self, Place};

/// More operations than these are not read.
const MOST: usize = 200;

/// The first two bytes choose the scheme, the next two the seed of its parameters and surroundings,
/// the others say what happens.
///
/// # Panics
/// If the scheme does, if it breaks its bounds, or if it does other things the second time.
pub fn check(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let _ = drive(&mut input);
}

fn drive(input: &mut Unstructured<'_>) -> Result<()> {
    let (key, seed) = (input.arbitrary::<u16>()?, u64::from(input.arbitrary::<u16>()?));
    let (place, name) = scheme(key);
    if place == Place::HostEdge {
        let ops = all(input, between_hosts);
        let entry = registry::host_edge(name).expect("a registered edge");
        twice(|| host::World::new(entry, seed), &ops);
    } else {
        let ops = all(input, at_a_switch);
        let info = place.find(name).expect("a registered scheme");
        twice(|| switch::World::new(place, info, seed), &ops);
    }
    Ok(())
}

/// The scheme that a key stands for. A new scheme takes some keys for itself and leaves all others
/// as they were, so that a kept input goes on testing what it was kept for.
fn scheme(key: u16) -> (Place, &'static str) {
    let places = [Place::LoadBalancer, Place::Aqm, Place::Hold, Place::HostEdge];
    let named = places
        .into_iter()
        .flat_map(|place| place.names().into_iter().map(move |name| (place, name)));
    let claim = |(place, name): &(Place, &str)| {
        let text = place.table().bytes().chain(name.bytes());
        text.fold(u64::from(key), |sum, byte| mix(sum ^ u64::from(byte)))
    };
    named.max_by_key(claim).expect("there are schemes")
}

/// Drives a scheme two times, if its parameters suit it.
fn twice<W: World>(make: impl Fn() -> Option<W>, ops: &[W::Op]) {
    let run = || {
        let mut world = make()?;
        ops.iter().for_each(|op| world.apply(op));
        world.finish();
        Some(world.decisions().to_vec())
    };
    assert_eq!(run(), run(), "it does not repeat itself");
}

fn all<T>(
    input: &mut Unstructured<'_>,
    next: impl Fn(&mut Unstructured<'_>) -> Result<T>,
) -> Vec<T> {
    let mut ops = Vec::new();
    while ops.len() < MOST && !input.is_empty() {
        ops.extend(next(input));
    }
    ops
}

/// Of any length: small, where small numbers mean something, or whatever fits.
fn word(input: &mut Unstructured<'_>) -> Result<u32> {
    let small = input.arbitrary::<u8>()?;
    if small < 200 { Ok(u32::from(small % 32)) } else { input.arbitrary() }
}

fn fields(input: &mut Unstructured<'_>) -> Result<Option<Fields>> {
    if input.ratio(1, 2)? {
        return Ok(None);
    }
    let header = [word(input)?, word(input)?];
    let (tag, class, path) = (input.arbitrary()?, input.arbitrary()?, input.arbitrary()?);
    Ok(Some(Fields { header, tag, class, path }))
}

/// Short or long, to the end of what fits.
fn wait(input: &mut Unstructured<'_>, most: u64) -> Result<u64> {
    let (digits, scale) = (input.arbitrary::<u16>()?, input.int_in_range(0..=47)?);
    Ok((u64::from(digits) << scale).min(most))
}

fn packets(input: &mut Unstructured<'_>, count: u16) -> Result<switch::Op> {
    Ok(switch::Op::Packets {
        kind: input.arbitrary()?,
        flow: input.int_in_range(0..=23)?,
        src: input.arbitrary::<u8>()?.into(),
        from: input.int_in_range(0..=HOSTS + FABRIC - 1)?,
        seq: word(input)?,
        count,
        fields: fields(input)?,
    })
}

fn at_a_switch(input: &mut Unstructured<'_>) -> Result<switch::Op> {
    use switch::Op;
    let ports = 0..=HOSTS + FABRIC - 1;
    Ok(match input.int_in_range(0..=15u8)? {
        0..=5 => packets(input, 1)?,
        6 => Op::Probe {
            which: input.arbitrary::<u8>()?.into(),
            from: input.int_in_range(ports)?,
            fields: fields(input)?,
        },
        // Some packets' time on a line.
        7..=9 => Op::Wait(wait(input, 100_000_000)?),
        10 | 11 => {
            let count = input.int_in_range(1..=600)?;
            packets(input, count)?
        }
        12 => Op::Links { up: input.arbitrary()?, random: input.arbitrary()? },
        13 => {
            let rate = input.arbitrary::<u64>()? >> input.int_in_range(0..=63)?;
            let rate = rate.clamp(*RATES.start(), *RATES.end());
            Op::Rate { port: input.int_in_range(ports)?, rate }
        }
        _ => Op::Wait(wait(input, END.0 / 8)?),
    })
}

fn between_hosts(input: &mut Unstructured<'_>) -> Result<host::Op> {
    use host::Op;
    Ok(match input.int_in_range(0..=15u8)? {
        0..=3 => Op::Start(input.int_in_range(0..=host::FLOWS - 1)?),
        4..=11 => Op::Deliver {
            which: (word(input)? % 64) as usize,
            mark: input.arbitrary()?,
            fields: fields(input)?,
        },
        12 => Op::Drop((word(input)? % 64) as usize),
        _ => Op::Wait(wait(input, 10_000_000_000_000)?),
    })
}
