//! Which queue a packet takes (§III-B).

use super::*;

/// Breaks if a first packet does not take the shortest queue, or a later one not the shortest of those
/// by which it leaves after the packet before it: Fig. 7, which gives the queues' parts and no lengths.
/// Packet 3 goes to Q2, where 2 packets wait (only Q2 and Q3 are up, and 5 wait at Q3): QD = 36 us.
/// 12 us later RQD = 24 us, and 3, 4 and 0 packets wait. Packet 4 would be out of Q3 after 12 us, out
/// of Q1 after 48 and of Q2 after 60: it goes to Q1, the shorter of the latter two.
#[test]
fn fig_7() {
    let mut flow = Flow::new(leaf(3), &defaults());
    flow.leaf.live = vec![Q2, Q3];
    assert_eq!(flow.next(&[2, 2, 5]), Q2);
    flow.leaf.live = vec![Q1, Q2, Q3];
    flow.leaf.wait(us(12));
    assert_eq!(flow.next(&[3, 4, 0]), Q1);
}

/// Breaks if a large flow follows the rule into a queue longer than S, or a small one does not:
/// Fig. 8. Packet 3 of the flow waits in Q3 behind 39 others (QD = 480 us). 12 us later packet 4
/// would leave after it only by Q3, where 39 wait; 20 wait at Q1, none at Q2. S is 33: a large flow
/// goes to Q2.
#[test]
fn fig_8() {
    for (sent, port) in [(90_000, Q3), (150_000, Q2)] {
        let mut flow = Flow::new(leaf(3), &defaults());
        flow.grow(sent);
        flow.leaf.live = vec![Q3];
        assert_eq!(flow.next(&[20, 0, 39]), Q3);
        flow.leaf.live = vec![Q1, Q2, Q3];
        flow.leaf.wait(us(12));
        assert_eq!(flow.next(&[20, 0, 39]), port, "{sent} bytes sent");
    }
}

/// Breaks if QD is not (backlog + packet) / rate, RQD not what is left of it, or a port whose delay
/// equals RQD counts as later (eqs. 1 and 2). Five packets wait: QD = 6 x 12 = 72 us. After 30 us,
/// RQD = 42 us: 3,750 waiting bytes and 1,500 take exactly that, one byte more takes 8 ns more.
#[test]
fn eqs_1_and_2() {
    for (bytes, port) in [(3_750, Q1), (3_751, Q2)] {
        let mut flow = Flow::new(leaf(2), &defaults());
        flow.leaf.live = vec![Q1];
        assert_eq!(flow.next(&[5, 9]), Q1);
        flow.leaf.live = vec![Q1, Q2];
        flow.leaf.wait(us(30));
        wait_bytes(&mut flow.leaf, Q2, 3, bytes);
        assert_eq!(flow.send(1500), port, "{bytes} bytes");
    }
}

/// Breaks if every packet is taken for a full one (eq. 1's M): behind a full packet (QD 12 us), a
/// packet of 40 bytes would take 0.32 us on an idle port, 12.32 us behind one full packet.
#[test]
fn sizes_are_real() {
    for (waits, port) in [(0, Q1), (1, Q2)] {
        let mut flow = Flow::new(leaf(2), &defaults());
        flow.leaf.live = vec![Q1];
        flow.next(&[0, 0]);
        flow.leaf.live = vec![Q1, Q2];
        queues(&mut flow.leaf, &[4, waits]);
        assert_eq!(flow.send(40), port, "{waits} wait");
    }
}

/// Breaks if a flow waits for a packet whose delay is over, or does not wait for one whose delay has a
/// picosecond left: QD = 72 us.
#[test]
fn nothing_left_is_a_first_packet() {
    for (later, port) in [(us(72), Q2), (Span(us(72).0 - 1), Q1)] {
        let mut flow = Flow::new(leaf(2), &defaults());
        flow.leaf.live = vec![Q1];
        flow.next(&[5, 0]);
        flow.leaf.live = vec![Q1, Q2];
        flow.leaf.wait(later);
        // Q2 takes 0 ps for a packet without size: never more than what is left.
        queues(&mut flow.leaf, &[5, 0]);
        assert_eq!(flow.send(0), port, "{later}");
    }
}

/// Breaks if the flow's own last port is no candidate where its delay is not larger: the full packet
/// before is in transmission, so nothing waits, and 40 bytes take 0.32 us by eq. 1, less than what
/// is left of 12 us. Q2, at 24.32 us, would be the only other candidate.
#[test]
fn the_last_port_is_always_a_candidate() {
    let mut flow = Flow::new(leaf(2), &defaults());
    flow.next(&[0, 2]);
    flow.leaf.wait(us(1));
    assert_eq!(flow.send(40), Q1);
}

/// Breaks if a flow whose last port is gone does not restart at the shortest queue.
#[test]
fn a_lost_port_is_a_first_packet() {
    let mut flow = Flow::new(leaf(3), &defaults());
    flow.leaf.live = vec![Q3];
    flow.next(&[0, 0, 20]);
    flow.leaf.live = vec![Q1, Q2];
    assert_eq!(flow.next(&[1, 0, 0]), Q2);
}

/// Breaks if "shortest" mixes up bytes and delay: 3 packets wait at Q1, whose link has 1 Gb/s, 1 at
/// Q2 with 0.2: 48 against 120 us. The rate changes during the run.
#[test]
fn shortest_by_bytes_or_by_delay() {
    for (by, port) in [("bytes", Q2), ("delay", Q1)] {
        let mut flow = Flow::new(leaf(2), &defaults().with("by", word(by)));
        assert_eq!(flow.next(&[3, 1]), Q2, "{by}");
        flow.leaf.ports.ports[usize::from(Q2.0)].rate = Rate::from_mbps(200);
        flow.leaf.wait(Span::from_millis(10));
        assert_eq!(flow.next(&[3, 1]), port, "{by}");
    }
}

/// Breaks if QD is taken at the rate a link had at the start of the run: three packets wait at a Q1 of
/// 0.2 Gb/s, QD = 240 us; 200 us later there are 40 left, more than Q2's 24.
#[test]
fn delays_follow_the_rate() {
    let mut flow = Flow::new(leaf(2), &defaults());
    flow.leaf.ports.ports[usize::from(Q1.0)].rate = Rate::from_mbps(200);
    flow.leaf.live = vec![Q1];
    flow.next(&[3, 0]);
    flow.leaf.live = vec![Q1, Q2];
    flow.leaf.wait(us(200));
    assert_eq!(flow.next(&[3, 1]), Q1);
    assert_eq!(flow.next(&[3, 20]), Q1);
}

/// Breaks if equal queues are not drawn evenly, or a longer one is ever drawn: chi-square over the
/// three shortest of four with 2 degrees of freedom, 0.1 % point 13.8.
#[test]
fn ties_are_drawn() {
    let mut leaf = leaf(4);
    queues(&mut leaf, &[2, 2, 3, 2]);
    let mut qdaps = build(&defaults(), &leaf.env).unwrap();
    let mut drawn = [0; 4];
    for sport in 0..9_000 {
        let port = leaf.pick(&mut *qdaps, &mut data(0, 9, sport, 0));
        drawn[usize::from(port.0 - Q1.0)] += 1;
    }
    let chi2 = chi_square(&[drawn[0], drawn[1], drawn[3]], &[3_000.0; 3]);
    assert!(chi2 < 13.8 && drawn[2] == 0, "chi-square {chi2}: {drawn:?}");
}
