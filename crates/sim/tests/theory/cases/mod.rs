//! Cases of theory: what a closed form predicts, what a run gives, and how far apart they may be.
//!
//! The tests beside this folder hold every row to its limit; `examples/theory.rs` prints the same
//! rows for `docs/validation.md`.
#![allow(dead_code, unreachable_pub, reason = "the tests and the example each use their part")]

pub mod collectives;
pub mod conga;
pub mod dctcp;
pub mod fairness;
pub mod incast;
pub mod lone_flow;
pub mod lossless;
pub mod queue_law;
pub mod queueing;
pub mod recovery;
pub mod response;
pub mod slow_start;

use serde::{Serialize, Serializer};

/// A law, and the settings in which it was tried.
#[derive(Serialize)]
pub struct Case {
    /// Heading.
    pub title: &'static str,
    /// The formula, in words and symbols.
    pub law: &'static str,
    /// Whose it is.
    pub source: &'static str,
    /// The set-up, and how the figure is taken.
    pub setup: &'static str,
    /// Where the law stops holding.
    pub domain: &'static str,
    /// One a setting.
    pub rows: Vec<Row>,
}

/// One figure, predicted and measured.
#[derive(Serialize)]
pub struct Row {
    /// What was set.
    pub setting: String,
    /// What was measured, with its unit.
    pub figure: &'static str,
    /// By the law.
    #[serde(serialize_with = "digits")]
    pub prediction: f64,
    /// By the engine: the mean over the seeds.
    #[serde(serialize_with = "digits")]
    pub measured: f64,
    /// Standard error of that mean, if there are several seeds.
    #[serde(serialize_with = "maybe_digits")]
    pub error: Option<f64>,
    /// Runs.
    pub seeds: usize,
    /// How far the two may be apart, in the figure's unit; none where the law does not hold and the
    /// row only shows by how much.
    #[serde(serialize_with = "maybe_digits")]
    pub allowed: Option<f64>,
    /// Why so far.
    pub why: String,
}

/// Seeds of every case that draws at random.
pub const SEEDS: u64 = 16;

/// Student's t of 15 degrees of freedom, two-sided at 99.9 %: of all rows that are held to it, one in a
/// thousand would fail by chance when it is first written. Runs are reproducible, so none does later.
const T_15: f64 = 4.073;

impl Row {
    /// One run, no chance, no rounding: equal.
    pub fn exact(
        setting: impl Into<String>,
        figure: &'static str,
        prediction: f64,
        measured: f64,
    ) -> Row {
        Row::bounded(setting, figure, prediction, &[measured], 0.0, "exact")
    }

    /// The mean over [`SEEDS`] runs, within its own chance.
    pub fn by_chance(
        setting: impl Into<String>,
        figure: &'static str,
        prediction: f64,
        measured: &[f64],
    ) -> Row {
        assert_eq!(measured.len() as u64, SEEDS, "t is that of 15 degrees of freedom");
        let (_, error) = mean_and_error(measured);
        let allowed = T_15 * error.unwrap_or(0.0);
        Row::bounded(setting, figure, prediction, measured, allowed, "4.07 standard errors")
    }

    /// Within `allowed`, in the figure's unit.
    pub fn bounded(
        setting: impl Into<String>,
        figure: &'static str,
        prediction: f64,
        measured: &[f64],
        allowed: f64,
        why: impl Into<String>,
    ) -> Row {
        let row = Row::outside(setting, figure, prediction, measured, why);
        Row { allowed: Some(allowed), ..row }
    }

    /// Shown, not held: the law does not claim to hold here.
    pub fn outside(
        setting: impl Into<String>,
        figure: &'static str,
        prediction: f64,
        measured: &[f64],
        why: impl Into<String>,
    ) -> Row {
        let (mean, error) = mean_and_error(measured);
        let seeds = measured.len();
        let (setting, why) = (setting.into(), why.into());
        Row { setting, figure, prediction, measured: mean, error, seeds, allowed: None, why }
    }
}

/// The mean and, of several, its standard error.
pub fn mean_and_error(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (values.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt()))
}

/// Whole numbers as they are, others with six digits: what a table may show, and what is the same on
/// every machine.
fn digits<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return out.serialize_i64(*value as i64);
    }
    let text = format!("{value:.5e}");
    out.serialize_f64(text.parse().expect("a number that was just written"))
}

fn maybe_digits<S: Serializer>(value: &Option<f64>, out: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => digits(value, out),
        None => out.serialize_none(),
    }
}

/// A case's name, and what runs it.
pub type Named = (&'static str, fn() -> Case);

/// Every case, in the order of the page.
pub const ALL: &[Named] = &[
    ("lone-flow", lone_flow::ideal),
    ("syn-timeouts", lone_flow::syn_timeouts),
    ("slow-start", slow_start::rounds),
    ("incast", incast::makespan),
    ("md1", queueing::one_size),
    ("mg1", queueing::two_sizes),
    ("priority", queueing::priority),
    ("full-buffer", queueing::full_buffer),
    ("spraying", queueing::sprayed),
    ("dctcp", dctcp::sawtooth),
    ("square-root", response::square_root),
    ("cubic", response::cubic),
    ("round-robin", fairness::shares),
    ("max-min", fairness::max_min),
    ("rate-estimator", conga::estimator),
    ("conga", conga::equal_metrics),
    ("lone-queue-pair", lossless::lone),
    ("queue-pairs", lossless::shares),
    ("pauses", lossless::pauses),
    ("recovery", recovery::under_loss),
    ("all-reduce", collectives::all_reduce),
];
