//! GOAL schedules as files: the text, and the same as `txt2bin` writes it.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use std::fmt::Write;

/// What an operation does; peers are ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Does {
    Send(u32),
    Receive(u32),
    Compute,
}

/// An operation: what it does, of what size, with which numbers. A computation has no tag and no
/// network card.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub does: Does,
    pub size: u64,
    pub tag: u32,
    pub cpu: u8,
    pub nic: u8,
}

/// A rank's operations, and of each wait who waits for whom, and whether for its start.
#[derive(Clone, Default, Debug)]
pub struct Ops {
    pub ops: Vec<Op>,
    pub waits: Vec<(u32, u32, bool)>,
}

/// A message or computation without other numbers.
pub fn op(does: Does, size: u64) -> Op {
    Op { does, size, tag: 0, cpu: 0, nic: 0 }
}

/// The schedule as a text, the waits of a rank behind its operations.
pub fn text(ranks: &[Ops]) -> String {
    let mut text = format!("num_ranks {}\n", ranks.len());
    for (rank, of) in ranks.iter().enumerate() {
        let _ = writeln!(text, "rank {rank} {{");
        for (label, Op { does, size, tag, cpu, nic }) in of.ops.iter().enumerate() {
            let _ = match does {
                Does::Send(to) => {
                    writeln!(text, "l{label}: send {size}b to {to} tag {tag} cpu {cpu} nic {nic}")
                }
                Does::Receive(from) => {
                    writeln!(
                        text,
                        "l{label}: recv {size}b from {from} tag {tag} cpu {cpu} nic {nic}"
                    )
                }
                Does::Compute => writeln!(text, "l{label}: calc {size} cpu {cpu}"),
            };
        }
        for (label, before, at_start) in &of.waits {
            let how = if *at_start { "irequires" } else { "requires" };
            let _ = writeln!(text, "l{label} {how} l{before}");
        }
        text.push_str("}\n");
    }
    text
}

/// The schedule in binary.
pub fn binary(ranks: &[Ops]) -> Vec<u8> {
    let all = || ranks.iter().flat_map(|rank| &rank.ops);
    let mut bytes = vec![0x7f, 0x10, 0, 0, 0, 0, 0, 0];
    bytes.extend((ranks.len() as u32).to_le_bytes());
    bytes.push(all().map(|op| op.cpu).max().unwrap_or(0));
    bytes.push(all().map(|op| op.nic).max().unwrap_or(0));
    let sections: Vec<Vec<u8>> = ranks.iter().map(section).collect();
    // Where ranks are is counted from the eighth byte on.
    let mut at = 6 + 16 * ranks.len() as u64;
    for section in &sections {
        bytes.extend(at.to_le_bytes());
        at += section.len() as u64;
        bytes.extend(at.to_le_bytes());
    }
    bytes.extend(sections.concat());
    bytes
}

/// A rank in binary.
fn section(rank: &Ops) -> Vec<u8> {
    let waits_for = |label| rank.waits.iter().filter(|wait| wait.0 == label).count() as u32;
    let free: Vec<u32> =
        (0..rank.ops.len() as u32).filter(|label| waits_for(*label) == 0).collect();
    let (mut words, mut list) = (vec![rank.ops.len() as u32, free.len() as u32], Vec::new());
    words.extend(free);
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (label, op) in (0..).zip(&rank.ops) {
        let (kind, peer) = match op.does {
            Does::Send(to) => (1, to),
            Does::Receive(from) => (2, from),
            Does::Compute => (3, 0),
        };
        bytes.extend(waits_for(label).to_le_bytes());
        bytes.push(kind);
        bytes.extend(peer.to_le_bytes());
        bytes.extend(op.size.to_le_bytes());
        bytes.extend(op.tag.to_le_bytes());
        bytes.extend([op.cpu, op.nic]);
        for at_start in [false, true] {
            let first = list.len() as u32;
            let waiting = rank.waits.iter().filter(|wait| (wait.1, wait.2) == (label, at_start));
            list.extend(waiting.map(|wait| wait.0));
            bytes.extend((list.len() as u32 - first).to_le_bytes());
            bytes.extend(first.to_le_bytes());
        }
    }
    bytes.extend(list.iter().flat_map(|label| label.to_le_bytes()));
    bytes
}
