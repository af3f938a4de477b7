//! One law of flow sizes: its inverse and its distribution function, in closed form.

use super::WorkloadError;
use super::table;
use leafspine_core::Bytes;
use std::sync::Arc;

/// A law without components.
///
/// Table and Pareto are laws of a continuous size that is then rounded to the nearest whole byte, at
/// least 1.
#[derive(Clone, Debug)]
pub(super) enum Law {
    /// Whole bytes from `low` to `high`, all equally likely. A fixed size has `low == high`.
    Uniform { low: u64, high: u64 },
    /// `P(X > x) = (scale / x)^shape`, given that X is not above `max`.
    Pareto { scale: f64, shape: f64, max: Option<u64>, reach: f64 },
    /// Points `(bytes, cumulative probability)`, linear in between.
    Table(Arc<[(f64, f64)]>),
}

impl Law {
    /// Whole bytes from `low` to `high`.
    pub(super) fn uniform(low: Bytes, high: Bytes) -> Result<Law, WorkloadError> {
        if low.0 == 0 {
            return Err(WorkloadError::at("sizes", "a flow of 0B", "at least 1B"));
        }
        if low > high {
            let found = format!("uniform from {low} to {high}");
            return Err(WorkloadError::at("sizes", found, "the smaller size first"));
        }
        Ok(Law::Uniform { low: low.0, high: high.0 })
    }

    /// Pareto with `mean` before the cut at `max`.
    ///
    /// The uncut mean is `scale x shape / (shape - 1)`. Cutting means drawing again: the law given
    /// that the size is at most `max`, so that no probability piles up at `max`.
    pub(super) fn pareto(
        mean: Bytes,
        shape: f64,
        max: Option<Bytes>,
    ) -> Result<Law, WorkloadError> {
        if mean.0 == 0 {
            return Err(WorkloadError::at("sizes.mean", "0B", "at least 1B"));
        }
        if !(shape > 1.0 && shape.is_finite()) {
            let found = format!("a Pareto shape of {shape}");
            return Err(WorkloadError::at("sizes.shape", found, "above 1, or there is no mean"));
        }
        let scale = mean.0 as f64 * (shape - 1.0) / shape;
        let reach = match max {
            Some(max) if max.0 as f64 <= scale => {
                let allowed = format!("above {scale:.0}B, the smallest size of mean and shape");
                return Err(WorkloadError::at("sizes.max", max.to_string(), allowed));
            }
            Some(max) => 1.0 - libm::pow(scale / max.0 as f64, shape),
            None => 1.0,
        };
        Ok(Law::Pareto { scale, shape, max: max.map(|max| max.0), reach })
    }

    /// Linear between points; see [`super::read_points`] for what points must be.
    pub(super) fn table(points: &Arc<[(f64, f64)]>) -> Result<Law, WorkloadError> {
        table::check(points)?;
        Ok(Law::Table(Arc::clone(points)))
    }

    /// The size for `u`, uniform in `[0, 1)`.
    #[inline]
    pub(super) fn draw(&self, u: f64) -> u64 {
        match self {
            // The quantile's steps are closed above; here each byte needs its equal, half-open share.
            Law::Uniform { low, high } => {
                low.saturating_add((u * ((high - low) as f64 + 1.0)) as u64)
            }
            law => law.quantile(u),
        }
    }

    /// The smallest size that `p` of all flows do not exceed, `p` in `0..=1`.
    #[inline]
    pub(super) fn quantile(&self, p: f64) -> u64 {
        match self {
            Law::Uniform { low, high } => {
                let steps = (high - low) as f64 + 1.0;
                let step = libm::ceil(p * steps) as u64;
                (low + step.saturating_sub(1)).min(*high)
            }
            Law::Pareto { scale, shape, max, reach } => {
                let size = whole(scale * libm::pow(1.0 - p * reach, -1.0 / shape));
                max.map_or(size, |max| size.min(max))
            }
            Law::Table(points) => whole(inverse(points, p)),
        }
    }

    /// The share of flows of at most `bytes`.
    pub(super) fn cdf(&self, bytes: u64) -> f64 {
        if bytes == 0 {
            return 0.0;
        }
        // Everything below this rounds to at most `bytes`.
        let edge = bytes as f64 + 0.5;
        match self {
            Law::Uniform { low, .. } if bytes < *low => 0.0,
            Law::Uniform { high, .. } if bytes >= *high => 1.0,
            Law::Uniform { low, high } => {
                ((bytes - low) as f64 + 1.0) / ((high - low) as f64 + 1.0)
            }
            Law::Pareto { max: Some(max), .. } if bytes >= *max => 1.0,
            Law::Pareto { scale, .. } if edge <= *scale => 0.0,
            Law::Pareto { scale, shape, reach, .. } => {
                (1.0 - libm::pow(scale / edge, *shape)) / reach
            }
            Law::Table(points) => cumulative(points, edge),
        }
    }

    /// The mean before rounding to whole bytes.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Law::Uniform { low, high } => (*low as f64 + *high as f64) / 2.0,
            Law::Pareto { scale, shape, max, reach } => {
                let uncut = scale * shape / (shape - 1.0);
                // The integral of x dF up to max, over F(max).
                max.map_or(uncut, |max| {
                    uncut * (1.0 - libm::pow(scale / max as f64, shape - 1.0)) / reach
                })
            }
            Law::Table(points) => {
                let atom = points[0].0 * points[0].1;
                atom + points
                    .windows(2)
                    .map(|w| (w[1].1 - w[0].1) * (w[0].0 + w[1].0) / 2.0)
                    .sum::<f64>()
            }
        }
    }
}

/// The nearest whole number of bytes, at least 1.
#[inline]
fn whole(bytes: f64) -> u64 {
    // Adding one half and truncating rounds to nearest without a call.
    ((bytes + 0.5) as u64).max(1)
}

/// Where the line through the points reaches `p`.
#[inline]
fn inverse(points: &[(f64, f64)], p: f64) -> f64 {
    let above = points.partition_point(|point| point.1 < p).min(points.len() - 1);
    if above == 0 {
        return points[0].0;
    }
    let ((low, from), (high, to)) = (points[above - 1], points[above]);
    low + (high - low) * ((p - from) / (to - from))
}

/// The line through the points at `bytes`.
fn cumulative(points: &[(f64, f64)], bytes: f64) -> f64 {
    let above = points.partition_point(|point| point.0 <= bytes);
    if above == 0 {
        return 0.0;
    }
    if above == points.len() {
        return 1.0;
    }
    let ((low, from), (high, to)) = (points[above - 1], points[above]);
    from + (to - from) * ((bytes - low) / (high - low))
}
