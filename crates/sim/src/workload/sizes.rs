//! Flow sizes: a law, or a mix of several by flows.

use super::WorkloadError;
use super::law::Law;
use crate::spec::SizeSpec;
use leafspine_core::Rng;

/// A sampler of flow sizes in bytes, made once from a [`SizeSpec`].
///
/// Every flow takes two random words, one for the component of a mix and one for the size, whatever
/// the law and the outcome: flow `n` has the same size however the flows before it came out.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Components of the mix, nested mixes flattened, with the sum of weights up to each.
    parts: Vec<(f64, Law)>,
}

impl Sizes {
    /// The sampler of `spec`.
    ///
    /// # Errors
    /// If a size is zero, bounds are reversed, a Pareto shape is not above 1 or its cut not above
    /// its smallest size, a table does not rise to 1, or a mix is empty or has a weight that is
    /// not positive. Keys are `sizes`, `sizes.mean`, `sizes.shape`, `sizes.max`, `sizes.weight`.
    pub fn new(spec: &SizeSpec) -> Result<Sizes, WorkloadError> {
        let mut parts = Vec::new();
        flatten(spec, 1.0, &mut parts)?;
        let total: f64 = parts.iter().map(|part| part.0).sum();
        let mut sum = 0.0;
        for part in &mut parts {
            sum += part.0;
            part.0 = sum / total;
        }
        // Whatever rounding has left over belongs to the last.
        if let Some(last) = parts.last_mut() {
            last.0 = 1.0;
        }
        Ok(Sizes { parts })
    }

    /// The next flow's size in bytes, at least 1. Draws two words.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> u64 {
        let (choice, p) = (rng.unit(), rng.unit());
        let part = self.parts.partition_point(|part| part.0 <= choice);
        self.parts[part].1.draw(p)
    }

    /// The mean in bytes, in closed form; of tables and Pareto before sizes are rounded to whole
    /// bytes, which is off by far less than a byte.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.weighted(Law::mean)
    }

    /// The share of flows of at most `bytes`.
    #[must_use]
    pub fn cdf(&self, bytes: u64) -> f64 {
        self.weighted(|law| law.cdf(bytes))
    }

    /// The smallest size in bytes that a share `p` of all flows does not exceed: `quantile(0.5)` is
    /// the median, `quantile(1.0)` the largest size (`u64::MAX` for a Pareto law without a cut).
    /// `p` is clamped to `0..=1`.
    #[must_use]
    pub fn quantile(&self, p: f64) -> u64 {
        let p = p.clamp(0.0, 1.0);
        // A mix lies between its components, and its distribution function rises: bisect.
        let each = || self.parts.iter().map(|(_, law)| law.quantile(p));
        let (mut low, mut high) = (each().min().unwrap_or(1), each().max().unwrap_or(1));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.cdf(middle) >= p {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// A mean over the components by weight.
    fn weighted(&self, value: impl Fn(&Law) -> f64) -> f64 {
        let mut before = 0.0;
        let mut sum = 0.0;
        for (upto, law) in &self.parts {
            sum += (upto - before) * value(law);
            before = *upto;
        }
        sum
    }
}

/// Adds the laws of `spec` with their share of `weight`.
fn flatten(spec: &SizeSpec, weight: f64, parts: &mut Vec<(f64, Law)>) -> Result<(), WorkloadError> {
    let law = match spec {
        SizeSpec::Fixed(size) => Law::uniform(*size, *size)?,
        SizeSpec::Uniform(low, high) => Law::uniform(*low, *high)?,
        SizeSpec::Pareto { mean, shape, max } => Law::pareto(*mean, *shape, *max)?,
        SizeSpec::Table { points, .. } => Law::table(points)?,
        SizeSpec::Mix(mix) => {
            let total: f64 = mix.iter().map(|(share, _)| share).sum();
            if mix.is_empty() {
                return Err(WorkloadError::at("sizes", "an empty mix", "at least one component"));
            }
            for (share, component) in mix {
                if !(*share > 0.0 && total.is_finite()) {
                    let allowed = "a finite number above 0";
                    return Err(WorkloadError::at("sizes.weight", share.to_string(), allowed));
                }
                flatten(component, weight * share / total, parts)?;
            }
            return Ok(());
        }
    };
    parts.push((weight, law));
    Ok(())
}
