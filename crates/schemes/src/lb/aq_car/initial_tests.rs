//! Tests of the stamps, the feedback tables, PAT and initial routing (AQ-CAR §II-B2 and §II-B2a).

use super::ENTRY;
use super::fabric::*;
use super::header::{Feedback, stamp};
use crate::testing::{FakeLeaf, chi_square, control, data, stated};
use crate::{Value, registry};
use leafspine_core::{Flags, HostId, PacketMeta, PortId, Span};

/// What ECMP would choose at the source's leaf.
fn ecmp(fabric: &mut Fabric, packet: PacketMeta) -> u16 {
    let entry = registry::load_balancer("ecmp").unwrap();
    let params = stated(entry.info.params, &[]);
    let mut ecmp = (entry.build)(&params, &fabric.source.place.env).unwrap();
    fabric.source.place.pick(&mut *ecmp, &mut packet.clone()).0 - HOSTS
}

/// Breaks if spines do not stamp SYN and data with the level of the queue that sent them, whatever
/// waits in the other queues ("spine switches tag SYN and data packets with the congestion level of the
/// queue that dequeued the packet").
#[test]
fn spines_stamp_the_level_of_the_packets_own_queue() {
    let mut fabric = Fabric::new(1);
    for (queue, packets) in [(0, 20), (1, 40), (2, 64)] {
        fabric.spines[0].fill(1, queue, packets);
    }
    let mut stamped = |mut packet: PacketMeta| {
        fabric.spines[0].leaving(&mut packet, 1);
        stamp(&packet)
    };
    assert_eq!(stamped(control(SRC, DST, 1, Flags::SYN)), 1);
    assert_eq!([0, 1, 4, 5].map(|stage| stamped(staged(1, stage))), [1, 2, 2, 3]);
}

/// Breaks if ACKs or SYN-ACKs are stamped: the stamp would overwrite what is fed back.
#[test]
fn spines_leave_acks_alone() {
    let mut fabric = Fabric::new(4);
    fabric.show(0, &[0, 1, 2, 3]);
    fabric.show(4, &[0, 3, 2, 1]);
    fabric.deliver(marked(7, 4), 1);
    fabric.spines.iter_mut().for_each(|spine| spine.fill(0, 0, 64));
    assert_eq!(fabric.reply(syn_ack(1)), Feedback::Small(table(&[0, 1, 2, 3])));
    assert_eq!(fabric.reply(ack(7)), Feedback::Medium(table(&[0, 3, 2, 1])));
}

/// Breaks if a second switch above the leaves lowers the stamp of the first.
#[test]
fn the_highest_level_on_the_way_stays() {
    let mut fabric = Fabric::new(2);
    fabric.spines[0].fill(1, 0, 40);
    let mut packet = data(SRC, DST, 1, 0);
    fabric.spines[0].leaving(&mut packet, 1);
    fabric.spines[1].leaving(&mut packet, 1);
    assert_eq!(stamp(&packet), 2);
}

/// Breaks if the SYN does not follow ECMP's hash ("it forwards the SYN packet using ECMP").
#[test]
fn the_syn_goes_by_ecmp() {
    let mut fabric = Fabric::new(4);
    fabric.source.fill(HOSTS, 0, 64);
    for sport in 0..64 {
        let syn = control(SRC, DST, sport, Flags::SYN);
        assert_eq!(fabric.send(syn), ecmp(&mut fabric, syn));
    }
}

/// Breaks if the SYN gets no entry ("and inserts a new entry into the PAT"), or if a second SYN or
/// data before the SYN-ACK leave its port: with levels changed, an allocation would.
#[test]
fn the_syn_is_entered_into_the_pat() {
    let mut fabric = Fabric::new(4);
    let port = fabric.send(control(SRC, DST, 7, Flags::SYN));
    assert_eq!(fabric.source.balancer.inspect().footprint(fabric.source.place.now).occupied, 1);
    fabric.source.fill(HOSTS + port, 0, 64);
    assert_eq!(fabric.send(control(SRC, DST, 7, Flags::SYN)), port);
    assert_eq!(fabric.send(data(SRC, DST, 7, 0)), port);
}

/// Breaks if the destination's leaf does not keep the level of each ingress port by class ("updates the
/// small congestion feedback table; if the packet belongs to a medium flow, the medium one").
#[test]
fn levels_are_kept_by_ingress_port_and_class() {
    let mut fabric = Fabric::new(4);
    fabric.show(0, &[0, 1, 2, 3]);
    fabric.show(2, &[3, 3, 3, 3]);
    fabric.spines[1].fill(1, 2, 64);
    fabric.deliver(staged(1, 5), 1);
    assert_eq!(fabric.reply(syn_ack(1)), Feedback::Small(table(&[0, 1, 2, 3])));
    fabric.spines[3].fill(1, 0, 0);
    fabric.deliver(control(SRC, DST, 8, Flags::SYN), 3);
    assert_eq!(fabric.reply(syn_ack(1)), Feedback::Small(table(&[0, 1, 2, 0])), "a SYN tells, too");
}

/// Breaks if the path is not the one with the smallest maximum of the local and the fed back level
/// ("the effective congestion is the maximum load of the two hops; L1 chooses the minimum").
#[test]
fn the_syn_ack_chooses_the_least_congested_path() {
    for (local, remote, chosen) in [
        ([3, 3, 3, 0], [3, 3, 3, 0], 3),
        ([0, 1, 2, 3], [3, 2, 0, 0], 1),
        ([0, 2, 1, 2], [2, 0, 1, 3], 2),
        ([1, 0, 0, 0], [1, 2, 2, 2], 0),
    ] {
        let mut fabric = Fabric::new(4);
        fabric.show(0, &remote);
        for sport in 0..8 {
            for (spine, level) in local.iter().enumerate() {
                fabric.source.fill(HOSTS + spine as u16, 0, level * 16);
            }
            let (_, port) = fabric.open(sport);
            // max(0, 2) ties with max(2, 0) and so on: all of the minimum are right.
            let effective = |at: usize| local[at].max(remote[at]);
            let least = (0..4).map(effective).min().unwrap();
            assert_eq!(effective(usize::from(port)), least, "{local:?} {remote:?}");
            let only = (0..4).filter(|at| effective(*at) == least).count() == 1;
            assert!(!only || port == chosen, "{local:?} {remote:?}: {port}");
        }
    }
}

/// Breaks if ties are not broken uniformly at random: 3 of 4 paths are alike, 3,000 flows, chi-square
/// with 2 degrees of freedom, 0.1 % point 13.8.
#[test]
fn ties_are_broken_at_random() {
    let mut fabric = Fabric::new(4);
    fabric.source.fill(HOSTS + 2, 0, 16);
    let mut counts = [0u64; 4];
    for sport in 0..3_000 {
        counts[usize::from(fabric.open(sport).1)] += 1;
        // Its entry expires: none of the others meets it there.
        fabric.wait(Span::from_millis(1));
    }
    assert_eq!(counts[2], 0);
    let chi2 = chi_square(&[counts[0], counts[1], counts[3]], &[1_000.0; 3]);
    assert!(chi2 < 13.8, "chi-square {chi2}: {counts:?}");
}

/// Breaks if a flow leaves its path without being asked ("all the subsequent packets of this flow will
/// be routed through port 1"), or if a second SYN-ACK chooses again.
#[test]
fn all_subsequent_packets_stay() {
    let mut fabric = Fabric::new(4);
    let (_, port) = fabric.open(7);
    fabric.source.fill(HOSTS + port, 0, 64);
    for seq in 1..200 {
        fabric.wait(Span::from_micros(100));
        if seq == 50 {
            fabric.reply(syn_ack(7));
        }
        let stage = (seq / 40) as u8;
        assert_eq!(fabric.send(PacketMeta { class: stage, ..data(SRC, DST, 7, seq) }), port);
        fabric.reply(ack(7));
    }
}

/// Breaks if a flow without an entry is not allocated from the last known table of its class and the
/// local levels of that class' queue: the tables of the two classes point to different spines.
#[test]
fn mid_flow_packets_are_allocated_from_what_is_known() {
    let mut fabric = Fabric::new(3);
    fabric.show(0, &[3, 0, 3]);
    fabric.show(1, &[3, 3, 2]);
    fabric.reply(syn_ack(50));
    // The medium table comes with the ACKs of a flow that is asked to move.
    fabric.spines[0].fill(1, 1, 64);
    fabric.deliver(marked(51, 4), 0);
    assert_eq!(fabric.reply(ack(51)), Feedback::Medium(table(&[3, 3, 2])));
    for sport in 0..8 {
        assert_eq!(fabric.send(staged(sport, 0)), 1, "small");
        assert_eq!(fabric.send(staged(100 + sport, 1)), 2, "medium");
    }
    // Large flows have no table of levels: the local queue alone.
    fabric.source.fill(HOSTS + 1, 2, 16);
    fabric.source.fill(HOSTS + 2, 2, 16);
    assert_eq!(fabric.send(staged(200, 5)), 0);
    // Another leaf has told nothing.
    fabric.source.fill(HOSTS, 0, 16);
    fabric.source.fill(HOSTS + 1, 0, 16);
    assert_eq!(fabric.send(data(SRC, 9, 1, 0)), 2);
}

/// Breaks if ACKs follow anything but the hash, or get an entry in PAT.
#[test]
fn acks_follow_the_hash_and_have_no_entry() {
    let mut fabric = Fabric::new(4);
    fabric.source.fill(HOSTS, 0, 64);
    for sport in 0..64 {
        for flags in [Flags::ACK, Flags::SYN.with(Flags::ACK)] {
            let packet = control(SRC, DST, sport, flags);
            assert_eq!(fabric.send(packet), ecmp(&mut fabric, packet));
        }
    }
    assert_eq!(fabric.source.balancer.inspect().footprint(fabric.source.place.now).occupied, 0);
    assert_eq!(fabric.source.balancer.inspect().slot(&control(SRC, DST, 1, Flags::ACK)), None);
}

/// Breaks if a flow stays on a lost port, or does not stay on the one it got instead.
#[test]
fn a_lost_port_is_left_for_good() {
    let mut fabric = Fabric::new(4);
    let (_, port) = fabric.open(7);
    fabric.source.place.live.retain(|live| *live != PortId(HOSTS + port));
    let second = fabric.send(data(SRC, DST, 7, 1));
    assert_ne!(second, port);
    fabric.source.place.live = (HOSTS..HOSTS + 4).map(PortId).collect();
    assert_eq!(fabric.send(data(SRC, DST, 7, 2)), second);
}

/// Breaks if the SYN-ACK chooses an uplink whose link is down: it has the lowest level.
#[test]
fn the_syn_ack_chooses_no_dead_link() {
    let mut fabric = Fabric::new(4);
    fabric.show(0, &[2, 1, 0, 2]);
    fabric.source.place.ports.ports[usize::from(HOSTS) + 2].up = false;
    assert_eq!(fabric.open(7).1, 1);
}

/// Breaks if two flows of one entry push each other out: the second follows the hash until the first
/// has been silent for long enough (500 us to 1 ms).
#[test]
fn a_flow_without_an_entry_of_its_own_follows_the_hash() {
    let mut fabric = Fabric::with(4, &first_read().with("entries", Value::Int(1)));
    let (_, port) = fabric.open(7);
    fabric.source.fill(HOSTS + port, 0, 16);
    for seq in 0..8 {
        let other = data(SRC, DST, 8, seq);
        assert_eq!(fabric.send(other), ecmp(&mut fabric, other));
        assert_eq!(fabric.send(data(SRC, DST, 7, 1 + seq)), port);
    }
    fabric.wait(Span::from_millis(1));
    assert_ne!(fabric.send(data(SRC, DST, 8, 9)), port, "allocated: that one is congested");
    assert_eq!(fabric.source.balancer.inspect().footprint(fabric.source.place.now).occupied, 1);
}

/// Breaks if a leaf with more uplinks than a header has room for is taken, or the message does not
/// say how many there may be.
#[test]
fn at_most_31_uplinks() {
    assert!((ENTRY.build)(&first_read(), &FakeLeaf::new(1, 31, 1).env).is_ok());
    let error = (ENTRY.build)(&first_read(), &FakeLeaf::new(1, 32, 1).env).err().unwrap();
    assert_eq!(
        error.to_string(),
        "scheme: found a leaf with 32 uplinks; allowed: at most 31, whose levels fit into a header \
         of 64 bits"
    );
}

/// Breaks if parallel links to a spine do not count with their highest level: two spines with two links
/// each, of which the first spine's second is congested.
#[test]
fn parallel_links_count_together() {
    let mut leaf = FakeLeaf::new(HOSTS, 4, 1);
    for (at, port) in leaf.env.ports[usize::from(HOSTS)..].iter_mut().enumerate() {
        let spine = leafspine_core::SwitchId(4 + at as u16 / 2);
        port.neighbour = crate::Neighbour::Switch(spine, PortId(at as u16 % 2));
    }
    let mut balancer = (ENTRY.build)(&first_read(), &leaf.env).unwrap();
    let mut packet = syn_ack(1);
    super::header::set_feedback(&mut packet, Feedback::Small(table(&[0, 3, 1, 0])));
    let mut chosen = std::collections::BTreeSet::new();
    for sport in 0..40 {
        packet.tuple = flow(sport).reversed();
        leaf.with(|cx| balancer.arrived(&mut packet, PortId(HOSTS), cx));
        chosen.insert(leaf.pick(&mut *balancer, &mut data(SRC, DST, sport, 0)).0 - HOSTS);
    }
    assert_eq!(
        chosen.into_iter().collect::<Vec<_>>(),
        [2, 3],
        "spine 0 has level 3, spine 1 level 1"
    );
}

/// Breaks if traffic that only passes through a leaf is taken for its own: it follows the hash.
#[test]
fn transit_follows_the_hash() {
    let mut fabric = Fabric::new(4);
    let far = PacketMeta {
        tuple: leafspine_core::FiveTuple::new(HostId(9), HostId(DST), 1, 80),
        ..data(0, 0, 0, 0)
    };
    assert_eq!(fabric.send(far), ecmp(&mut fabric, far));
    assert_eq!(fabric.source.balancer.inspect().footprint(fabric.source.place.now).occupied, 0);
}
