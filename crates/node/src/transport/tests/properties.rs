//! Whatever the network does, a flow ends and every byte arrives once, in order.

use super::pipe::{Fate, MSS, Network, Pipe, spec};
use crate::spec::{Protocol, Reduction, Stack, Timestamps, TransportSpec};
use leafspine_core::{PacketMeta, Rng, Role, Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::cc::SlowStart;
use proptest::prelude::*;

/// How unkind the network is, in shares of packets.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    seed: u64,
    drop: f64,
    drop_acks: f64,
    mark: f64,
    late: f64,
    twice: f64,
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let share = || prop_oneof![Just(0.0), 0.0..0.05f64, 0.0..0.3f64];
    (any::<u64>(), share(), share(), share(), share(), share()).prop_map(
        |(seed, drop, drop_acks, mark, late, twice)| Trouble {
            seed,
            drop,
            drop_acks,
            mark,
            late,
            twice,
        },
    )
}

fn network(trouble: Trouble) -> Network {
    let mut rng = Rng::new(trouble.seed, Role::Link, 0);
    Box::new(move |_, to_receiver| {
        let drop = if to_receiver { trouble.drop } else { trouble.drop_acks };
        if rng.chance(drop) {
            Fate::Drop
        } else if rng.chance(trouble.mark) {
            Fate::Mark
        } else if rng.chance(trouble.late) {
            // Up to 500 us mostly; one in 16 beyond the minimum timeout.
            let most = if rng.below(16) == 0 { 30_000 } else { 500 };
            Fate::Late(Span::from_micros(rng.below(most)))
        } else if rng.chance(trouble.twice) {
            Fate::Twice
        } else {
            Fate::Arrive
        }
    })
}

/// Each switch on or off; half of the time none is on.
fn stack() -> impl Strategy<Value = Stack> {
    let reduction =
        proptest::sample::select(vec![Reduction::AtOnce, Reduction::Prr6937, Reduction::Prr9937]);
    let timestamps =
        proptest::sample::select(vec![Timestamps::Free, Timestamps::Option, Timestamps::Off]);
    let slow_start = proptest::sample::select(vec![
        SlowStart::Standard,
        SlowStart::HyStart,
        SlowStart::HyStartPlusPlus,
    ]);
    let us = |most| (0u64..most).prop_map(Span::from_micros);
    let spans = (proptest::option::of(us(2_000)), proptest::option::of(us(300)));
    let counts = (0u32..20, 0u32..3, 0u32..5);
    let any = (any::<[bool; 25]>(), reduction, timestamps, slow_start, spans, counts).prop_map(
        |(flags, reduction, timestamps, slow_start, (tlp, eifel), counts)| {
            let (quick_acks, spared, pacing_quantum) = counts;
            let [idle_restart, sack_bytes, rack, dsack, undo_dsack, frto, pacing, more @ ..] =
                flags;
            let [less_careful, ignore_duplicate_ece, one_reduction, more @ ..] = more;
            let [lingering_recovery, more @ ..] = more;
            let [mark_prr, gso, ecn_fallback, whole_windows, comp_sack, more @ ..] = more;
            let [undo_waits, ece_forbids_undo, rack_any_rtt, ecn_all, small_queues, more @ ..] =
                more;
            let [ack_changes, growth_acks, push_acks, kernel_timers] = more;
            Stack {
                syn_losses_spared: spared,
                idle_restart,
                quick_acks,
                sack_bytes,
                timestamps,
                reduction,
                rack,
                tlp,
                dsack,
                undo_dsack,
                eifel,
                frto,
                slow_start,
                pacing,
                pacing_quantum,
                less_careful,
                lingering_recovery,
                ignore_duplicate_ece,
                one_reduction,
                mark_prr,
                gso,
                syn_options: spared * 4,
                ecn_fallback,
                whole_windows,
                comp_sack,
                rack_slack: eifel,
                undo_waits,
                ece_forbids_undo,
                rack_any_rtt,
                ecn_all,
                small_queues,
                ack_changes,
                growth_acks,
                push_acks,
                kernel_timers,
            }
        },
    );
    prop_oneof![Just(Stack::default()), any]
}

fn transport() -> impl Strategy<Value = TransportSpec> {
    let scheme =
        prop_oneof![Just("newreno"), Just("dctcp"), Just("cubic"), Just("bbr1"), Just("bbr3")];
    let switches = any::<[bool; 5]>();
    let max = prop_oneof![Just(None), (1u32..30).prop_map(Some)];
    (scheme, switches, 1u32..20, 1u32..8, max, stack()).prop_map(
        |(scheme, [sack, limited, delayed, handshake, ecn], window, threshold, max, stack)| {
            // RACK goes by SACKs, and rates by RACK.
            let by_rate = scheme.starts_with("bbr");
            let sack = sack || by_rate;
            let stack = Stack { rack: stack.rack && sack || by_rate, ..stack };
            TransportSpec {
                stack,
                protocol: Protocol::Tcp,
                sack,
                limited_transmit: limited,
                delayed_ack: delayed.then_some(Span::from_micros(300)),
                handshake,
                ecn: ecn.then_some(true),
                init_cwnd: Amount::Packets(window),
                max_cwnd: max.map(Amount::Packets),
                dupack_threshold: threshold,
                ..spec(scheme)
            }
        },
    )
}

/// Holds at each packet that leaves the sender.
fn check(pipe: &Pipe, packet: &PacketMeta) {
    let (sender, cfg) = (&pipe.sender, &pipe.cfg);
    let window = sender.window(cfg);
    assert!(window >= MSS.min(cfg.max_cwnd), "a window of {window} bytes");
    assert!(sender.una() <= sender.sent() && sender.sent() <= sender.segments());
    if !packet.is_data() {
        return;
    }
    assert!(packet.seq >= pipe.sender.una(), "segment {} was acknowledged", packet.seq);
    let again = packet.notes & PacketMeta::RETRANSMIT != 0;
    assert_eq!(again, packet.seq < pipe.first_sent, "retransmissions are noted");
    if again {
        if cfg.sack {
            assert!(!sender.board.is_sacked(packet.seq), "segment {} was SACKed", packet.seq);
        }
        return;
    }
    assert_eq!(packet.seq, pipe.first_sent, "new data leaves in order");
    // RFC 5681 §3.1: new data only within the window, which duplicates stretch: by limited
    // transmit (RFC 3042) and by inflation (§3.2 step 4), each at most one segment a duplicate.
    let outstanding = (sender.sent() - sender.una()) * MSS;
    assert!(outstanding <= cfg.max_cwnd, "the receive window is overrun");
    let in_network = sender.in_flight() * MSS;
    assert!(
        in_network <= window + stretch(pipe) * MSS,
        "{in_network} bytes in a window of {window}"
    );
}

/// Segments beyond the window that duplicate ACKs may have released.
fn stretch(pipe: &Pipe) -> u32 {
    let limited = if pipe.cfg.limited_transmit { pipe.cfg.dupack_threshold - 1 } else { 0 };
    let inflated = u32::try_from(pipe.sender.inflation / MSS as i32).unwrap_or(0);
    let Some(extra) = &pipe.sender.extra else { return limited.max(inflated) };
    // RACK: one for each that is SACKed. A tail loss probe, and F-RTO's two, go whatever the window;
    // so does what proportional rate reduction allows, which is held to its own sums.
    let sacked = if pipe.cfg.stack.rack { pipe.sender.dup_streak } else { limited };
    let shared = if extra.prr.active { 1_000 } else { 0 };
    sacked.max(inflated) + 3 + shared
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Breaks if a flow hangs, a byte is lost, delivered twice or out of order, the window
    /// vanishes, the pipe goes below zero (its arithmetic is checked in tests), or the sender
    /// sends what the window, the receive window or the scoreboard forbid.
    #[test]
    fn every_flow_ends_whole(
        transport in transport(),
        trouble in trouble(),
        bytes in prop_oneof![1u64..5_000, 1u64..200_000],
    ) {
        let mut pipe = Pipe::new(&transport, bytes, network(trouble));
        pipe.check = check;
        pipe.run(Time(3_600_000_000_000_000));
        prop_assert!(pipe.sender.done() && pipe.receiver.assembly.complete());
        prop_assert_eq!((pipe.delivered, pipe.receiver.assembly.delivered()), (bytes, bytes));
        prop_assert_eq!(pipe.completions, 1);
        prop_assert_eq!(pipe.sender.bytes_sent(&pipe.cfg), bytes);
        let mean = pipe.sender.mean_window(&pipe.cfg, pipe.now);
        prop_assert!(mean >= f64::from(MSS.min(pipe.cfg.max_cwnd)), "mean window {}", mean);
    }

    /// Breaks if a flow without trouble is not sent exactly once, whatever the options.
    #[test]
    fn a_clean_network_needs_no_retransmission(
        transport in transport(),
        bytes in 1u64..300_000,
        seed in any::<u64>(),
        mark in 0.0..0.5f64,
    ) {
        let calm = Trouble { seed, drop: 0.0, drop_acks: 0.0, mark, late: 0.0, twice: 0.0 };
        let mut pipe = Pipe::new(&transport, bytes, network(calm));
        pipe.check = check;
        pipe.run(Time(3_600_000_000_000_000));
        prop_assert!(pipe.sender.done());
        prop_assert_eq!((pipe.sender.retransmits(), pipe.sender.timeouts()), (0, 0));
        prop_assert_eq!((pipe.receiver.assembly.duplicates(), pipe.sender.dup_acks()), (0, 0));
    }
}
