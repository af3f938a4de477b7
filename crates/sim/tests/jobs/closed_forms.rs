//! Completion times on an ideal fabric: steps, each as long as its message alone.

use super::*;

/// An ACK of 40 bytes on a line of 100 Gb/s: that of a step's last packet goes before the next step's
/// first, at the port that they share.
const ACK: u64 = 3_200;
/// An ACK's way back over two links.
const ACK_BACK: u64 = 2 * (1_000_000 + ACK);

fn collective(what: CollectiveSpec) -> JobKind {
    JobKind::Collective(what)
}

/// The time and the messages of a collective on so many ranks, and its fabric.
fn run_one(n: u32, what: CollectiveSpec) -> (u64, u64, Spec) {
    let spec = star(n, JobSpec::once(collective(what)));
    let output = run(&spec);
    (took(&output, 0), output.flows.len() as u64, spec)
}

/// Breaks if a ring has other than 2 (n - 1) steps, if a step is not as long as a message of a rank's
/// share alone, or if a rank waits for anything but what it needs: 2 (n - 1) / n x size / rate, and
/// 2 (n - 1) latencies. To the picosecond.
#[test]
fn rings() {
    use Collective::{AllGather, AllReduce, ReduceScatter};
    for n in [2, 3, 8] {
        let bytes = u64::from(n) * 100_000;
        for (what, rounds) in [(AllReduce, 2), (AllGather, 1), (ReduceScatter, 1)] {
            let (took, messages, spec) = run_one(n, of(what, Algorithm::Ring, bytes));
            let steps = rounds * u64::from(n - 1);
            let expected = steps * alone(&spec, 100_000) + (steps - 1) * ACK;
            assert_eq!((took, messages), (expected, steps * u64::from(n)), "{what:?} of {n}");
        }
    }
}

/// Breaks if halving and doubling exchange other shares than a half, a quarter, an eighth and back. To the
/// picosecond.
#[test]
fn halving_and_doubling() {
    use Collective::{AllGather, AllReduce, ReduceScatter};
    let bytes = 800_000;
    for (what, shares) in
        [(AllReduce, &[2, 4, 8, 8, 4, 2][..]), (ReduceScatter, &[2, 4, 8]), (AllGather, &[8, 4, 2])]
    {
        let (took, messages, spec) = run_one(8, of(what, Algorithm::HalvingDoubling, bytes));
        let steps = shares.len() as u64;
        let sum: u64 = shares.iter().map(|share| alone(&spec, bytes / share)).sum();
        assert_eq!((took, messages), (sum + (steps - 1) * ACK, 8 * steps), "{what:?}");
    }
}

/// Breaks if ranks beyond a power of two are left out, or do more than give all to a neighbour before
/// and get all after. Of 3 the second gets all of the first's and half of the third's over one line, sends
/// the third its half, exchanges halves with it, and gives the first all: 3.5 x size / rate.
#[test]
fn halving_and_doubling_of_three() {
    let bytes = 800_000;
    let (took, messages, spec) =
        run_one(3, of(Collective::AllReduce, Algorithm::HalvingDoubling, bytes));
    let steps = [3 * bytes / 2, bytes / 2, bytes / 2, bytes];
    let expected: u64 = steps.iter().map(|bytes| alone(&spec, *bytes)).sum();
    assert!(took.abs_diff(expected) * 200 < expected, "{took} instead of {expected}");
    assert_eq!(messages, 2 + 4);
}

/// Breaks if the two trees of two ranks are not each other's mirror image: half of the buffer goes up
/// each, and down again. To the picosecond.
#[test]
fn trees_of_two() {
    let (took, messages, spec) = run_one(2, of(Collective::AllReduce, Algorithm::Tree, 200_000));
    assert_eq!((took, messages), (2 * alone(&spec, 100_000) + ACK, 4));
}

/// Breaks if a tree's inner node sums up before it has both children's halves, if it sends one child's
/// copy after the other's has come, or if trees wait for each other. Of four ranks: both children's
/// halves over one line, one up, one down, two to the children over one line: 3 x size / rate and four
/// latencies, within the ACKs' share of the lines.
#[test]
fn trees_of_four() {
    let bytes = 1_792_000;
    let (took, messages, spec) = run_one(4, of(Collective::AllReduce, Algorithm::Tree, bytes));
    let expected = 2 * alone(&spec, bytes) + 2 * alone(&spec, bytes / 2);
    assert!(took.abs_diff(expected) * 100 < expected, "{took} instead of {expected}");
    assert_eq!(messages, 12);
}

/// Breaks if pieces are not passed on one by one: then the time of trees tends to 2 x size / rate as
/// pieces become small, for every line carries 2 x size in each direction; whole halves take a time
/// for each level.
#[test]
fn trees_pass_pieces_on() {
    let bytes = 8_960_000;
    let whole = of(Collective::AllReduce, Algorithm::Tree, bytes);
    let (slow, _, spec) = run_one(16, whole);
    let (fast, ..) = run_one(16, CollectiveSpec { chunk: Some(Bytes(89_600)), ..whole });
    let bound = 2 * alone(&spec, bytes);
    println!("trees: whole {slow}, in pieces {fast}, bound {bound}");
    assert!(fast > bound && fast < bound * 3 / 2, "{fast}, bound {bound}");
    assert!(slow > 2 * bound, "{slow}, bound {bound}");
}

/// Breaks if all-to-all sends more or less than a share to each other rank, if the messages of a direct
/// exchange wait for each other, or if those of a pairwise one do not: each step waits for what comes and
/// for the acknowledgment of what went.
#[test]
fn all_to_all() {
    let (n, share) = (5, 89_600);
    let bytes = u64::from(n) * share;
    let (direct, messages, spec) = run_one(n, of(Collective::AllToAll, Algorithm::Direct, bytes));
    let bound = alone(&spec, 4 * share);
    assert!(bound <= direct && direct < bound + 100 * ACK, "{direct}, bound {bound}");
    assert_eq!(messages, 20);
    let (pairwise, ..) = run_one(n, of(Collective::AllToAll, Algorithm::Pairwise, bytes));
    assert_eq!(pairwise, 4 * alone(&spec, share) + 3 * ACK_BACK);
}

/// Breaks if messages of an all-to-allv are not of the workload's sizes.
#[test]
fn all_to_all_of_sizes() {
    let spec = star(4, JobSpec::once(collective(of(Collective::AllToAllV, Algorithm::Direct, 1))));
    let mut spec = spec;
    spec.workloads[0].sizes = SizeSpec::Uniform(Bytes(1_000), Bytes(9_000));
    let sizes = run(&spec).flows.bytes;
    assert_eq!(sizes.len(), 12);
    assert!(sizes.iter().all(|size| (1_000..=9_000).contains(size)));
    assert!(sizes.iter().any(|size| *size != sizes[0]));
}

/// Breaks if a message starts before the delay is over, or if delays do not add up along a ring.
#[test]
fn delays_count_for_every_step() {
    let bytes = 400_000;
    let delay = Span::from_micros(7);
    let what = collective(of(Collective::AllReduce, Algorithm::Ring, bytes));
    let spec = star(4, JobSpec { delay, ..JobSpec::once(what) });
    // The ACK before a step's data has left when that starts.
    assert_eq!(took(&run(&spec), 0), 6 * (alone(&spec, 100_000) + delay.0));
}

/// Breaks if an iteration begins before the one before has ended at a rank, if computing does not come
/// first, or if the share of idle time is not what communication takes.
#[test]
fn iterations_compute_and_communicate() {
    let compute = Span::from_micros(100);
    let what = collective(of(Collective::AllReduce, Algorithm::Ring, 400_000));
    let spec = star(4, JobSpec { compute, iterations: 3, ..JobSpec::once(what) });
    let output = run(&spec);
    let each = 6 * alone(&spec, 100_000) + 5 * ACK;
    let jobs = output.jobs.as_ref().expect("jobs");
    for (iteration, row) in (0..).zip(&jobs.collectives) {
        assert_eq!(took(&output, iteration as usize), each);
        let start = (iteration + 1) * compute.0 + iteration * each;
        assert_eq!((row.start, u64::from(row.iteration)), (Time(start), iteration));
    }
    assert_eq!(jobs.collectives.len(), 3);
    let end = 3 * (compute.0 + each);
    for rank in &jobs.ranks {
        assert_eq!((rank.compute, rank.end), (compute * 3, Some(Time(end))));
    }
}

/// Breaks if a stage passes a microbatch on before it has computed it, computes two at once, or goes
/// back in another order: (microbatches + stages - 1) times forward and backward, and a latency a stage
/// and direction.
#[test]
fn pipelines() {
    let (stages, microbatches) = (4, 6);
    let (forward, backward) = (Span::from_micros(100), Span::from_micros(200));
    let time = |schedule| {
        let bytes = Bytes(8_960);
        let what = PipelineSpec { bytes, microbatches, forward, backward, schedule };
        let spec = star(stages, JobSpec::once(JobKind::Pipeline(what)));
        let output = run(&spec);
        assert_eq!(output.flows.len(), 2 * 3 * 6);
        (took(&output, 0), alone(&spec, 8_960))
    };
    let (all_forward, hop) = time(Schedule::AllForward);
    let work = u64::from(microbatches + stages - 1) * (forward.0 + backward.0);
    // A stage has done with one as the next comes, so an ACK goes before what it passes on.
    let expected = work + 2 * u64::from(stages - 1) * hop;
    assert!(all_forward.abs_diff(expected) <= 6 * ACK, "{all_forward} instead of {expected}");
    // In turns, a stage waits now and then for what has just been sent.
    let (turns, _) = time(Schedule::Alternating);
    assert!(
        turns >= all_forward - hop * 6 && turns <= work + 2 * 9 * hop,
        "{turns}, {all_forward}"
    );
}
