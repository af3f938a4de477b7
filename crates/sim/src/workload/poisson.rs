//! Flows that start independently of each other.

use super::pairs::Pairs;
use super::sizes::Sizes;
use super::source::Flow;
use super::stream::{Drawn, stream};
use leafspine_core::{Rng, Time};

/// A Poisson process of flows between random pairs.
///
/// Starts are sums of unit-mean exponentials times the mean time between starts: under the same
/// seed another mean stretches the starts and changes nothing else.
pub(super) struct Poisson {
    pairs: Pairs,
    sizes: Sizes,
    origin: Time,
    interarrival_ps: f64,
    /// Sum of the exponentials so far. A `f64` resolves a million mean times to 1e-10 of one.
    elapsed: f64,
    left: u64,
    starts: Rng,
    who: Rng,
    how_much: Rng,
}

impl Poisson {
    /// `flows` flows, `interarrival_ps` apart on average, the first as long after `origin`. Every
    /// sender must have a receiver.
    pub(super) fn new(
        (pairs, sizes): (Pairs, Sizes),
        (origin, interarrival_ps, flows): (Time, f64, u64),
        (seed, workload): (u64, usize),
    ) -> Poisson {
        let stream = |drawn| stream(seed, workload, drawn);
        Poisson {
            pairs,
            sizes,
            origin,
            interarrival_ps,
            elapsed: 0.0,
            left: flows,
            starts: stream(Drawn::Starts),
            who: stream(Drawn::Pairs),
            how_much: stream(Drawn::Sizes),
        }
    }

    /// Flows still to come.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Flow> {
        self.left = self.left.checked_sub(1)?;
        // The inverse of 1 - exp(-x); `unit` never is 1.
        self.elapsed -= libm::log(1.0 - self.starts.unit());
        let after = (self.elapsed * self.interarrival_ps + 0.5) as u64;
        let (src, dst) = self.pairs.draw(&mut self.who);
        let bytes = self.sizes.sample(&mut self.how_much);
        Some(Flow::new(Time(self.origin.0.saturating_add(after)), src, dst, bytes))
    }
}
