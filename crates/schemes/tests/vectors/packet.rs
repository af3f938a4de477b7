//! Packets of a vector: known by number, set and shown field by field.

use super::line::{Args, Wrong, number};
use leafspine_core::{Ecn, FiveTuple, Flags, HostId, PacketMeta, PortId};
use std::collections::BTreeMap;

/// The letters of the flags, lowest bit first.
const FLAGS: &str = "SAFRECDP";

/// The fields, in the order in which they are shown. `flow` and `sack` are the engine's.
const FIELDS: [&str; 16] = [
    "src", "dst", "sport", "dport", "seq", "size", "payload", "flags", "ecn", "class", "tag",
    "header0", "header1", "path", "stamp", "notes",
];

fn get(packet: &PacketMeta, field: &str) -> u64 {
    let tuple = packet.tuple.0;
    match field {
        "src" => tuple >> 48,
        "dst" => tuple >> 32 & 0xffff,
        "sport" => tuple >> 16 & 0xffff,
        "dport" => tuple & 0xffff,
        "seq" => packet.seq.into(),
        "size" => packet.size.into(),
        "payload" => packet.payload.into(),
        "flags" => packet.flags.0.into(),
        "ecn" => packet.ecn as u64,
        "class" => packet.class.into(),
        "tag" => packet.tag.into(),
        "header0" => packet.header.0[0].into(),
        "header1" => packet.header.0[1].into(),
        "path" => packet.path.into(),
        "stamp" => packet.stamp.into(),
        "notes" => packet.notes.into(),
        _ => unreachable!("{field} is no field"),
    }
}

fn show(packet: &PacketMeta, field: &str) -> String {
    let value = get(packet, field);
    match field {
        "flags" if value == 0 => "flags=-".to_owned(),
        "flags" => {
            let set = FLAGS.chars().enumerate().filter(|(bit, _)| value >> bit & 1 == 1);
            "flags=".chars().chain(set.map(|(_, letter)| letter)).collect()
        }
        _ => format!("{field}={value}"),
    }
}

fn set(packet: &mut PacketMeta, field: &str, text: &str) -> Result<(), Wrong> {
    let FiveTuple(tuple) = packet.tuple;
    let part = |shift: u32| tuple >> shift & 0xffff;
    let tuple = |src: u64, dst: u64, sport: u64, dport: u64| {
        FiveTuple::new(HostId(src as u16), HostId(dst as u16), sport as u16, dport as u16)
    };
    let word = || number::<u16>(field, text).map(u64::from);
    match field {
        "src" => packet.tuple = tuple(word()?, part(32), part(16), part(0)),
        "dst" => packet.tuple = tuple(part(48), word()?, part(16), part(0)),
        "sport" => packet.tuple = tuple(part(48), part(32), word()?, part(0)),
        "dport" => packet.tuple = tuple(part(48), part(32), part(16), word()?),
        "seq" => packet.seq = number(field, text)?,
        "size" => packet.size = number(field, text)?,
        "payload" => packet.payload = number(field, text)?,
        "flags" => packet.flags = flags(text)?,
        "ecn" => {
            packet.ecn = match text {
                "0" => Ecn::NotCapable,
                "2" => Ecn::Capable,
                "3" => Ecn::Congested,
                _ => return Err(format!("ecn={text}; allowed: 0, 2, 3")),
            }
        }
        "class" => packet.class = number(field, text)?,
        "tag" => packet.tag = number(field, text)?,
        "header0" => packet.header.0[0] = number(field, text)?,
        "header1" => packet.header.0[1] = number(field, text)?,
        "path" => packet.path = number(field, text)?,
        "stamp" => packet.stamp = number(field, text)?,
        "notes" => packet.notes = number(field, text)?,
        _ => unreachable!("{field} is no field"),
    }
    Ok(())
}

fn flags(text: &str) -> Result<Flags, Wrong> {
    if text == "-" {
        return Ok(Flags::default());
    }
    let bit = |letter| FLAGS.find(letter).map(|bit| Flags(1 << bit));
    let known = || format!("flags={text}; allowed: letters of {FLAGS}, or - for none");
    text.chars().try_fold(Flags::default(), |sum, c| Some(sum.with(bit(c)?))).ok_or_else(known)
}

/// A packet that no line has described yet.
fn blank() -> PacketMeta {
    PacketMeta { path: PacketMeta::NO_PATH, ..PacketMeta::default() }
}

/// All fields in which `packet` is not blank.
pub fn described(packet: &PacketMeta) -> String {
    changes(&blank(), packet).join(" ")
}

/// The fields in which `after` differs from `before`.
pub fn changes(before: &PacketMeta, after: &PacketMeta) -> Vec<String> {
    assert_eq!((before.flow, before.sack), (after.flow, after.sack), "these are the engine's");
    let differs = |field: &&&str| get(before, field) != get(after, field);
    FIELDS.iter().filter(differs).map(|field| show(after, field)).collect()
}

/// A packet as the last event left it.
#[derive(Clone, Copy)]
pub struct Known {
    pub meta: PacketMeta,
    /// The port that was picked for it last.
    pub port: Option<PortId>,
}

/// The packets that lines have named.
pub struct Packets {
    by_number: BTreeMap<u32, Known>,
    hosts: u32,
}

impl Packets {
    /// None yet, in a fabric of so many hosts.
    pub fn among(hosts: u32) -> Packets {
        Packets { by_number: BTreeMap::new(), hosts }
    }

    /// Takes `packet=` and the fields beside it, sets them, and gives the packet with its number.
    pub fn named(&mut self, args: &mut Args<'_>) -> Result<(u32, Known), Wrong> {
        let number = args.number("packet")?;
        let fields = args.rest();
        let mut known = match self.by_number.get(&number) {
            Some(known) => *known,
            None if fields.is_empty() => return Err(format!("packet {number} is not known yet")),
            None => Known { meta: blank(), port: None },
        };
        for (field, text) in fields {
            if !FIELDS.contains(&field) {
                return Err(format!("nothing here takes \"{field}=\""));
            }
            set(&mut known.meta, field, text)?;
        }
        let ends = [known.meta.src(), known.meta.dst()];
        if let Some(host) = ends.iter().find(|host| u32::from(host.0) >= self.hosts) {
            return Err(format!("there is no host {}", host.0));
        }
        self.by_number.insert(number, known);
        Ok((number, known))
    }

    /// Keeps the packet as an event has left it.
    pub fn keep(&mut self, number: u32, known: Known) {
        self.by_number.insert(number, known);
    }
}
