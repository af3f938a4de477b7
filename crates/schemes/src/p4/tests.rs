//! The operations against exact arithmetic, and the P4 file against the operations.

use super::*;
use leafspine_core::{FiveTuple, HostId, Role};
use std::path::Path;

fn rng() -> Rng {
    Rng::new(1, Role::Balancer, 0)
}

/// Breaks if the P4 programs' arithmetic is not the simulator's to the letter.
#[test]
fn the_p4_file_has_these_operations() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hardware/p4/include/arithmetic.p4");
    if std::env::var("LEAFSPINE_FILL").is_ok_and(|fill| fill == "p4") {
        std::fs::write(&file, arithmetic()).expect("a writable file");
    }
    let kept = std::fs::read_to_string(&file).expect("the file");
    assert!(kept == arithmetic(), "{} is not what operations.rs says", file.display());
}

/// Breaks if L is another than a division's for a buffer of up to 2^20 packets, or off by more than one
/// percent for any other. Proof of the first: with m = ceil(100 x 2^40 / b), m b - 100 x 2^40 = e < b, so
/// n m / 2^40 is above 100 n / b by n e / (b 2^40), which is less than 1 / b as long as n e < b^2 <= 2^40.
#[test]
fn percent_is_the_quotient() {
    let mut rng = rng();
    let edges = [1, 2, 3, 7, 99, 100, 101, 255, 256, 1000, 65_535, (1 << 20) - 1, 1 << 20];
    let drawn: Vec<u64> = (0..2_000).map(|_| 1 + rng.below(1 << 20)).collect();
    for buffer in edges.into_iter().chain(drawn) {
        let all = (0..=buffer.min(300)).chain([buffer / 2, buffer - 1, buffer]);
        let thirds = (0..40).map(|n| n * buffer / 40);
        for waiting in all.chain(thirds) {
            let found = percent(Word(waiting), Word(per_unit(buffer))).0;
            assert_eq!(found, waiting * 100 / buffer, "{waiting} of {buffer}");
        }
    }
    for _ in 0..100_000 {
        let buffer = 1 + rng.below(u32::MAX.into());
        let waiting = rng.below(buffer + 1);
        let found = percent(Word(waiting), Word(per_unit(buffer))).0;
        let exact = waiting * 100 / buffer;
        assert!(found == exact || found == exact + 1, "{waiting} of {buffer}: {found}");
    }
    assert_eq!(percent(Word(300), Word(per_unit(256))), Word(100), "more than there is room for");
}

/// Breaks if a draw is not below its total, or further from that of 64 random bits than 32 bits fewer can
/// bring it: total / 2^32, rounded up.
#[test]
fn a_draw_is_within_its_bits_of_the_fine_one() {
    let mut rng = rng();
    for _ in 0..200_000 {
        let bits = 1 + rng.below(48);
        let total = 1 + rng.below(1 << bits);
        let random = rng.next_u64();
        let fine = ((u128::from(random) * u128::from(total)) >> 64) as u64;
        let found = draw(Word(random >> 32), Word(total)).0;
        assert!(found < total && found <= fine, "{found} of {total}");
        assert!(fine - found <= total.div_ceil(1 << 32), "{found}, not {fine}, of {total}");
    }
}

/// Breaks if the time of up to 2^30 bytes at 1 Mb/s to 400 Gb/s is above the exact one, or below it by more
/// than the fraction that is cut off and 2^-20 units a byte.
#[test]
fn line_times_are_within_their_bound() {
    let mut rng = rng();
    for _ in 0..200_000 {
        let rate = Rate(1_000_000 + rng.below(400_000_000_000));
        let bits = 1 + rng.below(30);
        let bytes = rng.below(1 << bits);
        let found = line_time(Word(bytes), Word(per_byte(rate))).0 as f64;
        let exact = bytes as f64 * 8e6 * 1024.0 / rate.0 as f64;
        let bound = 1.0 + bytes as f64 / f64::from(1 << 20);
        let short = exact - found;
        assert!(
            (-1e-6 * exact..bound + 1e-6 * exact).contains(&short),
            "{bytes} B at {rate}: {short}"
        );
    }
    assert_eq!(line_time(Word(1500), Word(per_byte(Rate::from_gbps(1)))), Word(12_287), "12 us");
}

/// Breaks if a T that is normalised leaves 0 to 1, or is off by more than a unit below or 0.03 above.
#[test]
fn normalised_times_are_within_a_unit() {
    let mut rng = rng();
    for _ in 0..200_000 {
        let from = rng.below(1_000_000);
        let to = from + 1 + rng.below(99_000_000);
        let step = (1_u64 << 42).div_ceil(to - from);
        let interval = rng.below(to + to / 4);
        let found = normalised(Word(interval), Word(from), Word(to), Word(step)).0 as f64;
        let beyond = interval.clamp(from, to) - from;
        let exact = 1024.0 * beyond as f64 / (to - from) as f64;
        assert!((-0.03..1.0).contains(&(exact - found)), "{interval} in {from}..{to}");
    }
}

/// Breaks if a place is outside its table, or the table is not used evenly.
#[test]
fn places_are_those_of_equal_regions() {
    for entries in [1_u64, 64, 65_536, 1 << 24] {
        assert_eq!(place32(Word(0), Word(entries)), Word(0));
        assert_eq!(place32(Word(0xffff_ffff), Word(entries)), Word(entries - 1));
        assert_eq!(place32(Word(0x8000_0000), Word(entries)), Word(entries / 2));
    }
    assert_eq!(place16(Word(0xffff), Word(64)), Word(63));
}

/// Breaks if the hash is not CRC-32 of salt, addresses, protocol and ports in wire order: the value is that of
/// Python's zlib.crc32 over the same 17 bytes.
#[test]
fn the_hash_is_a_crc_32() {
    let tuple = FiveTuple::new(HostId(3), HostId(260), 1024, 5001);
    assert_eq!(crc32(tuple, 0x0102_0304), 0x4d31_fc07);
}

/// Breaks if the clock has anything but whole microseconds, or if a span is compared as less than it is.
#[test]
fn the_clock_ticks_in_microseconds() {
    assert_eq!((clock(Time(1_999_999)), ticked(Time(1_999_999))), (Word(1), Time(1_000_000)));
    assert_eq!([0, 1, 1_000_000, 1_000_001].map(|ps| ticks(Span(ps))), [1, 1, 1, 2]);
    assert_eq!(in_ticks(Span(1_500_000)), Span(2_000_000));
    assert_eq!(fine(Word(3)), Word(3072));
}
