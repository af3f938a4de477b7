//! What is read of binary schedules: the same as of their text. And what is refused.

#[path = "../../../tests/common/goal_files.rs"]
mod files;

use super::super::lines;
use super::*;
use files::{Does, Op, Ops, binary, op, text};
use proptest::prelude::*;

fn name() -> &'static Path {
    Path::new("a.bin")
}

fn said(bytes: &[u8]) -> String {
    read(bytes, name()).err().map_or_else(String::new, |error| error.to_string())
}

/// Statements and waits of a rank, each in order, without their places.
type Said = (Vec<(Label, Statement)>, Vec<(Label, Label, bool)>, Label);

fn each(ranks: &[Rank]) -> Vec<Said> {
    let of = |rank: &Rank| {
        let (mut statements, mut waits) = (Vec::new(), Vec::new());
        for (_, line) in &rank.lines {
            match line {
                Line::Is(label, statement) => statements.push((*label, statement.clone())),
                Line::Waits { label, of, at_start } => waits.push((*label, *of, *at_start)),
            }
        }
        waits.sort_unstable();
        (statements, waits, rank.labels)
    };
    ranks.iter().map(of).collect()
}

/// Two ranks with all that there is: numbers that fill their fields, both kinds of wait, one twice.
fn sample() -> Vec<Ops> {
    let send = Op { tag: 0x0102_0304, cpu: 2, nic: 5, ..op(Does::Send(1), 0x0102_0304_0506_0708) };
    let computes = Op { cpu: 9, ..op(Does::Compute, 258) };
    let ops = vec![computes, send, op(Does::Compute, 1), op(Does::Receive(1), 0)];
    let waits = vec![(3, 0, false), (1, 0, true), (1, 0, false), (2, 1, true), (3, 0, false)];
    vec![Ops { ops, waits }, Ops { ops: vec![op(Does::Send(0), 0)], waits: Vec::new() }]
}

/// What txt2bin of LogGOPSim's commit 76451de1 was seen to write for
///
/// ```text
/// num_ranks 2
/// rank 0 {
/// a: calc 258 cpu 3
/// b: send 4294967297b to 1 tag 77 cpu 2 nic 5
/// c: calc 1
/// b requires a
/// c irequires a
/// c requires b
/// }
/// rank 1 {
/// a: recv 4294967297b from 0 tag 77
/// }
/// ```
const SEEN: &str = "
    7f10000000000000 02000000 03 05
    2600000000000000 b300000000000000 b300000000000000 e600000000000000
    03000000 01000000 00000000
    00000000 03 00000000 0201000000000000 00000000 03 00 01000000 00000000 01000000 01000000
    01000000 01 01000000 0100000001000000 4d000000 02 05 01000000 02000000 00000000 03000000
    02000000 03 00000000 0100000000000000 00000000 00 00 00000000 03000000 00000000 03000000
    01000000 02000000 02000000
    01000000 01000000 00000000
    00000000 02 00000000 0100000001000000 4d000000 00 00 00000000 00000000 00000000 00000000
";

/// Breaks if the tests' writer, to which the reader is held, writes another layout than the tool.
#[test]
fn the_tool_writes_the_same() {
    let digits: Vec<u8> = SEEN.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|two| std::str::from_utf8(two).unwrap_or_default());
    let seen: Vec<u8> = pairs.map(|two| u8::from_str_radix(two, 16).expect("digits")).collect();
    let tagged = |does| Op { tag: 77, ..op(does, (1 << 32) + 1) };
    let send = Op { cpu: 2, nic: 5, ..tagged(Does::Send(1)) };
    let ops = vec![Op { cpu: 3, ..op(Does::Compute, 258) }, send, op(Does::Compute, 1)];
    let waits = vec![(1, 0, false), (2, 0, true), (2, 1, false)];
    let second = Ops { ops: vec![tagged(Does::Receive(0))], waits: Vec::new() };
    assert_eq!(binary(&[Ops { ops, waits }, second]), seen);
    assert_eq!(said(&seen), "");
}

/// Breaks if any number is read from elsewhere than where it stands, or a wait is lost or turned round.
#[test]
fn a_binary_is_its_text() {
    let ranks = sample();
    let of_text = lines::read(text(&ranks).into_bytes(), name()).expect("a text");
    let of_binary = read(&binary(&ranks), name()).expect("a binary");
    assert_eq!(each(&of_binary), each(&of_text));
    let send = Statement::Send { bytes: 0x0102_0304_0506_0708, to: 1, tag: 0x0102_0304 };
    // Behind the head, two entries, two numbers, one operation without waits, and another operation.
    assert_eq!(of_binary[0].lines[5], (14 + 32 + 8 + 4 + 39, Line::Is(1, send)));
}

/// Breaks if a file that ends too early is read, panics, or is said to be wrong beyond its end.
#[test]
fn what_is_cut_off_is_refused() {
    let whole = binary(&sample());
    for end in 0..whole.len() {
        let said = said(&whole[..end]);
        assert!(said.starts_with("a.bin: found "), "{end}: {said}");
        let (_, at) = said.split_once(" at byte ").unwrap_or_else(|| panic!("{end}: {said}"));
        let (at, _) = at.split_once("; allowed: ").unwrap_or_else(|| panic!("{end}: {said}"));
        assert!(at.parse::<usize>().expect("a number") <= end, "{end}: {said}");
    }
    assert_eq!(
        said(&whole[..10]),
        "a.bin: found the end of the file at byte 10; allowed: all of a schedule, as txt2bin wrote it"
    );
    assert_eq!(
        said(&whole[..200]),
        "a.bin: found 226 for the end of rank 0 at byte 22; allowed: 38 to 192, where the file ends"
    );
    assert!(said(&[whole.as_slice(), &[0]].concat()).contains("found more at byte 285; allowed:"));
}

/// Breaks if a damaged byte goes unseen where the file says elsewhere what should be there, or is
/// said to be elsewhere.
#[test]
fn damage_is_refused() {
    let whole = binary(&sample());
    let rank = 14 + 32;
    let first = rank + 8 + 4;
    let list = first + 4 * 39;
    let with = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        assert_ne!(std::mem::replace(&mut bytes[at], value), value, "no change at {at}");
        said(&bytes)
    };
    for (at, value, text) in [
        (1, 0x11, "another beginning at byte 0; allowed: 7f 10 and six bytes of 0"),
        (8, 1, "1 ranks at byte 8; allowed: 2 to 65,536 ranks"),
        (10, 1, "65538 ranks at byte 8"),
        (12, 8, "8 and 5 for the highest cpu and nic at byte 12; allowed: 9 and 5"),
        (14, 39, "39 for the beginning of rank 0 at byte 14; allowed: 38, where"),
        (29, 255, "for the end of rank 0 at byte 22; allowed: 38 to 277"),
        (rank + 3, 255, "operations, 1 of which wait for none, at byte 46; allowed: what fills"),
        (rank + 7, 255, "of which wait for none, at byte 46"),
        (rank + 8, 1, "no operation 0 at byte 54; allowed: all that wait for none, in their order"),
        (first, 1, "1 operations that operation 0 waits for at byte 58; allowed: 0, as the list"),
        (first + 4, 4, "operation kind 4 at byte 62; allowed: 1 (send), 2 (recv), 3 (calc)"),
        (first + 5, 1, "a computation with peer 1, tag 0 and nic 0 at byte 63; allowed: 0 for"),
        (first + 17, 1, "a computation with peer 0, tag 1 and nic 0"),
        (first + 39 + 5, 2, "a message to or from rank 2 at byte 102; allowed: 0 to 1"),
        (first + 39 + 8, 255, "a message to or from rank 4278190081"),
        (
            first + 23,
            6,
            "6 operations that wait, from 0 of the list on, at byte 81; allowed: up to 5",
        ),
        (first + 27, 1, "3 operations that wait, from 1 of the list on,"),
        (first + 31, 0, "from 4 of the list on, at byte 120; allowed: up to 2 from 3 on"),
        (list, 4, "operation 4 as one that waits at byte 214; allowed: one of the rank's 4"),
        (list + 1, 2, "operation 515 as one that waits"),
    ] {
        let said = with(at, value);
        assert!(
            said.starts_with("a.bin: found ") && said.contains(text),
            "{at}: {said}\nnot {text}"
        );
    }
    let mut bytes = whole.clone();
    bytes[first + 39 + 17..][..4].fill(0xff);
    assert!(said(&bytes).contains("tag 4294967295, which \"tag -1\" becomes, too, at byte 114"));
}

/// Breaks if a list that is too long for what is in it is passed over.
#[test]
fn more_than_is_said_is_refused() {
    // A number more at the end of the first rank, behind its list.
    let grown = |rank_words: &[(usize, u32)]| {
        let ops = Ops { ops: vec![op(Does::Compute, 1)], waits: Vec::new() };
        let mut bytes = binary(&[ops, Ops::default()]);
        for (at, value) in rank_words {
            bytes[*at..*at + 4].copy_from_slice(&value.to_le_bytes());
        }
        for (entry, by) in [(22, 4), (30, 4), (38, 4)] {
            bytes[entry] += by;
        }
        let end = 46 + 8 + 4 + 39;
        bytes.splice(end..end, [0; 4]);
        bytes
    };
    assert!(said(&grown(&[])).contains("a list of 1 that wait at byte 46; allowed: 0, as the"));
    // As one more that waits for none.
    let mut bytes = grown(&[(50, 2)]);
    bytes[58..101].rotate_right(4);
    assert!(said(&bytes).contains("1 more at byte 58; allowed: those that wait for none, each"));
}

fn any_op(ranks: u32) -> impl Strategy<Value = Op> {
    let numbers = (any::<u64>(), 0..u32::MAX, any::<u8>(), any::<u8>());
    (0..3, 0..ranks, numbers).prop_map(|(kind, peer, (size, tag, cpu, nic))| match kind {
        0 => Op { does: Does::Send(peer), size, tag, cpu, nic },
        1 => Op { does: Does::Receive(peer), size, tag, cpu, nic },
        _ => Op { cpu, ..op(Does::Compute, size) },
    })
}

fn any_rank(ranks: u32) -> impl Strategy<Value = Ops> {
    proptest::collection::vec(any_op(ranks), 0..24).prop_flat_map(|ops| {
        let all = ops.len() as u32;
        let wait = (0..all.max(1), 0..all.max(1), any::<bool>());
        let most = if all > 0 { 40 } else { 0 };
        (Just(ops), proptest::collection::vec(wait, 0..=most))
            .prop_map(|(ops, waits)| Ops { ops, waits })
    })
}

fn any_schedule() -> impl Strategy<Value = Vec<Ops>> {
    (2u32..9).prop_flat_map(|ranks| proptest::collection::vec(any_rank(ranks), ranks as usize))
}

proptest! {
    /// Breaks if there is a schedule whose binary form says something else than its text.
    #[test]
    fn any_binary_is_its_text(ranks in any_schedule()) {
        let of_text = lines::read(text(&ranks).into_bytes(), name()).expect("a text");
        let of_binary = read(&binary(&ranks), name());
        prop_assert!(of_binary.is_ok(), "{:?}", of_binary.err());
        prop_assert_eq!(each(&of_binary.unwrap_or_default()), each(&of_text));
    }

    /// Breaks if there are bytes over which the reader panics: a schedule with some of its own
    /// changed.
    #[test]
    fn no_damage_panics(
        ranks in any_schedule(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = binary(&ranks);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = read(&bytes, name());
    }
}
