//! Tests of `ml-ecn` against AQ-CAR §II-B3a, K = 64 and L = 4: thresholds at 16, 32, 48, 64.

use super::*;
use crate::testing::{FakeLeaf, control, data, stated};
use crate::{Amount, Backlog, Value};
use leafspine_core::{Flags, Rate, Role};

const LARGE: u8 = 2;

fn made(params: &Params) -> MlEcn {
    let mut leaf = FakeLeaf::new(1, 1, 1);
    leaf.env.stage_queues = vec![0, 1, 1, 1, 1, 2];
    make(params, &leaf.env).unwrap()
}

fn defaults() -> Params {
    stated(ENTRY.info.params, &[("threshold", "64pkt")])
}

/// `queue` with so many packets, of which the port has `total`.
fn view(queue: u8, packets: u32, total: u32) -> QueueView {
    let waits = |packets| Backlog { packets, bytes: packets * 1500, in_service: 1500 };
    let rate = Rate::from_gbps(10);
    QueueView { port: PortId(0), queue, this: waits(packets), port_total: waits(total), rate }
}

fn release(aqm: &mut MlEcn, packet: PacketMeta, queue: &QueueView, rng: &mut Rng) -> bool {
    let verdict = aqm.release(&mut packet.clone(), queue, Span::ZERO, Time::ZERO, rng);
    verdict == Release::Mark
}

/// How many of 8,000 packets with this tag are marked on leaving `queue`.
fn marked(tag: u8, queue: &QueueView) -> u32 {
    let mut aqm = made(&defaults());
    let mut rng = Rng::new(7, Role::Aqm, u64::from(tag));
    let packet = PacketMeta { class: tag, ..data(0, 1, 1, 0) };
    (0..8_000).map(|_| u32::from(release(&mut aqm, packet, queue, &mut rng))).sum()
}

/// Binomial(8000, p): within five standard deviations, which are 45 at most; exact at 0 and 1.
fn about(found: u32, quarters: u32) {
    let p = f64::from(quarters) / 4.0;
    let deviation = (8_000.0 * p * (1.0 - p)).sqrt();
    let off = (f64::from(found) - 8_000.0 * p).abs();
    assert!(off <= 5.0 * deviation, "{found} of 8000 marked, {quarters} quarters expected");
}

/// Breaks if a level or a stage is marked with another probability than max(0, i - (S - s)) / L
/// while the port holds less than K. Rows: level 0 to 3; columns: stage 1 to 4; quarters.
#[test]
fn medium_stages_are_marked_by_level_and_stage() {
    let table = [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3]];
    for (level, row) in table.into_iter().enumerate() {
        for (at, quarters) in row.into_iter().enumerate() {
            let (low, high) = (level as u32 * 16, level as u32 * 16 + 15);
            for packets in [low, high] {
                about(
                    marked(at as u8 + 1, &view(MEDIUM, packets, packets.clamp(40, 63))),
                    quarters,
                );
            }
        }
    }
}

/// Breaks if, with K or more at the port, a medium queue below TL_1 is marked or one from TL_1 on
/// is not marked wholly, small stages included.
#[test]
fn a_pressed_port_marks_all_medium_flows_from_the_first_threshold_on() {
    for stage in 1..=4 {
        about(marked(stage, &view(MEDIUM, 15, 64)), 0);
        about(marked(stage, &view(MEDIUM, 16, 64)), 4);
        about(marked(stage, &view(MEDIUM, 200, 200)), 4);
    }
    // One packet less at the port: level 1 again, which spares stages 1 to 3.
    about(marked(3, &view(MEDIUM, 16, 63)), 0);
}

/// Breaks if large flows are not marked with i / L below K at the port, or not all above, whatever
/// their own queue.
#[test]
fn large_flows_are_marked_by_level_and_wholly_under_pressure() {
    for (packets, quarters) in [(0, 0), (15, 0), (16, 1), (31, 1), (32, 2), (48, 3), (63, 3)] {
        about(marked(5, &view(LARGE, packets, 63)), quarters);
    }
    about(marked(5, &view(LARGE, 0, 64)), 4);
}

/// Breaks if small flows' queue is marked before its own K, by levels, or by the port's total.
#[test]
fn the_small_queue_has_the_standard_threshold() {
    about(marked(0, &view(SMALL, 63, 500)), 0);
    about(marked(0, &view(SMALL, 64, 64)), 4);
}

/// Breaks if the number of levels is not a parameter: with 8, TL_1 is 8 packets and one eighth.
#[test]
fn levels_can_be_finer() {
    let mut aqm = made(&defaults().with("levels", Value::Int(8)));
    let mut rng = Rng::new(3, Role::Aqm, 0);
    let packet = PacketMeta { class: 4, ..data(0, 1, 1, 0) };
    let queue = view(MEDIUM, 8, 8);
    let marks = (0..8_000).filter(|_| release(&mut aqm, packet, &queue, &mut rng)).count();
    // Binomial(8000, 1/8): mean 1000, standard deviation 29.6; five of them.
    assert!(marks.abs_diff(1_000) < 148, "{marks}");
}

/// Breaks if a packet that is not ECN-capable is marked, or if marking waits for no real queue.
#[test]
fn only_what_is_capable_is_marked_and_at_dequeue() {
    let mut aqm = made(&defaults());
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let full = view(LARGE, 200, 200);
    assert!(!release(&mut aqm, control(0, 1, 1, Flags::ACK), &full, &mut rng));
    assert!(release(&mut aqm, data(0, 1, 1, 0), &full, &mut rng));
    assert!(aqm.needs().release);
    assert_eq!(aqm.admit(&data(0, 1, 1, 0), &full, Time::ZERO, &mut rng), Admit::Take);
}

/// Breaks if the unit of K does not choose the accounting: 96 KB are 64 full packets, or many more
/// small ones.
#[test]
fn bytes_count_bytes() {
    let mut aqm = made(&defaults().with("threshold", Value::Amount(Amount::Bytes(96_000))));
    let mut rng = Rng::new(1, Role::Aqm, 0);
    let small = Backlog { packets: 500, bytes: 20_000, in_service: 40 };
    let queue = QueueView { this: small, port_total: small, ..view(SMALL, 0, 0) };
    assert!(!release(&mut aqm, data(0, 1, 1, 0), &queue, &mut rng));
    assert!(release(&mut aqm, data(0, 1, 1, 0), &view(SMALL, 64, 64), &mut rng));
}

/// Breaks if stages that the manager cannot tell apart are accepted.
#[test]
fn stages_in_another_order_are_refused() {
    let mut leaf = FakeLeaf::new(1, 1, 1);
    leaf.env.stage_queues = vec![0, 1];
    let message = make(&defaults(), &leaf.env).err().unwrap().to_string();
    assert!(message.starts_with("scheme: found switch.stage_queues = [0, 1];"), "{message}");
}
