//! What is read of a workload text, and what is refused.

use super::super::{Comm, Parallel};
use super::*;

const HEAD: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 vpp: 8 ga: 3 \
                    all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0 pp_comm 4096.0\n";

fn said(text: &str) -> String {
    parse(text, Path::new("a.txt")).err().map_or_else(String::new, |error| error.to_string())
}

fn some(collective: Collective, among: Parallel, bytes: u64) -> Option<Comm> {
    Some(Comm { collective, among, bytes })
}

/// Breaks if a column is taken for another, or a suffix for another group.
#[test]
fn rows_are_read() {
    let text = format!(
        "{HEAD}2\nattention -1 556000 ALLREDUCE 16777216 7 ALLGATHER 5 8 REDUCESCATTER 9 100\n\
         experts\t-1\t1\tALLTOALL_EP\t64\t1\tALLTOALL_EP\t0\t1\tALLGATHER_DP_EP\t32\t0\n"
    );
    let step = parse(&text, Path::new("a.txt")).expect("a step");
    let shape = step.shape.expect("a shape");
    assert_eq!((shape.tensor, shape.expert, shape.pipeline, shape.ranks), (2, 2, 2, 16));
    assert_eq!((shape.stage_bytes, shape.microbatches), (4096, 3));
    let row = &step.rows[0];
    assert_eq!((row.line, row.name.as_str(), row.update), (3, "attention", 100));
    assert_eq!([row.forward.time, row.input.time, row.weight.time], [556_000, 7, 8]);
    assert_eq!(row.forward.comm, some(Collective::AllReduce, Parallel::Tensor, 16_777_216));
    assert_eq!(row.input.comm, some(Collective::AllGather, Parallel::Tensor, 5));
    assert_eq!(row.weight.comm, some(Collective::ReduceScatter, Parallel::Data, 9));
    let row = &step.rows[1];
    assert_eq!(row.forward.comm, some(Collective::AllToAll, Parallel::Expert, 64));
    assert_eq!(row.input.comm, None, "of no bytes");
    assert_eq!(row.weight.comm, some(Collective::AllGather, Parallel::DataOfExperts, 32));
}

/// Breaks if rows without a header are taken for those of a step.
#[test]
fn rows_alone_are_among_all() {
    let text = "MICRO\n1\nall_reduce -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1024 1\n";
    let step = parse(text, Path::new("a.txt")).expect("rows");
    assert_eq!(step.ranks(), None);
    assert_eq!(step.rows[0].weight.comm, some(Collective::AllReduce, Parallel::All, 1024));
}

/// Breaks if a rank is in other groups than Megatron-LM's order gives it: tensor first, then expert, data, pipeline.
#[test]
fn ranks_share_what_their_numbers_say() {
    let shape =
        Shape { tensor: 2, expert: 2, pipeline: 2, ranks: 16, stage_bytes: 0, microbatches: 1 };
    let of_5 =
        |among| shape.groups(among).into_iter().find(|ranks| ranks.contains(&5)).expect("a group");
    assert_eq!(of_5(Parallel::Tensor), [4, 5]);
    assert_eq!(of_5(Parallel::Data), [1, 3, 5, 7]);
    assert_eq!(of_5(Parallel::Expert), [5, 7]);
    assert_eq!(of_5(Parallel::DataOfExperts), [1, 5]);
    for among in [Parallel::Tensor, Parallel::Data, Parallel::Expert, Parallel::DataOfExperts] {
        let mut all: Vec<usize> = shape.groups(among).concat();
        all.sort_unstable();
        assert_eq!(all, (0..16).collect::<Vec<_>>(), "{among:?}");
    }
}

/// Breaks if what is no workload text is taken for one, or its place is not told.
#[test]
fn what_is_none_is_refused() {
    let row = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
    for (text, part) in [
        (String::new(), "a.txt:0: found nothing; allowed: HYBRID_TRANSFORMER_FWD_IN_BCKWD"),
        ("DATA\n1\n".to_owned(), "a.txt:1: found \"DATA\"; allowed: HYBRID"),
        (format!("{HEAD}x\n"), "a.txt:2: rows: found \"x\"; allowed: a whole number"),
        (format!("{HEAD}0\n"), "a.txt:2: rows: found \"0\"; allowed: 1 to 20,000 rows"),
        (format!("{HEAD}2\n{row}"), "rows: found \"1\"; allowed: 2 rows, as line 2 says"),
        (format!("{HEAD}1\n{row}{row}"), "a.txt:4: found \"a -1"),
        (
            format!("{HEAD}1\na -1 1 NONE 0\n"),
            "a.txt:3: found \"a -1 1 NONE 0\"; allowed: 12 columns",
        ),
        (
            format!("{HEAD}1\n{}", row.replace("NONE", "BCAST")),
            "forward communication: found \"BCAST\"",
        ),
        (
            format!("{HEAD}1\n{}", row.replacen("NONE", "ALLREDUCE_TP", 1)),
            "found \"ALLREDUCE_TP\"; allowed: NONE, or ALLREDUCE",
        ),
        (
            HEAD.replace("all_gpus: 16", "all_gpus: 12"),
            "all_gpus: found \"12\"; allowed: a multiple of",
        ),
        (HEAD.replace("all_gpus: 16", "all_gpus: 1"), "2 to 65,536 ranks"),
        (HEAD.replace("ep: 2", "ep: 0"), "ep: found \"0\"; allowed: 1 or more"),
        (
            HEAD.replace("checkpoints: 0", "checkpoints: 1 2"),
            "checkpoints: found \"1\"; allowed: 0",
        ),
        (HEAD.replace("vpp", "wpp"), "found \"wpp\"; allowed: model_parallel_NPU_group:"),
    ] {
        assert!(said(&text).contains(part), "{text}\nsays {}\nwithout {part}", said(&text));
    }
}
