//! How the ingress draws a port, for packets and for flowlets.

use super::*;

/// Ports 4 to 7 with L of 0, 25 and 50 % growing, and 100 % growing at T = 0.
fn uneven() -> (FakeLeaf, Qall) {
    let mut leaf = leaf();
    let params = defaults().with("idle_growth", Value::Bool(false));
    let mut qall = make(&params, &leaf.env).unwrap();
    leaf.wait(Span(3_000 * US + 1));
    for (port, packets) in [(4, 0), (5, 25), (6, 50), (7, 100)] {
        // The second is not later than a period after the first: the third returns, with T = 0.
        for at in [2_000 * US, 3_000 * US] {
            leave_at(&mut leaf, &mut qall, port, 0, Time(at));
        }
        leave(&mut leaf, &mut qall, port, packets);
    }
    (leaf, qall)
}

/// Breaks if a port's part of the packets is not its part of the weights (eq. 5): 2,000,000,
/// 1,500,000, 1,000,000 and none of 4,500,000; chi-square with 2 degrees of freedom, 0.1 % point 13.8.
#[test]
fn ports_are_drawn_by_weight() {
    let (mut leaf, mut qall) = uneven();
    let weights: Vec<u64> = (4..8).map(|port| weight(&mut leaf, &mut qall, port)).collect();
    assert_eq!(weights, [2_000_000, 1_500_000, 1_000_000, 0]);
    let mut counts = [0; 4];
    for seq in 0..9_000 {
        counts[usize::from(leaf.pick(&mut qall, &mut data(0, 9, 1, seq)).0 - 4)] += 1;
    }
    assert_eq!(counts[3], 0);
    let chi2 = chi_square(&counts[..3], &[4_000.0, 3_000.0, 2_000.0]);
    assert!(chi2 < 13.8, "chi-square {chi2}: {counts:?}");
}

/// Breaks if Algorithm 2 is another: one number of 1..=sum W per packet, and the port whose cells
/// contain it, in the ports' order.
#[test]
fn one_draw_over_the_grid() {
    let (mut leaf, mut qall) = uneven();
    let mut same: Rng = leaf.rng.clone();
    for seq in 0..1_000 {
        let grid_id = 1 + same.below(4_500_000);
        let port = match grid_id {
            1..=2_000_000 => 4,
            2_000_001..=3_500_000 => 5,
            _ => 6,
        };
        assert_eq!(leaf.pick(&mut qall, &mut data(0, 9, 1, seq)), PortId(port));
    }
}

/// Breaks if a lone port costs a draw.
#[test]
fn one_port_is_not_drawn() {
    let (mut leaf, mut qall) = uneven();
    leaf.live = vec![PortId(7)];
    let mut before = leaf.rng.clone();
    assert_eq!(leaf.pick(&mut qall, &mut data(0, 9, 1, 0)), PortId(7));
    assert_eq!(leaf.rng.next_u64(), before.next_u64());
}

/// Breaks if ports without any weight cannot be picked when there is no other, or not evenly:
/// chi-square with 3 degrees of freedom, 0.1 % point 16.3.
#[test]
fn without_weights_all_ports_are_alike() {
    let mut leaf = leaf();
    let mut qall = make(&defaults(), &leaf.env).unwrap();
    for port in &mut qall.ports {
        port.weight = 0;
    }
    let mut counts = [0; 4];
    for seq in 0..4_000 {
        counts[usize::from(leaf.pick(&mut qall, &mut data(0, 9, 1, seq)).0 - 4)] += 1;
    }
    let chi2 = chi_square(&counts, &[1_000.0; 4]);
    assert!(chi2 < 16.3, "chi-square {chi2}: {counts:?}");
}

/// One port's weight, 1 ms after a dequeue that found 50 % with T = 100 us, and so on.
fn idle(growth: bool, variant: &str) -> (FakeLeaf, Qall) {
    let mut leaf = leaf();
    let params = word("variant", variant).with("idle_growth", Value::Bool(growth));
    let mut qall = make(&params, &leaf.env).unwrap();
    leaf.wait(Span(1_900 * US));
    leave(&mut leaf, &mut qall, 4, 0);
    leaf.wait(Span(100 * US));
    leave(&mut leaf, &mut qall, 4, 0);
    leaf.wait(Span(900 * US));
    leave(&mut leaf, &mut qall, 4, 0);
    leaf.wait(Span(100 * US + 1));
    leave(&mut leaf, &mut qall, 4, 50);
    assert_eq!(known(&mut leaf, &mut qall, 4), queue(50, 100, 2));
    (leaf, qall)
}

/// Breaks if an idle port's T does not grow with its idle time: W = 2,000,000 - 100 (10,000 - T),
/// T the idle time once that is more than the 100 us of the last return; all after tau.
#[test]
fn an_idle_port_recovers() {
    let (mut leaf, mut qall) = idle(true, "derived");
    for (us, expected) in [
        (0, 1_010_000),
        (100, 1_010_000),
        (101, 1_010_100),
        (1_000, 1_100_000),
        (5_000, 1_500_000),
        (10_000, 2_000_000),
        (50_000, 2_000_000),
    ] {
        leaf.wait(Span(2_900 * US + 100 * US + 1 + us * US - leaf.now.0));
        assert_eq!(weight(&mut leaf, &mut qall, 4), expected, "{us} us");
    }
}

/// Breaks if the paper's own rule cannot be had: the last return stays.
#[test]
fn an_idle_port_keeps_its_state_without_growth() {
    let (mut leaf, mut qall) = idle(false, "derived");
    leaf.wait(Span(50_000 * US));
    assert_eq!(weight(&mut leaf, &mut qall, 4), 1_010_000);
}

/// Breaks if a port counts as idle while its line sends or packets wait, or while a dequeue that
/// was told of lies ahead.
#[test]
fn a_busy_port_does_not_recover() {
    let (mut leaf, mut qall) = idle(true, "derived");
    leaf.wait(Span(5_000 * US));
    leaf.ports.ports[4].in_service = 1_500;
    assert_eq!(weight(&mut leaf, &mut qall, 4), 1_010_000);
    leaf.ports.ports[4].in_service = 0;
    assert_eq!(weight(&mut leaf, &mut qall, 4), 1_500_000);
    let ahead = Time(leaf.now.0 + 10 * US);
    leave_at(&mut leaf, &mut qall, 4, 50, ahead);
    assert_eq!(weight(&mut leaf, &mut qall, 4), 1_010_000);
}

/// Breaks if growth does not reach the fits: eq. 8 falls with T.
#[test]
fn an_idle_port_recovers_in_the_fits() {
    let (mut leaf, mut qall) = idle(true, "linear");
    let before = weight(&mut leaf, &mut qall, 4);
    leaf.wait(Span(10_000 * US));
    let most = qall.index.most();
    // L = 0.5, T = 1: 16 + 13 - 46 hundredths.
    assert_eq!(weight(&mut leaf, &mut qall, 4), (most + 17 * ONE) as u64);
    assert!(before < (most + 17 * ONE) as u64);
}

fn flowlets() -> Params {
    word("granularity", "flowlet")
}

/// Breaks if a flowlet is cut at or before T_inter = 10 ms, or not after it (Algorithm 1 line 15):
/// 400 pauses a picosecond longer change the port with 3/4; mean 300, standard deviation 8.7, five.
#[test]
fn a_flowlet_keeps_its_port_for_the_gap() {
    let mut leaf = leaf();
    let mut qall = make(&flowlets(), &leaf.env).unwrap();
    let mut last = leaf.pick(&mut qall, &mut data(0, 9, 1, 0));
    for seq in 1..400 {
        leaf.wait(Span::from_millis(10));
        assert_eq!(leaf.pick(&mut qall, &mut data(0, 9, 1, seq)), last);
    }
    let mut changes: u32 = 0;
    for seq in 0..400 {
        leaf.wait(Span(10_000 * US + 1));
        let port = leaf.pick(&mut qall, &mut data(0, 9, 1, seq));
        changes += u32::from(port != last);
        last = port;
    }
    assert!(changes.abs_diff(300) < 44, "{changes}");
}

/// Breaks if new flowlets are not drawn by weight: none takes the port whose weight is 0.
#[test]
fn flowlets_are_drawn_by_weight() {
    let mut leaf = leaf();
    let mut qall = make(&flowlets(), &leaf.env).unwrap();
    for port in 4..7 {
        qall.ports[port].weight = 0;
    }
    for sport in 0..200 {
        assert_eq!(leaf.pick(&mut qall, &mut data(0, 9, sport, 0)), PortId(7));
    }
}

/// Breaks if a flowlet stays on a port that has gone, or flows have no entries of their own.
#[test]
fn a_lost_port_is_left_at_once() {
    let mut leaf = leaf();
    let mut qall = make(&flowlets(), &leaf.env).unwrap();
    let first = leaf.pick(&mut qall, &mut data(0, 9, 1, 0));
    leaf.live.retain(|port| *port != first);
    let second = leaf.pick(&mut qall, &mut data(0, 9, 1, 1));
    assert!(leaf.live.contains(&second));
    leaf.live = (4..8).map(PortId).collect();
    assert_eq!(leaf.pick(&mut qall, &mut data(0, 9, 1, 2)), second);
    let ports = (0..40).map(|sport| leaf.pick(&mut qall, &mut data(0, 9, sport, 0)));
    assert!(ports.collect::<std::collections::BTreeSet<_>>().len() == 4);
}

/// Breaks if the footprint forgets the table or the ports, or counts entries that have
/// aged out; and the slot is not the entry that is used.
#[test]
fn footprints_and_slots() {
    let mut leaf = leaf();
    let packets = make(&defaults(), &leaf.env).unwrap();
    let port = 120;
    let kept = packets.footprint(leaf.now);
    assert_eq!(kept.bytes, 8 * port);
    assert_eq!((kept.slots, kept.occupied, kept.per_flow), (0, 0, 0));
    assert_eq!(packets.slot(&data(0, 9, 1, 0)), None);
    let params = flowlets().with("entries", Value::Int(1_024));
    let mut qall = make(&params, &leaf.env).unwrap();
    leaf.wait(Span(US));
    leaf.pick(&mut qall, &mut data(0, 9, 1, 0));
    let used = qall.slot(&data(0, 9, 1, 0)).unwrap();
    assert!(qall.flowlets.as_ref().unwrap().cached(used as usize).is_some());
    let kept = qall.footprint(leaf.now);
    assert_eq!(kept.bytes, 8 * port + 1_024 * 16);
    assert_eq!((kept.slots, kept.occupied, kept.per_flow), (1_024, 1, 16));
    assert_eq!(qall.footprint(leaf.now + Span::from_millis(11)).occupied, 0);
}
