//! Flow sizes: every law against its closed form, and the named distributions.

use leafspine_core::{Bytes, Rng, Role};
use leafspine_sim::spec::SizeSpec;
use leafspine_sim::workload::{Sizes, describe, named, names, read_points};
use std::path::Path;
use std::sync::Arc;

const N: usize = 200_000;

fn table(points: &[(f64, f64)]) -> SizeSpec {
    SizeSpec::Table { name: "inline".into(), points: Arc::from(points) }
}

fn pareto(mean: u64, shape: f64, max: Option<u64>) -> SizeSpec {
    SizeSpec::Pareto { mean: Bytes(mean), shape, max: max.map(Bytes) }
}

fn draws(spec: &SizeSpec, seed: u64) -> Vec<u64> {
    let sizes = Sizes::new(spec).expect("a good spec");
    let mut rng = Rng::new(seed, Role::Workload, 0);
    (0..N).map(|_| sizes.sample(&mut rng)).collect()
}

fn refusal(spec: &SizeSpec) -> String {
    Sizes::new(spec).expect_err("a bad spec").to_string()
}

/// The largest distance between the sample's distribution and `cdf` (Kolmogorov and Smirnov),
/// times the root of the sample's size. The 0.1 % point is 1.95; atoms only make it smaller.
fn ks(mut sample: Vec<u64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_unstable();
    let n = sample.len() as f64;
    let mut worst = 0f64;
    for (i, size) in sample.iter().enumerate() {
        // A size of s bytes stands for s - 0.5 to s + 0.5 before rounding.
        if i == 0 || sample[i - 1] != *size {
            worst = worst.max((cdf(*size as f64 - 0.5) - i as f64 / n).abs());
        }
        if i + 1 == sample.len() || sample[i + 1] != *size {
            worst = worst.max((cdf(*size as f64 + 0.5) - (i + 1) as f64 / n).abs());
        }
    }
    worst * n.sqrt()
}

/// Distance of the sample's mean from `mean` in standard errors of `deviation / sqrt(n)`.
fn off(sample: &[u64], mean: f64, deviation: f64) -> f64 {
    let n = sample.len() as f64;
    let found = sample.iter().map(|size| *size as f64).sum::<f64>() / n;
    (found - mean).abs() / (deviation / n.sqrt())
}

/// Mean and standard deviation of the law through the points, from the uniform law of each piece.
fn moments(points: &[(f64, f64)]) -> (f64, f64) {
    let pieces = || points.windows(2).map(|w| (w[1].1 - w[0].1, w[0].0, w[1].0));
    let mean: f64 = pieces().map(|(p, a, b)| p * (a + b) / 2.0).sum();
    let square: f64 = pieces().map(|(p, a, b)| p * (a * a + a * b + b * b) / 3.0).sum();
    (mean, (square - mean * mean).sqrt())
}

fn points_of(name: &str) -> Arc<[(f64, f64)]> {
    match named(name) {
        Some(SizeSpec::Table { points, .. }) => points,
        other => panic!("{name} is {other:?}"),
    }
}

/// Breaks if a uniform law leaves out an end or favours a byte: chi-square over 100 sizes, 99
/// degrees of freedom, 0.1 % point 148.2.
#[test]
fn uniform_sizes_are_uniform() {
    let mut cells = [0f64; 100];
    for size in draws(&SizeSpec::Uniform(Bytes(51), Bytes(150)), 3) {
        cells[size as usize - 51] += 1.0;
    }
    let expected = N as f64 / 100.0;
    let chi2: f64 = cells.iter().map(|c| (c - expected).powi(2) / expected).sum();
    assert!(chi2 < 148.2, "chi-square {chi2}");
}

/// Breaks if sizes of a fixed law vary or its mean is not the size.
#[test]
fn fixed_sizes_are_fixed() {
    let spec = SizeSpec::Fixed(Bytes(32_000));
    assert!(draws(&spec, 1).iter().all(|size| *size == 32_000));
    let sizes = Sizes::new(&spec).expect("a good spec");
    assert_eq!((sizes.mean(), sizes.quantile(0.0), sizes.quantile(1.0)), (32e3, 32_000, 32_000));
}

/// Breaks if the uncut law is not `1 - (scale / x)^shape` with `scale = mean (shape - 1) / shape`.
#[test]
fn pareto_without_a_cut_fits() {
    // ABQ §IV: mean 50 KB, shape 1.2.
    let spec = pareto(50_000, 1.2, None);
    let scale = 50_000.0 * 0.2 / 1.2;
    let d = ks(draws(&spec, 5), |x| if x <= scale { 0.0 } else { 1.0 - (scale / x).powf(1.2) });
    assert!(d < 1.95, "Kolmogorov-Smirnov {d}");
    assert_eq!(Sizes::new(&spec).expect("a good spec").mean().round(), 50_000.0);
}

/// Breaks if the cut piles up at the maximum or passes it, or if the cut law's mean is not its
/// closed form. Deviation from the second moment of the cut law, integrated by hand.
#[test]
fn pareto_with_a_cut_fits() {
    let (scale, shape, max) = (50_000.0f64, 1.5f64, 200_000.0f64);
    let spec = pareto(150_000, shape, Some(200_000));
    let reach = 1.0 - (scale / max).powf(shape);
    let sample = draws(&spec, 6);
    assert!(sample.iter().all(|size| (50_000..=200_000).contains(size)));
    let moment = |k: f64| {
        shape * scale.powf(shape) * (max.powf(k - shape) - scale.powf(k - shape))
            / ((k - shape) * reach)
    };
    let mean = Sizes::new(&spec).expect("a good spec").mean();
    assert!((mean - moment(1.0)).abs() < 1e-6, "{mean} for {}", moment(1.0));
    let z = off(&sample, mean, (moment(2.0) - mean * mean).sqrt());
    assert!(z < 3.29, "mean off by {z} standard errors");
    let d = ks(sample, |x| ((1.0 - (scale / x.max(scale)).powf(shape)) / reach).min(1.0));
    assert!(d < 1.95, "Kolmogorov-Smirnov {d}");
}

/// Breaks if a named distribution's sampler misses its table: chi-square over the table's pieces
/// (at most 19 degrees of freedom, 0.1 % point 43.8), uniformity within the widest piece, and the
/// mean within 3.29 standard errors.
#[test]
fn named_distributions_fit_their_tables() {
    for (seed, name) in names().enumerate() {
        let points = points_of(name);
        let sample = draws(&named(name).expect("listed"), seed as u64);
        let (mean, deviation) = moments(&points);
        let z = off(&sample, mean, deviation);
        assert!(z < 3.29, "{name}: mean off by {z} standard errors");
        // Neighbouring pieces that share an atom or round into each other are told apart by their
        // sizes only where both ends are apart: merge pieces at equal sizes.
        let mut edges: Vec<(f64, f64)> = Vec::new();
        for point in points.iter() {
            edges.retain(|edge| edge.0 != point.0);
            edges.push(*point);
        }
        let (mut chi2, mut below) = (0.0, 0.0);
        for edge in &edges {
            let expected = (edge.1 - below) * N as f64;
            let low = edges.iter().rev().find(|e| e.0 < edge.0).map_or(-1.0, |e| e.0);
            let found = sample.iter().filter(|s| **s as f64 > low && **s as f64 <= edge.0).count();
            if expected > 0.0 {
                chi2 += (found as f64 - expected).powi(2) / expected;
            }
            below = edge.1;
        }
        assert!(chi2 < 43.8, "{name}: chi-square {chi2}");
        let (low, high) = edges
            .windows(2)
            .map(|w| (w[0].0, w[1].0))
            .max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
            .expect("two points");
        let inside: Vec<u64> =
            sample.into_iter().filter(|s| *s as f64 > low && (*s as f64) < high).collect();
        let d = ks(inside, |x| ((x - low) / (high - low)).clamp(0.0, 1.0));
        assert!(d < 1.95, "{name}: Kolmogorov-Smirnov {d} within the widest piece");
    }
}

/// Breaks if a mix is by bytes, if nested weights do not multiply, or if weights need to sum to 1.
#[test]
fn mixes_are_by_flows() {
    let fixed = |bytes| SizeSpec::Fixed(Bytes(bytes));
    let inner = SizeSpec::Mix(vec![(1.0, fixed(1_000)), (3.0, fixed(2_000))]);
    let spec = SizeSpec::Mix(vec![(2.0, fixed(1_000_000)), (6.0, inner)]);
    let sizes = Sizes::new(&spec).expect("a good spec");
    assert_eq!(sizes.mean(), 0.25 * 1e6 + 0.1875 * 1e3 + 0.5625 * 2e3);
    let sample = draws(&spec, 9);
    for (bytes, share) in [(1_000_000, 0.25), (1_000, 0.1875), (2_000, 0.5625f64)] {
        let found = sample.iter().filter(|size| **size == bytes).count() as f64;
        let deviation = (N as f64 * share * (1.0 - share)).sqrt();
        assert!((found - N as f64 * share).abs() < 3.29 * deviation, "{found} of {bytes}");
    }
    assert_eq!(
        [0.1, 0.1875, 0.2, 0.75, 0.76].map(|p| sizes.quantile(p)),
        [1_000, 1_000, 2_000, 2_000, 1_000_000]
    );
}

/// Breaks if `quantile` is not the inverse of `cdf`: the smallest size whose share reaches `p`.
#[test]
fn quantiles_invert_the_distribution() {
    let mix = SizeSpec::Mix(vec![
        (0.3, named("hadoop").expect("listed")),
        (0.5, pareto(50_000, 1.2, Some(1_000_000))),
        (0.2, SizeSpec::Uniform(Bytes(1), Bytes(10))),
    ]);
    for spec in [mix, named("web-search").expect("listed"), pareto(9_000, 2.5, None)] {
        let sizes = Sizes::new(&spec).expect("a good spec");
        for p in [0.001, 0.1, 0.25, 0.5, 0.9, 0.99] {
            let size = sizes.quantile(p);
            // A quantile stands within half a byte of where the law reaches p.
            assert!(sizes.cdf(size) >= p - 1e-12, "{p}: {size} is too small");
            assert!(sizes.cdf(size - 1) < p + 1e-12, "{p}: {size} is too large");
        }
    }
}

/// Breaks if the number of random words depends on the law or on what came out.
#[test]
fn every_flow_takes_two_words() {
    let mix =
        SizeSpec::Mix(vec![(1.0, SizeSpec::Fixed(Bytes(1))), (1.0, pareto(9_000, 2.5, None))]);
    for spec in [mix, SizeSpec::Fixed(Bytes(5)), named("hadoop").expect("listed")] {
        let sizes = Sizes::new(&spec).expect("a good spec");
        let (mut drawn, mut plain) =
            (Rng::new(4, Role::Workload, 2), Rng::new(4, Role::Workload, 2));
        for _ in 0..1_000 {
            sizes.sample(&mut drawn);
            plain.next_u64();
            plain.next_u64();
        }
        assert_eq!(drawn.next_u64(), plain.next_u64());
    }
}

/// Breaks if a flow can have no bytes.
#[test]
fn sizes_are_at_least_one_byte() {
    let sample = draws(&table(&[(0.0, 0.0), (2.0, 1.0)]), 8);
    assert_eq!(sample.iter().min(), Some(&1));
    assert_eq!(sample.iter().max(), Some(&2));
}

/// Breaks if a shipped table or the closing of a binned table is off. Means from the papers:
/// AQ-CAR §III (within 2 %: its figures are a third of a percent above its own tables), QDAPS §IV-C.
#[test]
fn named_means_are_the_stated_ones() {
    let mean = |name: &str| describe(name).expect("listed").mean;
    for (name, stated) in [
        ("cache-follower", 914e3),
        ("web-search", 1_671e3),
        ("hadoop", 4_149e3),
        ("data-mining", 7_495e3),
    ] {
        let ratio = mean(name) / stated;
        assert!((0.98..=1.02).contains(&ratio), "{name}: {} for {stated}", mean(name));
    }
    for (name, stated) in [
        ("web-search-qdaps", 1.6e6),
        ("data-mining-qdaps", 7.4e6),
        ("web-search-tam", mean("web-search")),
        ("data-mining-tam", mean("data-mining")),
        ("cache-follower-tam", mean("cache-follower")),
        ("hadoop-tam", mean("hadoop")),
        // 0.68 x 5 KB + 0.18 x 55 KB + 0.14 x 550 KB.
        ("web-server-tam", 90_300.0),
    ] {
        assert!((mean(name) / stated - 1.0).abs() < 1e-12, "{name}: {} for {stated}", mean(name));
    }
}

/// Breaks if a bin's share is another than in QDAPS Table I or TAM Table 4, or the last bin's top
/// does not give the last-bin means that follow: 7.47 MB and 73.5 MB.
#[test]
fn binned_tables_have_the_papers_shares() {
    for (name, shares) in [
        ("data-mining-qdaps", [0.77, 0.82, 0.90]),
        ("web-search-qdaps", [0.55, 0.62, 0.80]),
        ("data-mining-tam", [0.78, 0.83, 0.91]),
        ("web-search-tam", [0.59, 0.62, 0.80]),
        ("cache-follower-tam", [0.50, 0.53, 0.71]),
        ("web-server-tam", [0.68, 0.86, 1.00]),
        ("hadoop-tam", [0.94, 0.95, 0.97]),
    ] {
        let points = points_of(name);
        let found: Vec<f64> = points[1..4].iter().map(|point| point.1).collect();
        assert_eq!(found, shares, "{name}");
    }
    let last_bin = |name| (1e6 + describe(name).expect("listed").max as f64) / 2.0;
    assert_eq!((last_bin("web-search-qdaps") / 1e4).round(), 747.0);
    assert_eq!((last_bin("data-mining-qdaps") / 1e5).round(), 735.0);
}

/// Breaks if names are not unique, or a listed name is not known, or an unknown one is.
#[test]
fn names_are_known_and_unique() {
    let mut all: Vec<_> = names().collect();
    assert!(all.iter().all(|name| describe(name).is_some_and(|d| d.name == *name)));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), names().count());
    assert!(named("web-serach").is_none() && describe("").is_none());
}

/// Breaks if what `leafspine workloads` prints changes: mean, p10, p50, p90, p99, largest size.
#[test]
fn named_distributions_are_described() {
    let lines: Vec<String> = names()
        .map(|name| {
            let d = describe(name).expect("listed");
            let (mean, name) = (d.mean.round(), d.name);
            format!("{name}: {mean} {} {} {} {} {}", d.p10, d.p50, d.p90, d.p99, d.max)
        })
        .collect();
    assert_eq!(
        lines,
        [
            "web-search: 1665831 8760 70642 4866180 22711273 29200000",
            "data-mining: 7470236 1460 1460 389820 97333820 973333820",
            "cache-follower: 910690 1460 18980 2920000 3893820 48666180",
            "hadoop: 4135297 35040 73000 233600 97333820 486666180",
            "web-search-dctcp: 1711250 6667 73077 5000000 23333333 30000000",
            "hadoop-hpcc: 120421 325 700 120000 2000000 10000000",
            "web-search-qdaps: 1600000 1818 9091 7472000 13296800 13944000",
            "data-mining-qdaps: 7400000 1299 6494 1000000 131489200 145988000",
            "web-search-tam: 1665831 1695 8475 7811154 13941193 14622308",
            "data-mining-tam: 7470236 1282 6410 887500 145781946 163879689",
            "cache-follower-tam: 910690 2000 10000 3338467 4446161 4569239",
            "web-server-tam: 90300 1471 7353 357143 935714 1000000",
            "hadoop-tam: 4135297 1064 5319 9574 182735409 273603113",
        ]
    );
}

/// Breaks if a law that no flow can come from is accepted, or its message changes.
#[test]
fn bad_laws_are_refused() {
    for (spec, text) in [
        (SizeSpec::Fixed(Bytes(0)), "sizes: found a flow of 0B; allowed: at least 1B"),
        (
            SizeSpec::Uniform(Bytes(9), Bytes(5)),
            "sizes: found uniform from 9B to 5B; allowed: the smaller size first",
        ),
        (
            pareto(50_000, 1.0, None),
            "sizes.shape: found a Pareto shape of 1; allowed: above 1, or there is no mean",
        ),
        (
            pareto(50_000, 2.0, Some(25_000)),
            "sizes.max: found 25KB; allowed: above 25000B, the smallest size of mean and shape",
        ),
        (SizeSpec::Mix(vec![]), "sizes: found an empty mix; allowed: at least one component"),
        (
            SizeSpec::Mix(vec![(-1.0, SizeSpec::Fixed(Bytes(1)))]),
            "sizes.weight: found -1; allowed: a finite number above 0",
        ),
        (
            table(&[(0.0, 0.0), (10.0, 0.5)]),
            "sizes: found cumulative_probability 0.5 in the last row; allowed: 1 in the last row",
        ),
        (
            table(&[(10.0, 0.5), (5.0, 1.0)]),
            "sizes: found bytes 5 after 10; allowed: rising from row to row",
        ),
    ] {
        assert_eq!(refusal(&spec), text);
    }
}

/// Breaks if a size table from a file is read wrongly, or a bad one without file, line and column.
#[test]
fn tables_are_read_from_csv() {
    let read = |text: &str| {
        read_points(text.as_bytes(), Path::new("t.csv")).map_err(|error| error.to_string())
    };
    let points = read("cumulative_probability, bytes\n0.25, 100\n1, 1e3\n").expect("good");
    assert_eq!(*points, [(100.0, 0.25), (1_000.0, 1.0)]);
    assert_eq!(Sizes::new(&table(&points)).expect("good").mean(), 25.0 + 0.75 * 550.0);
    let header = "bytes,cumulative_probability\n";
    for (rows, text) in [
        ("10,0\n5,1\n", "t.csv:3: bytes: found 5 after 10; allowed: rising from row to row"),
        (
            "10,0.5\n20,0.4\n",
            "t.csv:3: cumulative_probability: found 0.4 after 0.5; allowed: rising from row to row",
        ),
        ("10,1.5\n", "t.csv:2: cumulative_probability: found 1.5; allowed: from 0 to 1"),
        ("-1,1\n", "t.csv:2: bytes: found -1; allowed: a size, at least 0"),
        ("ten,1\n", "t.csv:2: bytes: found \"ten\"; allowed: a number"),
        ("10,half\n", "t.csv:2: cumulative_probability: found \"half\"; allowed: a number"),
        ("", "t.csv:1: bytes: found no rows; allowed: at least one"),
        (
            "10,0.9\n",
            "t.csv:2: cumulative_probability: found 0.9 in the last row; allowed: 1 in the last row",
        ),
        ("0,1\n", "t.csv:2: bytes: found 0 in the last row; allowed: at least 1 in the last row"),
        ("10\n", "t.csv:2: row: found 1 fields; allowed: 2 fields, as in the header"),
    ] {
        assert_eq!(read(&format!("{header}{rows}")).expect_err("bad"), text);
    }
}

/// Breaks if a form in which tables are passed on gives other points: other names of columns, percent,
/// units, and pairs without a header as HPCC's simulator has them.
#[test]
fn tables_come_in_the_forms_in_use() {
    let wanted = [(0.0, 0.0), (10_000.0, 0.15), (1e6, 1.0)];
    for text in [
        "bytes,cumulative_probability\n0,0\n10000,0.15\n1000000,1\n",
        "bytes,probability\n0,0\n10000,0.15\n1000000,1.0\n",
        "percent,size\n0,0\n15,10KB\n100,1MB\n",
        "cdf,kb\n0,0\n0.15,10\n1,1000\n",
        "bytes cdf\n0 0\n10000 15\n1000000 100\n",
        "0 0\n10000 15\n1000000 100\n",
        "0\t0\r\n10000\t15\r\n\r\n1000000\t100",
        "0B,0%\n10KB,15%\n1MB,100%\n",
        "\u{feff}0, 0\n10000, 0.15\n1000000, 1\n",
    ] {
        let points =
            read_points(text.as_bytes(), Path::new("t")).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(*points, wanted, "{text}");
    }
}

/// Breaks if a table in one of those forms is accepted that is none, or its line is not named.
#[test]
fn bad_tables_name_their_lines() {
    let said =
        |text: &str| read_points(text.as_bytes(), Path::new("t.txt")).expect_err("bad").to_string();
    assert_eq!(
        said("0 0\n10000 15\n5000 100\n"),
        "t.txt:3: bytes: found 5000 after 10000; allowed: rising from row to row"
    );
    assert_eq!(
        said("0 0\n10000 15 3\n"),
        "t.txt:2: row: found 3 fields; allowed: 2 fields, a size and its cumulative probability"
    );
    assert_eq!(
        said("0 0\n10000 99\n"),
        "t.txt:2: cumulative_probability: found 99; allowed: from 0 to 1"
    );
    assert_eq!(
        said("bytes,share\n1,1\n"),
        "t.txt:1: share: found an unknown column; allowed: the columns bytes, \
         cumulative_probability (or kb, mb; probability, percent, cdf)"
    );
    assert_eq!(said(""), "t.txt:1: row: found an empty file; allowed: a header and a row or more");
    assert!(said("bytes,cfd\n1,1\n").ends_with("; did you mean \"cdf\"?"));
    assert!(said("bytes;cdf\n1;1\n").contains("found columns separated by semicolons"));
    assert_eq!(said("10XB 1\n")[..9], *"t.txt:1: ");
}
