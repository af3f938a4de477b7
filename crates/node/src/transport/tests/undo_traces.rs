//! Reductions that answered no loss, and are undone. 50 us each way, 1 us a packet.

use super::pipe::{Fate, MSS, Pipe, losing, script, spec};
use crate::spec::{Stack, Timestamps, TransportSpec};
use leafspine_core::{Span, Time};
use leafspine_schemes::Amount;
use leafspine_schemes::cc::CongestionControl;

const SECOND: Time = Time(1_000_000_000_000);

fn with(stack: Stack) -> TransportSpec {
    TransportSpec { init_cwnd: Amount::Packets(10), stack, ..spec("newreno") }
}

/// Forty segments, of which 1 is late by 30 us: three duplicate ACKs, a retransmission at 105 us, and
/// the first transmission's ACK at 132 us.
fn late(stack: Stack) -> Pipe {
    let us = |us| Fate::Late(Span::from_micros(us));
    let mut pipe = Pipe::new(&with(stack), u64::from(40 * MSS), script(&[(1, 1, us(30))]));
    pipe.run(SECOND);
    assert!(pipe.sender.done(), "{}", pipe.trace);
    assert_eq!(
        (pipe.sender.retransmits(), pipe.receiver.assembly.duplicates()),
        (1, 1),
        "{}",
        pipe.trace
    );
    pipe
}

/// Breaks if an ACK that echoes an older stamp than the retransmission's does not give the window back
/// (RFC 3522 §3.2), or if it does on a clock that ticks too slowly to tell.
#[test]
fn eifel_undoes_at_the_first_ack() {
    let pipe = late(Stack { eifel: Some(Span(0)), ..Stack::default() });
    assert_eq!((pipe.sender.undos(), pipe.sender.control().ssthresh()), (1, u32::MAX));
    insta::assert_snapshot!(pipe.trace);
    let coarse = late(Stack { eifel: Some(Span::from_millis(1)), ..Stack::default() });
    assert_eq!(coarse.sender.undos(), 0, "both were sent in the first millisecond");
    let off = late(Stack { eifel: Some(Span(0)), timestamps: Timestamps::Off, ..Stack::default() });
    assert_eq!(off.sender.undos(), 0, "nothing to go by");
}

/// Breaks if a D-SACK of the only retransmission does not give the window back (RFC 3708), or if it
/// does without the switch.
#[test]
fn dsack_undoes_when_the_copy_has_come() {
    let pipe = late(Stack { dsack: true, undo_dsack: true, ..Stack::default() });
    assert_eq!((pipe.sender.undos(), pipe.sender.control().ssthresh()), (1, u32::MAX));
    insta::assert_snapshot!(pipe.trace);
    let reported = late(Stack { dsack: true, ..Stack::default() });
    assert_eq!(reported.sender.undos(), 0);
    assert!(reported.sender.control().ssthresh() < u32::MAX);
}

/// Breaks if a reduction that answered a loss is undone: 1 is lost, and nothing comes twice.
#[test]
fn real_losses_are_not_undone() {
    let all = Stack {
        rack: true,
        tlp: Some(Span(0)),
        dsack: true,
        undo_dsack: true,
        eifel: Some(Span(0)),
        frto: true,
        ..Stack::default()
    };
    for stack in [all, Stack { rack: false, ..all }] {
        for lost in [vec![(1, 1)], vec![(1, 1), (1, 2)], (0..10).map(|s| (s, 1)).collect()] {
            let mut pipe = Pipe::new(&with(stack), u64::from(40 * MSS), losing(&lost));
            pipe.run(SECOND);
            assert!(pipe.sender.done());
            assert_eq!(pipe.sender.undos(), 0, "{}", pipe.trace);
        }
    }
}

/// Ten segments that all take 15 ms, longer than the timeout of 10 ms; the first one's copy comes
/// behind them.
fn spurious_timeout(stack: Stack) -> Pipe {
    let ms = |tenths: u64| Fate::Late(Span::from_micros(100 * tenths));
    let mut slow: Vec<_> = (0..10).map(|segment| (segment, 1, ms(150))).collect();
    slow.push((0, 2, ms(60)));
    let mut pipe = Pipe::new(&with(stack), u64::from(40 * MSS), script(&slow));
    pipe.run(SECOND);
    assert!(pipe.sender.done(), "{}", pipe.trace);
    pipe
}

/// Breaks if F-RTO sends anything but two new segments on the first ACK after a timeout, or does not
/// see by the second, of what was not sent again, that the timeout was spurious (RFC 5682 §3.1).
#[test]
fn frto_undoes_a_spurious_timeout() {
    for rack in [false, true] {
        let pipe = spurious_timeout(Stack { frto: true, rack, ..Stack::default() });
        let counts = (pipe.sender.timeouts(), pipe.sender.retransmits(), pipe.sender.undos());
        assert_eq!(counts, (1, 1, 1), "{}", pipe.trace);
        assert_eq!(pipe.sender.control().ssthresh(), u32::MAX);
        if !rack {
            insta::assert_snapshot!(pipe.trace);
        }
    }
    let without = spurious_timeout(Stack::default());
    assert!(without.sender.retransmits() > 1, "{}", without.trace);
}

/// Breaks if F-RTO takes a timeout after a loss for spurious: the duplicate ACKs of its two new
/// segments tell (step 3a).
#[test]
fn frto_lets_a_real_timeout_stand() {
    let lost: Vec<(u32, u32)> = (0..10).map(|segment| (segment, 1)).collect();
    let spec = with(Stack { frto: true, ..Stack::default() });
    let mut pipe = Pipe::new(&spec, u64::from(40 * MSS), losing(&lost));
    pipe.run(SECOND);
    assert!(pipe.sender.done(), "{}", pipe.trace);
    assert_eq!((pipe.sender.timeouts(), pipe.sender.undos()), (1, 0));
    assert_eq!(pipe.receiver.assembly.duplicates(), 0, "{}", pipe.trace);
}
