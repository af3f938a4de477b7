//! Named distributions of flow sizes.

use super::sizes::Sizes;
use super::table::read_points;
use crate::spec::SizeSpec;
use std::path::Path;
use std::sync::Arc;

/// Bounds of the bins in the tables of QDAPS and TAM; the last bin is open.
const BINS: [f64; 4] = [0.0, 10e3, 100e3, 1e6];

/// A distribution: its name, where it comes from, its points.
struct Entry {
    name: &'static str,
    source: &'static str,
    points: Points,
}

/// How the points of a distribution are given.
enum Points {
    /// A file of `data/`.
    File(&'static str),
    /// `(bytes, cumulative probability)`.
    Table(&'static [(f64, f64)]),
    /// Percent of flows in each of [`BINS`], and the mean that closes the last.
    Binned([u32; 4], Mean),
}

/// What a binned table's mean is.
enum Mean {
    /// Stated, in bytes.
    Bytes(f64),
    /// Not stated: that of another distribution.
    Of(&'static str),
    /// It follows from the bins, since none is open.
    OfTheBins,
}

const WEB_SEARCH_DCTCP: [(f64, f64); 12] = [
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.2),
    (30e3, 0.3),
    (50e3, 0.4),
    (80e3, 0.53),
    (200e3, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (10e6, 0.97),
    (30e6, 1.0),
];

const HADOOP_HPCC: [(f64, f64); 20] = [
    (0.0, 0.0),
    (100.0, 0.01),
    (200.0, 0.02),
    (300.0, 0.05),
    (350.0, 0.15),
    (400.0, 0.2),
    (500.0, 0.3),
    (600.0, 0.4),
    (700.0, 0.5),
    (1e3, 0.6),
    (2e3, 0.67),
    (7e3, 0.7),
    (30e3, 0.72),
    (50e3, 0.82),
    (80e3, 0.87),
    (120e3, 0.9),
    (300e3, 0.95),
    (1e6, 0.975),
    (2e6, 0.99),
    (10e6, 1.0),
];

/// All of them, in the order they are listed in.
const ENTRIES: [Entry; 13] = [
    Entry {
        name: "web-search",
        source: "Web search cluster of DCTCP (SIGCOMM 2010), in packets of 1460 B as MQ-ECN and AQ-CAR use it",
        points: Points::File(include_str!("../../data/web-search.csv")),
    },
    Entry {
        name: "data-mining",
        source: "Data mining cluster of VL2 (SIGCOMM 2009), in packets of 1460 B as MQ-ECN and AQ-CAR use it",
        points: Points::File(include_str!("../../data/data-mining.csv")),
    },
    Entry {
        name: "cache-follower",
        source: "Facebook's cache followers (SIGCOMM 2015), in packets of 1460 B as MQ-ECN and AQ-CAR use it",
        points: Points::File(include_str!("../../data/cache-follower.csv")),
    },
    Entry {
        name: "hadoop",
        source: "Facebook's Hadoop (SIGCOMM 2015), in packets of 1460 B as MQ-ECN and AQ-CAR use it",
        points: Points::File(include_str!("../../data/hadoop.csv")),
    },
    Entry {
        name: "web-search-dctcp",
        source: "Web search cluster of DCTCP (SIGCOMM 2010), in the rounded bytes of HPCC's evaluation (SIGCOMM 2019)",
        points: Points::Table(&WEB_SEARCH_DCTCP),
    },
    Entry {
        name: "hadoop-hpcc",
        source: "Facebook's Hadoop (SIGCOMM 2015) as HPCC's evaluation has it (SIGCOMM 2019)",
        points: Points::Table(&HADOOP_HPCC),
    },
    Entry {
        name: "web-search-qdaps",
        source: "QDAPS Table I, uniform within bins, last bin closed to the stated mean of 1.6 MB",
        points: Points::Binned([55, 7, 18, 20], Mean::Bytes(1.6e6)),
    },
    Entry {
        name: "data-mining-qdaps",
        source: "QDAPS Table I, uniform within bins, last bin closed to the stated mean of 7.4 MB",
        points: Points::Binned([77, 5, 8, 10], Mean::Bytes(7.4e6)),
    },
    Entry {
        name: "web-search-tam",
        source: "TAM Table 4, uniform within bins, last bin closed to the mean of web-search (none stated)",
        points: Points::Binned([59, 3, 18, 20], Mean::Of("web-search")),
    },
    Entry {
        name: "data-mining-tam",
        source: "TAM Table 4, uniform within bins, last bin closed to the mean of data-mining (none stated)",
        points: Points::Binned([78, 5, 8, 9], Mean::Of("data-mining")),
    },
    Entry {
        name: "cache-follower-tam",
        source: "TAM Table 4, uniform within bins, last bin closed to the mean of cache-follower (none stated)",
        points: Points::Binned([50, 3, 18, 29], Mean::Of("cache-follower")),
    },
    Entry {
        name: "web-server-tam",
        source: "TAM Table 4, uniform within bins, no flow above 1 MB",
        points: Points::Binned([68, 18, 14, 0], Mean::OfTheBins),
    },
    Entry {
        name: "hadoop-tam",
        source: "TAM Table 4, uniform within bins, last bin closed to the mean of hadoop (none stated)",
        points: Points::Binned([94, 1, 2, 3], Mean::Of("hadoop")),
    },
];

/// What `leafspine workloads` prints of a distribution. Sizes in bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// Mean size.
    pub mean: f64,
    /// A tenth of all flows is at most this long.
    pub p10: u64,
    /// Half of all flows are.
    pub p50: u64,
    /// Nine of ten are.
    pub p90: u64,
    /// 99 of 100 are.
    pub p99: u64,
    /// All are.
    pub max: u64,
    /// Where it comes from, and how what its source leaves open was closed.
    pub source: &'static str,
}

/// The names of all named distributions.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// The distribution called `name`.
#[must_use]
pub fn named(name: &str) -> Option<SizeSpec> {
    let entry = ENTRIES.iter().find(|entry| entry.name == name)?;
    let points = match &entry.points {
        Points::File(text) => {
            let read = read_points(text.as_bytes(), Path::new(entry.name));
            read.expect("a table that is shipped with the program is well formed")
        }
        Points::Table(points) => Arc::from(*points),
        Points::Binned(percent, mean) => binned(*percent, mean),
    };
    Some(SizeSpec::Table { name: entry.name.to_owned(), points })
}

/// Mean, quantiles and source of the distribution called `name`.
#[must_use]
pub fn describe(name: &str) -> Option<Description> {
    let entry = ENTRIES.iter().find(|entry| entry.name == name)?;
    let sizes = sizes_of(name)?;
    Some(Description {
        name: entry.name,
        mean: sizes.mean(),
        p10: sizes.quantile(0.1),
        p50: sizes.quantile(0.5),
        p90: sizes.quantile(0.9),
        p99: sizes.quantile(0.99),
        max: sizes.quantile(1.0),
        source: entry.source,
    })
}

fn sizes_of(name: &str) -> Option<Sizes> {
    Sizes::new(&named(name)?).ok()
}

/// Points of a binned table, uniform within each bin. With shares s1..s4 of the bins, middles m1..m3
/// of the closed ones and a mean of M,
///
/// `M = s1 m1 + s2 m2 + s3 m3 + s4 (1 MB + top) / 2`, so
/// `top = 2 (M - s1 m1 - s2 m2 - s3 m3) / s4 - 1 MB`.
fn binned(percent: [u32; 4], mean: &Mean) -> Arc<[(f64, f64)]> {
    let share = percent.map(|p| f64::from(p) / 100.0);
    let closed: f64 = (0..3).map(|bin| share[bin] * (BINS[bin] + BINS[bin + 1]) / 2.0).sum();
    let (mut points, mut sum) = (vec![(BINS[0], 0.0)], 0);
    for bin in 0..3 {
        sum += percent[bin];
        points.push((BINS[bin + 1], f64::from(sum) / 100.0));
    }
    let mean = match mean {
        Mean::OfTheBins => return points.into(),
        Mean::Bytes(mean) => *mean,
        Mean::Of(name) => sizes_of(name).map_or(0.0, |sizes| sizes.mean()),
    };
    points.push((2.0 * (mean - closed) / share[3] - BINS[3], 1.0));
    points.into()
}
