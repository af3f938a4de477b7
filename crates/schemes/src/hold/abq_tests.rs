use super::*;
use crate::Value;
use crate::testing::{FakeLeaf, control, data};
use leafspine_core::{Flags, Rng, Role};
use proptest::prelude::*;

const STAY: Held = Held::Keep;
const GO: Held = Held::Release { ece: true };
const PORT: PortId = PortId(3);

fn made(params: &Params) -> Result<Abq, ParamError> {
    make(params, &FakeLeaf::new(4, 4, 1).env)
}

fn defaults() -> Params {
    Params::defaults(ENTRY.info.params)
}

fn with(key: &str, value: Value) -> Abq {
    made(&defaults().with(key, value)).unwrap()
}

fn ack() -> PacketMeta {
    control(9, 0, 1, Flags::ACK)
}

fn arrives(abq: &mut Abq, packet: &PacketMeta) -> Ingress {
    abq.arrived(packet, PORT, 0, Time::ZERO)
}

fn changes(abq: &mut Abq, queue: u32) -> Held {
    abq.backlog_changed(PORT, queue, Time::ZERO)
}

/// Where ACKs go and whether with ECE, as the queue moves a packet at a time along `turns`.
fn releases(abq: &mut Abq, turns: &[u32]) -> Vec<(u32, bool)> {
    let (mut queue, mut seen) = (0u32, Vec::new());
    for turn in turns {
        while queue != *turn {
            queue = if *turn > queue { queue + 1 } else { queue - 1 };
            if let Held::Release { ece } = changes(abq, queue) {
                seen.push((queue, ece));
            }
        }
    }
    seen
}

/// Breaks if a step differs from Fig. 2 or Algorithm 1 in a spell that peaks at 60 with K = 20:
/// X = min(60 - 20, 20) = 20, then 10, 5, and 2 (below four).
#[test]
fn a_spell_step_by_step() {
    let mut abq = made(&defaults()).unwrap();
    // The queue, what happens to what is held, what an ACK that comes then does, the line.
    let script = [
        (0, STAY, Ingress::Pass, "Fig. 2: US"),
        (20, STAY, Ingress::Pass, "line 1: Q > K, and 20 is not"),
        (21, STAY, Ingress::Hold, "lines 1, 2: CS"),
        (60, STAY, Ingress::Hold, "lines 1, 2: CS, Qmax = 60"),
        (21, STAY, Ingress::Hold, "lines 1, 2: CS"),
        (20, GO, Ingress::Hold, "lines 3, 4, 7: Q <= X = 20; LCS, X = 10"),
        (19, STAY, Ingress::Hold, "LCS: once only when the length is X"),
        (20, STAY, Ingress::Hold, "LCS, Q > X = 10"),
        (11, STAY, Ingress::Hold, "LCS, Q > X = 10"),
        (10, GO, Ingress::Hold, "lines 3, 4, 7: X = 5"),
        (6, STAY, Ingress::Hold, "LCS, Q > X = 5"),
        (5, GO, Ingress::Pass, "lines 3 to 7: X = 2 < 4, US; LCS to US has ECE"),
        (4, STAY, Ingress::Pass, "US: nothing is held"),
        (20, STAY, Ingress::Pass, "US up to K"),
        (21, STAY, Ingress::Hold, "lines 1, 2: CS again"),
    ];
    for (queue, held, ingress, line) in script {
        assert_eq!(changes(&mut abq, queue), held, "{queue}: {line}");
        assert_eq!(arrives(&mut abq, &ack()), ingress, "{queue}: {line}");
    }
}

/// Breaks if X is not min(Qmax - K, K) ("Queuing Discipline"), is not halved at each release, or
/// counts below four packets (line 5). Below K + 4 it does not count from the start.
#[test]
fn the_peak_decides_where_acks_go() {
    let ece = |queues: &[u32]| queues.iter().map(|queue| (*queue, true)).collect::<Vec<_>>();
    for (peak, expected) in [
        (20, vec![]),
        (21, vec![(20, false)]),
        (23, vec![(20, false)]),
        (24, ece(&[4])),
        (27, ece(&[7])),
        (28, ece(&[8, 4])),
        (30, ece(&[10, 5])),
        (35, ece(&[15, 7])),
        (36, ece(&[16, 8, 4])),
        (40, ece(&[20, 10, 5])),
        (60, ece(&[20, 10, 5])),
        (1000, ece(&[20, 10, 5])),
    ] {
        let mut abq = made(&defaults()).unwrap();
        assert_eq!(releases(&mut abq, &[peak, 0]), expected, "peak {peak}");
        assert_eq!(abq.ports[3], State::Uncongested);
    }
}

/// Breaks if a queue that rises above K again goes on with the old X or the old Qmax (line 1 comes
/// before line 3), or if one that rises to K does not.
#[test]
fn above_k_again_is_a_new_spell() {
    let mut abq = made(&defaults()).unwrap();
    // 60: released at 20 and 10. Up to 20: still X = 5. Up to 30: X = 10 again.
    let seen = releases(&mut abq, &[60, 8, 20, 8, 30, 0]);
    assert_eq!(seen, [(20, true), (10, true), (10, true), (5, true)]);
    // X = 10 is not reached, then a small peak: it is the one that counts.
    assert_eq!(releases(&mut abq, &[30, 15, 22, 0]), [(20, false)]);
}

/// Breaks if a queue that vanishes at once (its link went down) leaves a port that holds ACKs for
/// ever: Algorithm 1 is an `always` statement and takes every halving.
#[test]
fn a_queue_that_vanishes_ends_the_spell() {
    for (peak, left, state) in [
        (60, 0, State::Uncongested),
        (60, 5, State::Uncongested),
        (60, 6, State::Light { level: 5 }),
        (60, 10, State::Light { level: 5 }),
        (60, 11, State::Light { level: 10 }),
        (28, 4, State::Uncongested),
    ] {
        let mut abq = made(&defaults()).unwrap();
        changes(&mut abq, peak);
        assert_eq!(changes(&mut abq, left), GO, "{peak} to {left}");
        assert_eq!(abq.ports[3], state, "{peak} to {left}");
    }
}

/// Breaks if anything but a pure ACK is held (IsAck): data, also with FIN or piggybacked ACK, SYN,
/// SYN-ACK, a FIN without data that overtakes held ACKs, RST, probes. ECE or CWR make no difference.
#[test]
fn only_acks_are_held() {
    let mut abq = made(&defaults()).unwrap();
    changes(&mut abq, 50);
    let fin_data =
        PacketMeta { flags: Flags::DATA.with(Flags::ACK).with(Flags::FIN), ..data(9, 0, 1, 7) };
    let flags = [
        Flags::SYN,
        Flags::SYN.with(Flags::ACK),
        Flags::FIN.with(Flags::ACK),
        Flags::RST.with(Flags::ACK),
        Flags::PROBE,
    ];
    let others = flags.map(|flags| control(9, 0, 1, flags));
    for packet in others.iter().chain([&data(9, 0, 1, 7), &fin_data]) {
        assert_eq!(arrives(&mut abq, packet), Ingress::Pass, "{packet:?}");
    }
    for extra in [Flags(0), Flags::ECE, Flags::CWR] {
        let packet = control(9, 0, 1, Flags::ACK.with(extra));
        assert_eq!(arrives(&mut abq, &packet), Ingress::Hold, "{packet:?}");
    }
}

/// Breaks if one port's queue holds another's ACKs, or a port is left out: "the corresponding input
/// queue" of every output port, those towards hosts and those towards switches.
#[test]
fn ports_are_apart() {
    let mut abq = made(&defaults()).unwrap();
    for congested in 0..8 {
        let port = PortId(congested);
        abq.backlog_changed(port, 30, Time::ZERO);
        let held = |abq: &mut Abq, port| abq.arrived(&ack(), PortId(port), 0, Time::ZERO);
        let holding: Vec<_> = (0..8).filter(|p| held(&mut abq, *p) == Ingress::Hold).collect();
        assert_eq!(holding, [congested]);
        assert_eq!(abq.backlog_changed(port, 0, Time::ZERO), GO);
    }
}

/// Breaks if a parameter does not do what it says, or one that holds cannot follow is taken.
#[test]
fn parameters() {
    let packets = |n| Value::Amount(Amount::Packets(n));
    let mut abq = with("threshold", packets(10));
    assert_eq!(releases(&mut abq, &[30, 0]), [(10, true), (5, true)]);
    let mut abq = with("floor", packets(1));
    assert_eq!(releases(&mut abq, &[21, 0]), [(1, true)]);
    let mut abq = with("floor", packets(30));
    assert_eq!(releases(&mut abq, &[60, 0]), [(20, false)], "never light");
    let mut abq = with("corrector", Value::Bool(false));
    assert_eq!(releases(&mut abq, &[30, 0]), [(10, false), (5, false)]);
    assert!(!abq.needs().ece_when_forced && made(&defaults()).unwrap().needs().ece_when_forced);
    assert_eq!(with("max_hold", Value::Word("none".to_owned())).needs().max_hold, None);
    assert_eq!(with("max_hold", Value::Span(Span(7))).needs().max_hold, Some(Span(7)));
    assert_eq!(made(&defaults()).unwrap().needs().max_hold, Some(Span::from_millis(5)));
    assert_eq!(with("capacity", Value::Int(3)).needs().capacity, 3);
    let mut abq = with("ece_below_floor", Value::Bool(true));
    assert_eq!(releases(&mut abq, &[23, 0, 30, 0]), [(20, true), (10, true), (5, true)]);
    for (key, found, allowed) in [
        ("threshold", "4pkt", "bytes as in threshold, such as \"6KB\""),
        ("floor", "30KB", "packets as in threshold, such as \"4pkt\""),
    ] {
        let error = made(&defaults().with(key, Value::Amount(Amount::Bytes(30_000)))).err();
        let error = error.expect("two units").to_string();
        assert_eq!(error, format!("floor: found {found}; allowed: {allowed}"));
    }
}

/// Breaks if K, X and Q are not in bytes where threshold and floor are (Algorithm 1: "Num_Words_in_Q"): K of 30 KB, a
/// peak of 75 KB: X = min(75 - 30, 30) = 30 KB, then 15, 7.5 and 3.75, which is below four packets of 1500 bytes.
#[test]
fn words_of_the_queue() {
    let bytes = |n| Value::Amount(Amount::Bytes(n));
    let params = defaults().with("threshold", bytes(30_000)).with("floor", bytes(6_000));
    let mut abq = made(&params).unwrap();
    assert_eq!(
        (abq.needs().unit, made(&defaults()).unwrap().needs().unit),
        (Unit::Bytes, Unit::Packets)
    );
    assert_eq!([changes(&mut abq, 30_000), changes(&mut abq, 75_000)], [STAY, STAY]);
    let script = [(30_001, STAY), (30_000, GO), (15_001, STAY), (15_000, GO), (7_501, STAY)];
    for (queue, held) in script {
        assert_eq!(changes(&mut abq, queue), held, "{queue}");
        assert_eq!(arrives(&mut abq, &ack()), Ingress::Hold, "{queue}");
    }
    assert_eq!((changes(&mut abq, 7_500), abq.ports[3]), (GO, State::Uncongested));
}

/// Breaks if a paced release is not stopped where Q > K again, or is stopped anywhere else; if ACKs that come in US
/// overtake it, or data waits for it. Without a pace there is nothing to stop or to follow.
#[test]
fn what_happens_during_a_release() {
    let mut abq = with("pace", Value::Span(Span(80_000)));
    assert_eq!(
        (abq.needs().pace, made(&defaults()).unwrap().needs().pace),
        (Span(80_000), Span::ZERO)
    );
    let script = [
        (21, Held::Stop, Ingress::Hold, "CS"),
        (60, STAY, Ingress::Hold, "CS still"),
        (20, GO, Ingress::Hold, "LCS: what comes now is not in it"),
        (21, Held::Stop, Ingress::Hold, "CS again: Q_in does not dequeue"),
        (30, STAY, Ingress::Hold, "CS"),
        (10, GO, Ingress::Hold, "LCS, X = 10"),
        (5, GO, Ingress::Follow, "US: behind those in Q_in"),
        (20, STAY, Ingress::Follow, "US"),
    ];
    for (queue, held, ingress, line) in script {
        assert_eq!(changes(&mut abq, queue), held, "{queue}: {line}");
        assert_eq!(arrives(&mut abq, &ack()), ingress, "{queue}: {line}");
        assert_eq!(arrives(&mut abq, &data(9, 0, 1, 7)), Ingress::Pass, "{queue}: {line}");
    }
}

/// Breaks if what it keeps is not what it says: a state of two words a port, no slots.
#[test]
fn footprint() {
    let found = made(&defaults()).unwrap().footprint(Time::ZERO);
    assert_eq!((found.per_port, found.slots), (8, 0));
    assert_eq!(found.bytes, size_of::<Abq>() as u64 + 8 * 8);
}

/// The one's complement sum of 16-bit words (RFC 1071).
fn sum(words: impl Iterator<Item = u16>) -> u16 {
    words.fold(0, |total, word| {
        let (total, carry) = total.overflowing_add(word);
        total + u16::from(carry)
    })
}

/// A TCP checksum after ECE was set: "subtracting the fix value", with the borrow brought round.
fn echoed(checksum: u16) -> u16 {
    const ECE: u16 = 0x0040;
    let (lower, borrow) = checksum.overflowing_sub(ECE);
    lower.wrapping_sub(u16::from(borrow))
}

/// The same of an ACK with these flags in its word: one that bears ECE already is as it was.
fn released(flags: u16, checksum: u16) -> (u16, u16) {
    if flags & 0x0040 != 0 { (flags, checksum) } else { (flags | 0x0040, echoed(checksum)) }
}

/// Breaks if ECE does not change the checksum by a constant in one's complement: for every checksum
/// as RFC 1624 eq. 3 has it, and for random headers and pseudo-headers as summing them again has it.
#[test]
fn ece_changes_the_checksum_by_a_constant() {
    for checksum in 0..=u16::MAX {
        // HC' = ~(~HC + ~m + m'), where the words differ by ECE.
        let (old, new) = (0x5010u16, 0x5050u16);
        let expected = !sum([!checksum, !old, new].into_iter());
        assert_eq!(echoed(checksum), expected, "{checksum:04x}");
    }
    let mut rng = Rng::new(1, Role::Hold, 0);
    for _ in 0..100_000 {
        // Six words of pseudo-header, ten of TCP header; the seventh has the flags, the ninth is
        // the checksum's own.
        let mut words: [u16; 16] = std::array::from_fn(|_| rng.next_u64() as u16);
        words[14] = 0;
        for flags in [words[12] & !0x0040, words[12] | 0x0040] {
            words[12] = flags;
            let (flags, checksum) = released(flags, !sum(words.into_iter()));
            words[12] = flags;
            assert_eq!(checksum, !sum(words.into_iter()), "{words:04x?}");
        }
    }
}

/// One step of a port's life.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The queue is so long now.
    Queue(u32),
    Ack,
    Data,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let queue = prop_oneof![0u32..70, 0u32..25, Just(0), Just(u32::MAX)];
    let step = prop_oneof![
        4 => queue.prop_map(Step::Queue),
        3 => Just(Step::Ack),
        1 => Just(Step::Data),
    ];
    proptest::collection::vec(step, 0..300)
}

proptest! {
    /// Breaks if some sequence of queues leaves an ACK held when the queue is empty, lets ACKs go
    /// while Q > K, holds data, holds an ACK that comes in the uncongested state or passes one that
    /// would overtake those held.
    #[test]
    fn acks_are_held_only_while_a_queue_lasts(
        steps in steps(),
        threshold in 1u32..40,
        floor in 1u32..10,
    ) {
        let packets = |n| Value::Amount(Amount::Packets(n));
        let params = defaults().with("threshold", packets(threshold)).with("floor", packets(floor));
        let mut abq = made(&params).unwrap();
        let mut held = 0;
        for step in steps.into_iter().chain([Step::Queue(0)]) {
            match step {
                Step::Data => prop_assert_eq!(arrives(&mut abq, &data(9, 0, 1, 7)), Ingress::Pass),
                Step::Ack if arrives(&mut abq, &ack()) == Ingress::Hold => held += 1,
                Step::Ack => prop_assert_eq!(held, 0, "an ACK overtakes"),
                Step::Queue(queue) => {
                    if changes(&mut abq, queue) != STAY {
                        prop_assert!(queue <= threshold);
                        held = 0;
                    }
                    match abq.ports[3] {
                        State::Uncongested => prop_assert!(held == 0 && queue <= threshold),
                        State::Congested { peak } => prop_assert!(threshold < queue && queue <= peak),
                        State::Light { level } => {
                            prop_assert!(level < queue && queue <= threshold && level >= floor);
                        }
                    }
                }
            }
        }
        prop_assert_eq!(held, 0, "ACKs are held at an empty queue");
        prop_assert_eq!(abq.ports[3], State::Uncongested);
    }
}
