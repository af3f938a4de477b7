//! Which path a new flow takes, and when a flow moves (§3.2).

use super::*;

/// Breaks if a new flow does not prefer good to grey to congested paths (Algorithm 2).
#[test]
fn new_flows_take_the_best_class() {
    let (mut hermes, mut host) = made();
    for path in [0, 1, 3] {
        know(&mut hermes, path, 200, 0.9);
    }
    know(&mut hermes, 2, 80, 0.1);
    assert_eq!(send(&mut hermes, &mut host), 2, "the only grey one");
    know(&mut hermes, 3, 30, 0.1);
    host.state = [0; 4];
    assert_eq!(send(&mut hermes, &mut host), 3, "the only good one");
}

/// Breaks if ties are not broken by this host's own rate: each new flow takes an unused
/// path.
#[test]
fn the_smallest_local_rate_wins() {
    let (mut hermes, mut host) = made();
    let mut paths: Vec<u16> = (0..4)
        .map(|_| {
            host.state = [0; 4];
            send(&mut hermes, &mut host)
        })
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, [0, 1, 2, 3]);
}

/// How many of 400 hosts' first flows take each path, with the paths as `known` makes them.
fn firsts(known: impl Fn(&mut Hermes)) -> [u32; 4] {
    let mut taken = [0; 4];
    for seed in 0..400 {
        let (mut hermes, mut host) = made();
        host.rng = leafspine_core::Rng::new(seed, leafspine_core::Role::Edge, 0);
        known(&mut hermes);
        taken[usize::from(send(&mut hermes, &mut host))] += 1;
    }
    taken
}

/// Breaks if paths alike are not drawn evenly: all unknown; two of them good; all congested, but one that
/// has failed. Binomial(400, 1/4) has a standard deviation of 8.7, with 1/2 10, with 1/3 9.4; five of them.
#[test]
fn paths_alike_are_drawn() {
    let even = |taken: &[u32], mean: u32, margin: u32| {
        assert!(taken.iter().all(|n| n.abs_diff(mean) <= margin), "{taken:?}");
    };
    even(&firsts(|_| ()), 100, 43);
    let two = firsts(|hermes| [1, 3].iter().for_each(|path| know(hermes, *path, 30, 0.0)));
    assert_eq!(two[0] + two[2], 0);
    even(&[two[1], two[3]], 200, 50);
    let three = firsts(|hermes| {
        (0..4).for_each(|path| know(hermes, path, 200, 0.9));
        hermes.table.row(1)[2].failed = Time(1);
    });
    assert_eq!(three[2], 0);
    even(&[three[0], three[1], three[3]], 133, 47);
}

/// A flow on path 0, congested, with path 1 at 30 us and no marks: where it is after it has sent
/// `sent` bytes, the last `burst` packets of them at once.
fn on_congested(sent: u64, burst: u32) -> u16 {
    let (mut hermes, mut host) = made();
    know(&mut hermes, 0, 200, 0.9);
    know(&mut hermes, 1, 30, 0.0);
    host.state[PATH] = 1 << ROW_SHIFT | 1;
    host.bytes_sent = 0;
    for _ in 0..burst {
        send(&mut hermes, &mut host);
    }
    host.bytes_sent = sent;
    send(&mut hermes, &mut host)
}

/// Breaks if a flow leaves a congested path before it has sent S = 600 KB, or while it is faster
/// than R = 30 % of the line: in the time constant of 76.8 us the line sends 96 KB,
/// 30 % of it are 19 packets.
#[test]
fn small_and_fast_flows_stay() {
    assert_eq!(on_congested(600_000, 0), 0);
    assert_eq!(on_congested(600_001, 0), 1);
    assert_eq!(on_congested(600_001, 19), 1);
    assert_eq!(on_congested(600_001, 20), 0);
}

/// Breaks if a flow moves to a path that is better in one of the two only.
#[test]
fn only_notably_better_paths_are_worth_it() {
    for (us, marked, moves) in
        [(121, 0.84, true), (123, 0.84, false), (121, 0.86, false), (30, 0.0, true)]
    {
        let (mut hermes, mut host) = made();
        know(&mut hermes, 0, 200, 0.9);
        know(&mut hermes, 1, us, marked);
        host.state[PATH] = 1 << ROW_SHIFT | 1;
        host.bytes_sent = 1_000_000;
        let path = send(&mut hermes, &mut host);
        assert_eq!(path == 1, moves, "{us} us, {marked}");
    }
}

/// Breaks if a flow on a grey path moves.
#[test]
fn grey_is_good_enough() {
    let (mut hermes, mut host) = made();
    know(&mut hermes, 0, 200, 0.3);
    know(&mut hermes, 1, 30, 0.0);
    host.state[PATH] = 1 << ROW_SHIFT | 1;
    host.bytes_sent = 10_000_000;
    assert_eq!(send(&mut hermes, &mut host), 0);
}

/// Breaks if a timeout does not place the flow again, once.
#[test]
fn a_timeout_moves_the_flow() {
    let (mut hermes, mut host) = made();
    know(&mut hermes, 0, 100, 0.3);
    for path in 1..4 {
        know(&mut hermes, path, 30, 0.0);
    }
    host.state[PATH] = 1 << ROW_SHIFT | 1;
    host.with(|flow, cx| hermes.lost(false, flow, cx));
    assert_eq!(send(&mut hermes, &mut host), 0, "a fast retransmit is none");
    host.with(|flow, cx| hermes.lost(true, flow, cx));
    let moved = send(&mut hermes, &mut host);
    assert_ne!(moved, 0);
    assert_eq!(send(&mut hermes, &mut host), moved, "and stays");
}
