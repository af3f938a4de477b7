//! GOAL schedules.

#[path = "../common/goal_files.rs"]
mod files;

use super::*;
use files::{Does, Op, Ops, op};
use leafspine_sim::Simulation;
use std::path::PathBuf;

fn schedule(name: &str, text: impl AsRef<[u8]>) -> Spec {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, text.as_ref()).expect("a writable directory for tests");
    star(3, JobSpec::once(JobKind::Goal(GoalSpec { file, unit: TimeUnit::Ns })))
}

/// Breaks if a label begins before all that it requires has ended, or later: two ranks, by hand. To the
/// picosecond.
#[test]
fn a_schedule_by_hand() {
    let text = "num_ranks 2\nrank 0 {\nc: calc 1000\ns: send 8960b to 1 tag 3\ns requires c\n\
                r: recv 8960b from 1 tag 4\nd: calc 500\nd requires r\n}\nrank 1 {\n\
                r: recv 8960b from 0 tag 3\ns: send 8960b to 0 tag 4\ns requires r\n}\n";
    let spec = schedule("hand.goal", text);
    let output = run(&spec);
    let hop = alone(&spec, 8960);
    let flows = &output.flows;
    // The ACK of what came goes before the answer.
    assert_eq!(flows.start_ps, [1_000_000, 1_000_000 + hop]);
    let ranks = &output.jobs.as_ref().expect("jobs").ranks;
    assert_eq!(ranks[0].end, Some(Time(1_000_000 + 2 * hop + 3_200 + 500_000)));
    assert_eq!(ranks[0].compute, Span(1_500_000));
    assert_eq!(Some(Time(took(&output, 0))), ranks[0].end);
}

/// Breaks if `irequires` waits for an end: of a send for its acknowledgment, of a calculation for its time;
/// or if one processor computes twice at once.
#[test]
fn starts_and_processors() {
    let text = "num_ranks 2\nrank 0 {\na: send 896000b to 1 tag 1\nb: calc 1000 cpu 0\n\
                b irequires a\nc: calc 1000 cpu 0\nc irequires b\nd: send 1b to 1 tag 2\n\
                d requires c\nd requires b\n}\nrank 1 {\na: recv 896000b from 0 tag 1\n\
                b: recv 1b from 0 tag 2\n}\n";
    let output = run(&schedule("starts.goal", text));
    let queued = |row: usize| output.flows.start_ps[row];
    // The second message is ready after two calculations one after the other, and the first, 72 us on
    // the line, has all been handed to the port at once: the window does not limit it.
    assert_eq!([queued(0), queued(1)], [0, 2_000_000]);
}

/// Breaks if a schedule that cannot be, or that never ends, is run.
#[test]
fn what_is_no_schedule_is_refused() {
    let said = |name: &str, text: &str| match Simulation::new(&schedule(name, text)) {
        Ok(_) => panic!("{name} should be refused"),
        Err(error) => error.to_string(),
    };
    let two = |a: &str, b: &str| format!("num_ranks 2\nrank 0 {{\n{a}\n}}\nrank 1 {{\n{b}\n}}\n");
    let text = said("alone.goal", &two("a: send 1b to 1 tag 1", "b: recv 1b from 0 tag 2"));
    assert!(
        text.contains("alone.goal:3: send: found a send to 1 with tag 1 that nobody"),
        "{text}"
    );
    let text = said("more.goal", &two("", "b: recv 1b from 0 tag 2"));
    assert!(text.contains("more.goal:6: recv: found a recv from 0 with tag 2"), "{text}");
    let text = said("size.goal", &two("a: send 1b to 1", "b: recv 2b from 0"));
    assert!(text.contains("size.goal:6: recv: found 2b of a message that has 1b"), "{text}");
    let text = said("label.goal", &two("a: calc 1\na requires b", ""));
    assert!(text.contains("label.goal:4: requires: found the label \"b\""), "{text}");
    let ring = two("a: calc 1\nb: calc 1\na requires b\nb requires a", "");
    let text = said("ring.goal", &ring);
    assert!(text.contains("workload.0.path: found operations that wait for each other"), "{text}");
    let text = said("many.goal", "num_ranks 4\n");
    assert!(text.contains("workload.0.ranks: found 4 ranks; allowed: at most 3"), "{text}");
}

/// Three ranks that send to each other, with waits of both kinds and two processors.
fn triangle() -> Vec<Ops> {
    let ranks = (0..3u32).map(|rank| {
        let tagged = |does, tag| Op { tag, ..op(does, 40_000 + u64::from(tag)) };
        let (next, before) = ((rank + 1) % 3, (rank + 2) % 3);
        let ops = vec![
            op(Does::Compute, 1000 * (u64::from(rank) + 1)),
            tagged(Does::Send(next), rank),
            Op { cpu: 1, ..op(Does::Compute, 700) },
            tagged(Does::Receive(before), before),
            tagged(Does::Send(next), rank + 10),
            Op { cpu: 1, ..op(Does::Compute, 500) },
            tagged(Does::Receive(before), before + 10),
        ];
        let waits = vec![(1, 0, false), (2, 1, true), (4, 3, false), (4, 2, false), (5, 4, true)];
        Ops { ops, waits }
    });
    ranks.collect()
}

/// Breaks if a schedule in binary is run otherwise than its text.
#[test]
fn a_binary_is_run_as_its_text() {
    let ranks = triangle();
    let of_text = run(&schedule("triangle.goal", files::text(&ranks)));
    let of_binary = run(&schedule("triangle.bin", files::binary(&ranks)));
    assert_eq!(of_text.flows.len(), 6);
    assert_eq!(of_binary.trace_hash, of_text.trace_hash);
    assert_eq!(of_binary.flows.start_ps, of_text.flows.start_ps);
    let ends = |output: &Output| {
        let ranks = &output.jobs.as_ref().expect("jobs").ranks;
        ranks.iter().map(|rank| (rank.end, rank.compute)).collect::<Vec<_>>()
    };
    assert_eq!(ends(&of_binary), ends(&of_text));
    // A wait less is another run.
    let mut other = ranks;
    other[0].waits.remove(0);
    let other = run(&schedule("other.bin", files::binary(&other)));
    assert_ne!(other.trace_hash, of_text.trace_hash);
}

/// Breaks if a binary schedule that cannot be is run, or if its place is not told in bytes.
#[test]
fn what_is_no_binary_schedule_is_refused() {
    let said = |name: &str, bytes: &[u8]| match Simulation::new(&schedule(name, bytes)) {
        Ok(_) => panic!("{name} should be refused"),
        Err(error) => error.to_string(),
    };
    let whole = files::binary(&triangle());
    let text = said("cut.bin", &whole[..300]);
    assert!(text.contains("cut.bin: found ") && text.contains(" at byte 22; allowed: "), "{text}");
    let text = said("other.bin", b"\0\0\0\0");
    assert!(text.contains("allowed: a schedule's text, or what txt2bin makes of it"), "{text}");
    let two = |first: Op, second: Op| {
        let ops = |op| Ops { ops: vec![op], waits: Vec::new() };
        files::binary(&[ops(first), ops(second)])
    };
    // The ranks' only operations, behind the head, the table, three numbers, and each other.
    let [first, second] = [14 + 32 + 12, 14 + 32 + 12 + 39 + 12];
    let alone = two(op(Does::Send(1), 1), op(Does::Compute, 1));
    let text = said("alone.bin", &alone);
    let found =
        format!("alone.bin: found a send to 1 with tag 0 that nobody receives at byte {first}");
    assert!(text.contains(&found), "{text}");
    let text = said("size.bin", &two(op(Does::Send(1), 1), op(Does::Receive(0), 2)));
    let found = format!("found 2b of a message that has 1b (byte {first}) at byte {second}");
    assert!(text.contains(&found), "{text}");
}
