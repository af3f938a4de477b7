//! When flows start, between whom, and that the load asked for is the load offered.

use crate::common::*;
use leafspine_core::{Bytes, Rate, Span, Time};
use leafspine_sim::spec::{
    Arrivals, HostSet, LoadBasis, Pattern, SizeSpec, Stop, WorkloadKind, WorkloadSpec,
};
use leafspine_sim::workload::{Fabric, Flow, Sizes, named};

const N: u64 = 200_000;

/// Mean square over squared mean of the sizes: 1 + their squared coefficient of variation.
fn spread(sizes: &[Flow]) -> f64 {
    let n = sizes.len() as f64;
    let mean = sizes.iter().map(|flow| flow.bytes as f64).sum::<f64>() / n;
    sizes.iter().map(|flow| (flow.bytes as f64).powi(2)).sum::<f64>() / n / (mean * mean)
}

/// Checks that the flows that `counts` offer `expected` bits per second within 3.29 standard errors.
/// A sum of n sizes over a sum of n exponential times has a relative variance of
/// `(spread - 1) / n` from the sizes and `1 / n` from the times.
fn assert_offered(flows: &[Flow], counts: impl Fn(&Flow) -> bool, expected: f64, what: &str) {
    let span = flows.last().expect("flows").start.as_secs_f64();
    let counted: Vec<Flow> = flows.iter().copied().filter(|flow| counts(flow)).collect();
    let bits: f64 = counted.iter().map(|flow| flow.bytes as f64 * 8.0).sum();
    let error = (spread(&counted) / counted.len() as f64).sqrt();
    let off = (bits / span / expected - 1.0) / error;
    assert!(off.abs() < 3.29, "{what}: {} for {expected}, {off} standard errors", bits / span);
}

/// Breaks if interarrival times are not exponential with the mean asked for: Kolmogorov-Smirnov
/// (0.1 % point 1.95), mean and variance within 3.29 standard errors (of an exponential's variance:
/// `sqrt(8 / n)`), and no correlation between neighbours.
#[test]
fn poisson_arrivals_are_exponential() {
    let mean = 5e6;
    let all = flows(&[workload(every(Span::from_micros(5), N))], &leaf_spine(4, 2, 8), 1);
    let mut last = 0;
    let gaps: Vec<f64> = all
        .iter()
        .map(|flow| {
            let gap = flow.start.0 - last;
            last = flow.start.0;
            gap as f64 / mean
        })
        .collect();
    let n = N as f64;
    let found = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - found).powi(2)).sum::<f64>() / n;
    let covariance = gaps.windows(2).map(|w| (w[0] - found) * (w[1] - found)).sum::<f64>() / n;
    assert!((found - 1.0).abs() < 3.29 / n.sqrt(), "mean {found}");
    assert!((variance - 1.0).abs() < 3.29 * (8.0 / n).sqrt(), "variance {variance}");
    assert!(covariance.abs() < 3.29 / n.sqrt(), "covariance {covariance}");
    let mut sorted = gaps;
    sorted.sort_unstable_by(f64::total_cmp);
    let distance = |(i, gap): (usize, &f64)| {
        let cdf = 1.0 - (-gap).exp();
        (cdf - i as f64 / n).abs().max((cdf - (i + 1) as f64 / n).abs())
    };
    let d = sorted.iter().enumerate().map(distance).fold(0.0, f64::max) * n.sqrt();
    assert!(d < 1.95, "Kolmogorov-Smirnov {d}");
}

/// Breaks if a sweep over load changes anything but the starts, or does not just stretch them: at
/// 0.2 every flow starts four times as late as at 0.8, within the rounding of both to a picosecond.
#[test]
fn a_sweep_over_load_scales_starts_alone() {
    let fabric = leaf_spine(4, 2, 8);
    let at = |load| {
        let mut spec = workload(at_load(load, LoadBasis::Fabric, 20_000));
        spec.sizes = named("web-search").expect("listed");
        spec.pattern = Pattern::InterLeaf;
        flows(&[spec], &fabric, 7)
    };
    let (low, high) = (at(0.2), at(0.8));
    for (low, high) in low.iter().zip(&high) {
        assert_eq!((low.src, low.dst, low.bytes), (high.src, high.dst, high.bytes));
        let off = low.start.0 as f64 - 4.0 * high.start.0 as f64;
        assert!(off.abs() <= 2.5, "{} is not four times {}", low.start.0, high.start.0);
    }
    assert_ne!(low[0].start, high[0].start);
}

/// Breaks if other sizes change who sends to whom or when, for the same time between starts.
#[test]
fn sizes_leave_pairs_and_starts_alone() {
    let with = |sizes| {
        let mut spec = workload(every(Span::from_micros(5), 1_000));
        spec.sizes = sizes;
        flows(&[spec], &leaf_spine(4, 2, 8), 7)
    };
    let (web, fixed) =
        (with(named("web-search").expect("listed")), with(SizeSpec::Fixed(Bytes(1))));
    for (web, fixed) in web.iter().zip(&fixed) {
        assert_eq!((web.start, web.src, web.dst), (fixed.start, fixed.src, fixed.dst));
    }
}

/// Breaks if the same seed gives other flows, or another seed or workload number the same.
#[test]
fn flows_are_keyed_by_seed_and_workload() {
    let fabric = leaf_spine(4, 2, 8);
    let spec = workload(every(Span::from_micros(5), 1_000));
    let once = flows(std::slice::from_ref(&spec), &fabric, 7);
    assert_eq!(once, flows(std::slice::from_ref(&spec), &fabric, 7));
    assert_ne!(once, flows(std::slice::from_ref(&spec), &fabric, 8));
    let twice = flows(&[spec.clone(), spec], &fabric, 7);
    let of =
        |workload| twice.iter().filter(|f| f.workload == workload).copied().collect::<Vec<_>>();
    assert_eq!(of(0), once, "a second workload leaves the first alone");
    assert!(of(1).iter().zip(&once).all(|(a, b)| a.start != b.start));
}

/// Breaks if the load is not the traffic between leaves over the capacity that the senders' leaves
/// have towards the spines, whatever the pattern and the senders.
#[test]
fn the_load_of_the_fabric_is_offered() {
    let fabric = leaf_spine(4, 2, 8);
    let leaf = Rate::from_gbps(80).0 as f64;
    let crosses = |flow: &Flow| flow.src.0 / 8 != flow.dst.0 / 8;
    for (pattern, senders, receivers, leaves, what) in [
        (Pattern::InterLeaf, HostSet::All, HostSet::All, 4.0, "inter-leaf"),
        (Pattern::Any, HostSet::All, HostSet::All, 4.0, "any"),
        (Pattern::Any, HostSet::Under("leaf1".into()), HostSet::Rest, 1.0, "from one leaf"),
        (Pattern::Any, list(&[0, 1, 2, 9]), HostSet::All, 2.0, "uneven senders"),
    ] {
        let spec = WorkloadSpec {
            sizes: named("web-search").expect("listed"),
            pattern,
            senders,
            receivers,
            ..workload(at_load(0.6, LoadBasis::Fabric, N))
        };
        assert_offered(&flows(&[spec], &fabric, 3), crosses, 0.6 * leaves * leaf, what);
    }
}

/// Breaks if a load of the hosts is not a fraction of the senders' links, or a rate is not offered.
#[test]
fn the_load_of_the_hosts_and_a_rate_are_offered() {
    let mut spec = workload(at_load(0.3, LoadBasis::Host, N));
    spec.sizes = SizeSpec::Uniform(Bytes(50_000), Bytes(500_000));
    spec.senders = HostSet::First(5);
    assert_offered(&flows(&[spec.clone()], &star(20), 3), |_| true, 0.3 * 5e9, "five hosts");
    let arrivals = Arrivals::Rate(Rate::from_mbps(1_234));
    spec.kind = WorkloadKind::Poisson { arrivals, stop: Stop::Flows(N) };
    assert_offered(&flows(&[spec], &star(20), 3), |_| true, 1.234e9, "rate");
}

/// Breaks if the flows of a workload that starts later do not start later by just that.
#[test]
fn a_workload_starts_when_told() {
    let mut spec = workload(every(Span::from_micros(5), 100));
    let now = flows(std::slice::from_ref(&spec), &star(4), 2);
    spec.start = Time(77);
    let later = flows(&[spec], &star(4), 2);
    assert!(now.iter().zip(&later).all(|(now, later)| now.start.0 + 77 == later.start.0));
}

/// Breaks if a pattern yields a forbidden pair or favours an allowed one: chi-square over all
/// allowed pairs.
#[test]
fn allowed_pairs_are_equally_likely() {
    let fabric = leaf_spine(4, 2, 3);
    let together = |a: usize, b: usize| a / 3 == b / 3;
    for (pattern, allowed) in [
        (Pattern::Any, Box::new(|a, b| a != b) as Box<dyn Fn(usize, usize) -> bool>),
        (Pattern::InterLeaf, Box::new(move |a, b| !together(a, b))),
        (Pattern::IntraLeaf, Box::new(move |a, b| a != b && together(a, b))),
    ] {
        let spec = WorkloadSpec { pattern, ..workload(every(Span(10), N)) };
        let mut counts = [[0f64; 12]; 12];
        for flow in flows(&[spec], &fabric, 11) {
            counts[usize::from(flow.src.0)][usize::from(flow.dst.0)] += 1.0;
        }
        let cells: Vec<(usize, usize)> = (0..12)
            .flat_map(|a| (0..12).map(move |b| (a, b)))
            .filter(|(a, b)| allowed(*a, *b))
            .collect();
        let expected = N as f64 / cells.len() as f64;
        let chi2: f64 =
            cells.iter().map(|(a, b)| (counts[*a][*b] - expected).powi(2) / expected).sum();
        // Mean k, standard deviation sqrt(2k): four of them are beyond the 0.1 % point for k > 20.
        let k = cells.len() as f64 - 1.0;
        assert!(chi2 < k + 4.0 * (2.0 * k).sqrt(), "{pattern:?}: chi-square {chi2} for {k}");
        assert_eq!(cells.iter().map(|(a, b)| counts[*a][*b]).sum::<f64>(), N as f64);
    }
}

/// Breaks if the draw of a receiver misses, with receivers in any order that do or do not send.
#[test]
fn receivers_may_be_any_set() {
    let fabric: Fabric = leaf_spine(3, 2, 4);
    let spec = WorkloadSpec {
        senders: list(&[1, 6, 3]),
        receivers: list(&[11, 1, 0, 6]),
        ..workload(every(Span(10), 2_000))
    };
    let drawn = |pattern| {
        let mut drawn = pairs(&flows(&[WorkloadSpec { pattern, ..spec.clone() }], &fabric, 1));
        drawn.sort_unstable();
        drawn.dedup();
        drawn
    };
    assert_eq!(
        drawn(Pattern::Any),
        [(1, 0), (1, 6), (1, 11), (3, 0), (3, 1), (3, 6), (3, 11), (6, 0), (6, 1), (6, 11)]
    );
    assert_eq!(
        drawn(Pattern::InterLeaf),
        [(1, 6), (1, 11), (3, 6), (3, 11), (6, 0), (6, 1), (6, 11)]
    );
    // Host 6 has no receiver under its own leaf.
    let alone = WorkloadSpec { pattern: Pattern::IntraLeaf, ..spec };
    assert_eq!(
        refusal(&alone, &fabric),
        "workload.0.receivers: found host 6, which sends, without another host under its own \
         switch to pair it with; allowed: senders and receivers that the pattern \"intra-leaf\" \
         can pair"
    );
}

/// Breaks if flows of several workloads come out of order, if ties are not by workload number, or if
/// a flow names another workload than its own.
#[test]
fn workloads_are_merged_in_order() {
    let fabric = star(6);
    let tick = |count, stagger, src| WorkloadSpec {
        senders: list(&[src]),
        ..workload(WorkloadKind::LongFlows { count, stagger: Span(stagger) })
    };
    let merged = flows(&[tick(4, 20, 0), tick(3, 30, 1), tick(2, 0, 2)], &fabric, 1);
    let order: Vec<_> =
        merged.iter().map(|flow| (flow.start.0, flow.workload, flow.src.0)).collect();
    assert_eq!(
        order,
        [
            (0, 0, 0),
            (0, 1, 1),
            (0, 2, 2),
            (0, 2, 2),
            (20, 0, 0),
            (30, 1, 1),
            (40, 0, 0),
            (60, 0, 0),
            (60, 1, 1),
        ]
    );
}

/// Breaks if the source does not know its number of flows beforehand, or does not know with the last
/// flow that it was the last.
#[test]
fn a_source_knows_its_end() {
    let mut source = source(&[workload(every(Span(10), 3))], &star(4), 1);
    assert_eq!((source.total(), source.last_start(), source.handed_out()), (Some(3), None, 0));
    for handed_out in 1..=3 {
        let flow = source.next().expect("good").expect("three");
        assert_eq!((source.last_start(), source.handed_out()), (Some(flow.start), handed_out));
        assert_eq!(source.is_exhausted(), handed_out == 3);
    }
    assert_eq!(source.next(), Ok(None));
}

/// Breaks if a duration gives any other flows than the first ones of a large number, or not all of
/// those that start within it, wherever the workload itself starts.
#[test]
fn a_duration_only_decides_where_the_flows_stop() {
    let fabric = leaf_spine(4, 2, 8);
    let at = |stop| {
        let arrivals = Arrivals::Interarrival(Span::from_micros(5));
        let mut spec = workload(WorkloadKind::Poisson { arrivals, stop });
        (spec.sizes, spec.start) = (named("web-search").expect("listed"), Time(7_000_000));
        flows(&[spec], &fabric, 7)
    };
    let many = at(Stop::Flows(1_000));
    for n in [1, 2, 137, 900] {
        let last = many[n - 1].start.since(Time(7_000_000));
        assert_eq!(at(Stop::After(last)), many[..n], "the {n}th flow is the last");
        let next = many[n].start.since(Time(7_000_000));
        assert_eq!(at(Stop::After(next - Span(1))), many[..n], "the next is too late");
    }
}

/// Breaks if a source of a duration claims to know its number before the end, or the number that is
/// to be expected is not the law's at first, not what it was at the end, or lost beside a workload
/// that knows.
#[test]
fn a_duration_expects_flows() {
    let arrivals = Arrivals::Interarrival(Span::from_micros(5));
    let stop = Stop::After(Span::from_micros(5_000));
    let spec = workload(WorkloadKind::Poisson { arrivals, stop });
    let mut source = source(&[spec, workload(every(Span(10), 3))], &star(4), 1);
    assert_eq!(source.total(), None);
    let first = source.expected().expect("a number");
    assert!(first.abs_diff(1_003) < 10, "{first}");
    for _ in 0..500 {
        source.next().expect("good");
    }
    let middle = source.expected().expect("a number");
    while source.next().expect("good").is_some() {}
    let all = source.handed_out();
    assert_eq!((source.total(), source.expected()), (Some(all), Some(all)));
    // Half of the flows are known by then: sqrt(500) is the standard error.
    assert!(middle.abs_diff(all) < 75 && middle.abs_diff(first) < 75, "{first} {middle} {all}");
}

/// Breaks if a duration in which no flow starts is a run without flows, or its message changes.
#[test]
fn a_duration_without_flows_is_refused() {
    let arrivals = Arrivals::Interarrival(Span::from_micros(5));
    let stop = Stop::After(Span(1));
    let first = flows(&[workload(every(Span::from_micros(5), 1))], &star(4), 1)[0].start;
    assert_eq!(
        refusal(&workload(WorkloadKind::Poisson { arrivals, stop }), &star(4)),
        format!(
            "workload.0.duration: found a time in which no flow starts: the first would after {}; \
             allowed: a longer one, or more flows in it",
            first.since(Time::ZERO).about(3)
        )
    );
}

/// Breaks if a load that means nothing is accepted, or its message changes.
#[test]
fn meaningless_loads_are_refused() {
    let poisson = |arrivals| workload(WorkloadKind::Poisson { arrivals, stop: Stop::Flows(10) });
    let load = |load, basis| poisson(Arrivals::Load { load, basis });
    let instead = "allowed: a load with load_basis = \"host\", an interarrival or a rate";
    assert_eq!(
        refusal(&load(0.6, LoadBasis::Fabric), &star(8)),
        format!(
            "workload.0.load: found 0.6 of a fabric, but there are no links between switches; {instead}"
        )
    );
    let inside = WorkloadSpec { pattern: Pattern::IntraLeaf, ..load(0.6, LoadBasis::Fabric) };
    assert_eq!(
        refusal(&inside, &leaf_spine(2, 2, 4)),
        format!("workload.0.load: found 0.6 of a fabric, but no flow leaves its leaf; {instead}")
    );
    for (spec, text) in [
        (load(-0.5, LoadBasis::Host), "workload.0.load: found -0.5; allowed: a number above 0"),
        (load(f64::NAN, LoadBasis::Host), "workload.0.load: found NaN; allowed: a number above 0"),
        (
            poisson(Arrivals::Interarrival(Span::ZERO)),
            "workload.0.interarrival: found 0ps; allowed: above zero",
        ),
        (poisson(Arrivals::Rate(Rate(0))), "workload.0.rate: found 0bps; allowed: above zero"),
        (workload(every(Span(1), 0)), "workload.0.flows: found 0; allowed: at least 1"),
    ] {
        assert_eq!(refusal(&spec, &star(8)), text);
    }
}

/// Breaks if the error names another workload than the one it is in.
#[test]
fn errors_name_their_workload() {
    let good = workload(every(Span(1), 1));
    let bad = workload(every(Span(1), 0));
    let result = leafspine_sim::workload::FlowSource::new(&[good, bad], &star(4), 1);
    assert_eq!(result.err().expect("a bad workload").key, "workload.1.flows");
}

/// Breaks if the mean that the load is reckoned with is not the mean of the sizes drawn.
#[test]
fn the_load_follows_the_mean_size() {
    let mean_of = |name: &str| Sizes::new(&named(name).expect("listed")).expect("good").mean();
    let last_start = |name: &str| {
        let mut spec = workload(at_load(0.6, LoadBasis::Fabric, 100));
        spec.sizes = named(name).expect("listed");
        flows(&[spec], &leaf_spine(4, 2, 8), 5).last().expect("flows").start.0 as f64
    };
    let ratio = mean_of("hadoop") / mean_of("web-search");
    let found = last_start("hadoop") / last_start("web-search");
    assert!((found / ratio - 1.0).abs() < 1e-6, "{found} for {ratio}");
}
