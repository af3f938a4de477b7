//! Training steps in SimAI's workload text, by hand and to the picosecond.

use super::*;
use std::path::PathBuf;

/// Two ranks at one switch, with the header and the rows of a step.
fn step(name: &str, head: &str, rows: &[&str]) -> Spec {
    let text = format!("{head}\n{}\n{}\n", rows.len(), rows.join("\n"));
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, text).expect("a writable directory for tests");
    star(3, JobSpec::once(JobKind::Simai(SimaiSpec { file, unit: TimeUnit::Ns, how: RING })))
}

fn head(tensor: u32, pipeline: u32, more: &str) -> String {
    format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tensor} ep: 1 pp: {pipeline} vpp: 1 \
         ga: 1 all_gpus: 2 checkpoints: 0 checkpoint_initiates: 0 {more}"
    )
}

/// A ring's all-reduce of 17,920 bytes between two: two messages a rank, the second behind the ACK of the first.
fn all_reduce(spec: &Spec) -> u64 {
    2 * alone(spec, 8960) + 3_200
}

const NS: u64 = 1_000;

/// Breaks if a pass is left out, or a row does not wait for the communication of the one before.
#[test]
fn rows_forward_and_back() {
    let rows = [
        "a -1 1000 ALLREDUCE 17920 500 NONE 0 300 NONE 0 1",
        "b -1 2000 NONE 0 700 ALLREDUCE 17920 400 NONE 0 1",
    ];
    let spec = step("tensor.txt", &head(2, 1, ""), &rows);
    let output = run(&spec);
    let computed = (1000 + 2000 + 700 + 400 + 500 + 300) * NS;
    assert_eq!(all_done(&output), computed + 2 * all_reduce(&spec));
    let jobs = output.jobs.as_ref().expect("jobs");
    assert_eq!(jobs.ranks[0].compute, Span(computed));
    let names: Vec<&str> = jobs.collectives.iter().map(|row| row.name.as_str()).collect();
    assert!(names.contains(&"a forward all-reduce"), "{names:?}");
    assert!(names.contains(&"b inputs all-reduce"), "{names:?}");
}

/// Breaks if the backward pass waits for the communication of weights, if the step's end does not, or if the update
/// does not come after it.
#[test]
fn weights_are_communicated_beside_the_rest() {
    for (input, update) in [(300, 100), (900_000, 100), (300, 0)] {
        let row = format!("a -1 1000 NONE 0 {input} NONE 0 500 ALLREDUCE 17920 {update}");
        let spec = step(&format!("data-{input}-{update}.txt"), &head(1, 1, ""), &[&row]);
        let output = run(&spec);
        let beside = (all_reduce(&spec) + update * NS).max(input * NS);
        assert_eq!(all_done(&output), (1000 + 500) * NS + beside, "{row}");
    }
}

/// Breaks if ranks communicate whose groups are of one rank, or if stages send nothing to each other.
#[test]
fn stages_pass_on_what_the_header_says() {
    let rows = ["a -1 1000 ALLREDUCE 17920 500 NONE 0 300 ALLREDUCE 17920 1"];
    let alone_in_all = step("alone.txt", &head(1, 2, ""), &rows);
    let output = run(&alone_in_all);
    assert_eq!((output.flows.len(), all_done(&output)), (0, 1800 * NS));
    let spec = step("stages.txt", &head(1, 2, "pp_comm 8960"), &rows);
    let output = run(&spec);
    // Activations go on beside the backward pass; gradients come back after it.
    assert_eq!(output.flows.len(), 2);
    assert_eq!(all_done(&output), 1800 * NS + alone(&spec, 8960));
}

/// Breaks if rows that stand for themselves compute, or do not wait for each other.
#[test]
fn rows_that_stand_for_themselves() {
    let row = "all_reduce -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 17920 5";
    let mut spec = step("micro.txt", "MICRO", &[row, row]);
    spec.topology.kind = TopologyKind::Star { hosts: 2 };
    let output = run(&spec);
    assert_eq!(all_done(&output), 2 * all_reduce(&spec) + 3_200);
}
