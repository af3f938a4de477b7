//! Tests of the large flows' accounts (AQ-CAR §II-B2c).

use super::*;

const MS: Span = Span::from_millis(1);

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

/// Accounts of a leaf with four uplinks, three other leaves, 10 ms of silence and of pause.
struct Accounts(LargeFlows);

impl Accounts {
    fn new() -> Accounts {
        Accounts::apart(Some(4))
    }

    /// With so many source leaves whose flows are parted from their own only.
    fn apart(leaves: Option<usize>) -> Accounts {
        Accounts(LargeFlows::new(1024, leaves, 4, (MS * 10, MS * 10), 1))
    }

    /// A packet of flow `number` from `leaf` comes by `port`.
    fn data(&mut self, number: u64, leaf: u16, port: u8, now: Time) {
        self.0.arrived(FiveTuple(number), leaf, port, false, now);
    }

    fn fin(&mut self, number: u64, leaf: u16, port: u8, now: Time) {
        self.0.arrived(FiveTuple(number), leaf, port, true, now);
    }

    /// The ports that an ACK of flow `number` names; all links are up.
    fn named(&mut self, number: u64, now: Time) -> Option<u32> {
        self.0.named(FiveTuple(number), || PortSet(0b1111), now).map(|ports| ports.0)
    }
}

/// Breaks if two large flows of one leaf on one port ask none to move, or both, or if the ports named
/// are not those without large flows.
#[test]
fn one_of_two_on_a_port_is_asked() {
    let mut accounts = Accounts::new();
    accounts.data(1, 0, 2, at(0));
    accounts.data(9, 1, 3, at(0));
    assert_eq!(accounts.named(1, at(0)), None);
    accounts.data(2, 0, 2, at(1));
    accounts.data(1, 0, 2, at(2));
    assert_eq!((accounts.named(2, at(2)), accounts.named(1, at(2))), (Some(0b0011), None));
    assert_eq!(accounts.named(9, at(2)), None);
    // It goes on being asked until it moves.
    accounts.data(2, 0, 2, at(3));
    assert_eq!(accounts.named(2, at(3)), Some(0b0011));
    accounts.data(2, 0, 0, at(4));
    assert_eq!((accounts.named(2, at(4)), accounts.named(1, at(4))), (None, None));
    assert_eq!(accounts.0.free(), PortSet(0b0010));
}

/// Breaks if flows of different source leaves are not parted ("two large flows share the same port", §II-B2c),
/// or both are asked: either's leaf can move its own.
#[test]
fn one_of_two_of_different_leaves_is_asked() {
    let mut accounts = Accounts::apart(None);
    accounts.data(1, 0, 2, at(0));
    accounts.data(2, 3, 2, at(1));
    accounts.data(1, 0, 2, at(2));
    assert_eq!((accounts.named(2, at(2)), accounts.named(1, at(2))), (Some(0b1011), None));
    accounts.data(2, 3, 0, at(3));
    assert_eq!((accounts.named(2, at(3)), accounts.named(1, at(3))), (None, None));
    accounts.fin(1, 0, 2, at(4));
    accounts.fin(2, 3, 0, at(4));
    assert_eq!((accounts.0.used, accounts.0.notified), (PortSet(0), 0));
}

/// Breaks if flows of different source leaves are asked where only those of one are to be parted.
#[test]
fn flows_of_different_leaves_are_not_asked() {
    let mut accounts = Accounts::new();
    for now in 0..3 {
        accounts.data(1, 0, 2, at(now));
        accounts.data(2, 1, 2, at(now));
    }
    assert_eq!((accounts.named(1, at(3)), accounts.named(2, at(3))), (None, None));
}

/// Breaks if flows are asked without another port free of large flows, by whichever leaf; or are still
/// asked when the last such port has gone, or its link is down.
#[test]
fn nobody_is_asked_without_a_free_port() {
    let mut accounts = Accounts::new();
    for port in 0..4 {
        accounts.data(10 + u64::from(port), 2, port, at(0));
    }
    accounts.data(1, 0, 2, at(1));
    accounts.data(2, 0, 2, at(1));
    assert_eq!(accounts.named(2, at(1)), None);
    accounts.fin(10, 2, 0, at(2));
    accounts.data(2, 0, 2, at(3));
    assert_eq!(accounts.named(2, at(3)), Some(0b0001));
    let down = accounts.0.named(FiveTuple(2), || PortSet(0b1110), at(4));
    assert_eq!(down, None, "its link is down");
    accounts.data(2, 0, 2, at(5));
    accounts.data(10, 2, 0, at(6));
    assert_eq!(accounts.named(2, at(6)), None, "taken meanwhile");
}

/// Breaks if a flow is asked more than once in 10 ms, or never again; and if the other of the two
/// cannot be asked meanwhile.
#[test]
fn a_flow_moves_at_most_once_in_10_ms() {
    let mut accounts = Accounts::new();
    accounts.data(1, 0, 0, at(0));
    accounts.data(3, 0, 1, at(0));
    accounts.data(2, 0, 0, at(0));
    // Flow 2 moves to the port of flow 3.
    accounts.data(2, 0, 1, at(100));
    accounts.data(2, 0, 1, at(10_099));
    accounts.data(3, 0, 0, at(10_099));
    accounts.data(3, 0, 1, at(10_099));
    assert_eq!((accounts.named(2, at(10_099)), accounts.named(3, at(10_099))), (None, None));
    accounts.data(2, 0, 1, at(10_100));
    assert!(accounts.named(2, at(10_100)).is_some());
}

/// Breaks if a flow is counted after its FIN, or a FIN of a flow that is not known counts.
#[test]
fn a_flow_ends_by_fin() {
    let mut accounts = Accounts::new();
    accounts.fin(5, 0, 1, at(0));
    assert_eq!(accounts.0.used, PortSet(0));
    accounts.data(1, 0, 1, at(1));
    accounts.data(2, 0, 1, at(1));
    accounts.fin(2, 0, 1, at(2));
    accounts.data(1, 0, 1, at(3));
    assert_eq!((accounts.named(1, at(3)), accounts.named(2, at(3))), (None, None));
    assert_eq!((accounts.0.per_port[1], accounts.0.notified), (1, 0));
}

/// Breaks if a flow ends before or after 10 ms of silence, whichever flow has a packet then.
#[test]
fn a_flow_ends_by_silence() {
    let mut accounts = Accounts::new();
    accounts.data(1, 0, 1, at(0));
    accounts.data(2, 0, 2, at(3_000));
    accounts.data(1, 0, 1, at(5_000));
    accounts.data(3, 1, 3, at(12_999));
    assert_eq!(accounts.0.used, PortSet(0b1110));
    accounts.data(3, 1, 3, at(13_000));
    assert_eq!(accounts.0.used, PortSet(0b1010));
    accounts.data(3, 1, 3, at(15_000));
    assert_eq!(accounts.0.used, PortSet(0b1000));
}

/// Breaks if a flow whose entry another has is counted, or the account runs below zero when it ends.
#[test]
fn a_flow_without_an_entry_is_not_counted() {
    let mut accounts = Accounts(LargeFlows::new(1, Some(4), 4, (MS * 10, MS * 10), 1));
    accounts.data(1, 0, 1, at(0));
    accounts.data(2, 0, 1, at(1));
    accounts.fin(2, 0, 1, at(2));
    assert_eq!(accounts.0.per_port, [0, 1, 0, 0]);
    accounts.fin(1, 0, 1, at(3));
    accounts.data(2, 0, 3, at(4));
    assert_eq!(accounts.0.per_port, [0, 0, 0, 1]);
}
