//! Flows that start independently of each other.

use super::pairs::Pairs;
use super::sizes::Sizes;
use super::source::Flow;
use super::stream::{Drawn, stream};
use crate::spec::Stop;
use leafspine_core::{Rng, Span, Time};

/// A Poisson process of flows between random pairs.
///
/// Starts are sums of unit-mean exponentials times the mean time between starts: under the same
/// seed another mean stretches the starts and changes nothing else, and where the process stops is
/// all that a number of flows or a duration decides.
pub(super) struct Poisson {
    pairs: Pairs,
    sizes: Sizes,
    origin: Time,
    interarrival_ps: f64,
    /// Sum of the exponentials so far. A `f64` resolves a million mean times to 1e-10 of one.
    elapsed: f64,
    made: u64,
    stop: Stop,
    starts: Rng,
    who: Rng,
    how_much: Rng,
}

impl Poisson {
    /// Flows up to `stop`, `interarrival_ps` apart on average, the first as long after `origin`.
    /// Every sender must have a receiver.
    pub(super) fn new(
        (pairs, sizes): (Pairs, Sizes),
        (origin, interarrival_ps, stop): (Time, f64, Stop),
        (seed, workload): (u64, usize),
    ) -> Poisson {
        let stream = |drawn| stream(seed, workload, drawn);
        Poisson {
            pairs,
            sizes,
            origin,
            interarrival_ps,
            elapsed: 0.0,
            made: 0,
            stop,
            starts: stream(Drawn::Starts),
            who: stream(Drawn::Pairs),
            how_much: stream(Drawn::Sizes),
        }
    }

    /// Flows in all; unknown if time decides.
    pub(super) fn total(&self) -> Option<u64> {
        match self.stop {
            Stop::Flows(flows) => Some(flows),
            Stop::After(_) => None,
        }
    }

    /// Flows in all: those made, and as many as are to be expected in the time that is left.
    pub(super) fn expected(&self) -> f64 {
        match self.stop {
            Stop::Flows(flows) => flows as f64,
            Stop::After(duration) => {
                let left = duration.0 as f64 / self.interarrival_ps - self.elapsed;
                self.made as f64 + left.max(0.0)
            }
        }
    }

    /// When the flow made last starts, or would start if it is one too late, since the workload's
    /// start.
    pub(super) fn reached(&self) -> Span {
        Span((self.elapsed * self.interarrival_ps + 0.5) as u64)
    }

    #[inline]
    fn is_over(&self) -> bool {
        match self.stop {
            Stop::Flows(flows) => self.made == flows,
            Stop::After(duration) => self.reached() > duration,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Flow> {
        if self.is_over() {
            return None;
        }
        // The inverse of 1 - exp(-x); `unit` never is 1.
        self.elapsed -= libm::log(1.0 - self.starts.unit());
        let after = self.reached().0;
        if matches!(self.stop, Stop::After(_)) && self.is_over() {
            return None;
        }
        self.made += 1;
        let (src, dst) = self.pairs.draw(&mut self.who);
        let bytes = self.sizes.sample(&mut self.how_much);
        Some(Flow::new(Time(self.origin.0.saturating_add(after)), src, dst, bytes))
    }
}
