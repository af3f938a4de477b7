//! Random streams keyed by what they are for, never by when they were made.

use crate::id::mix;

/// What a random stream is for. Two roles never share a stream, so adding draws to one part of a
/// run leaves all others as they were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Role {
    /// Sizes, pairs and starting times of a workload.
    Workload = 1,
    /// A switch's balancer.
    Balancer = 2,
    /// A port's queue manager.
    Aqm = 3,
    /// A link's random loss.
    Link = 4,
    /// A host edge.
    Edge = 5,
    /// A switch's hash seed.
    Hash = 6,
    /// An ingress hold.
    Hold = 7,
    /// Host sets of a scenario ("a random half").
    HostSet = 8,
    /// A host's delay before its port.
    HostJitter = 9,
    /// A flow's congestion control.
    Transport = 10,
    /// How long a job's computations take.
    Compute = 11,
    /// Where a job's ranks are.
    Placement = 12,
}

/// A small, fast generator: a Weyl sequence through a bijective mixer (`SplitMix64`'s construction,
/// Steele, Lea and Flood, OOPSLA 2014). Period 2^64; not for cryptography.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The stream for `(seed, role, id)`.
    #[must_use]
    pub fn new(seed: u64, role: Role, id: u64) -> Rng {
        let keyed = mix(mix(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ role as u64) ^ id);
        Rng { state: keyed }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.state;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..n` by multiply and shift; the bias is below `n / 2^64`.
    ///
    /// # Panics
    /// In debug builds if `n` is zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "nothing to choose from");
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a stream depends on anything but its key, or if two keys give one stream.
    #[test]
    fn streams_are_keyed() {
        let draw = |seed, role, id| Rng::new(seed, role, id).next_u64();
        assert_eq!(draw(1, Role::Aqm, 7), draw(1, Role::Aqm, 7));
        let streams = [
            draw(1, Role::Aqm, 7),
            draw(2, Role::Aqm, 7),
            draw(1, Role::Link, 7),
            draw(1, Role::Aqm, 8),
        ];
        for (i, a) in streams.iter().enumerate() {
            assert!(streams[i + 1..].iter().all(|b| a != b), "stream {i} stands twice");
        }
    }

    /// Breaks if `below` favours a value: chi-square over 8 cells, 7 degrees of freedom.
    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::new(5, Role::Balancer, 0);
        let (mut cells, n) = ([0f64; 8], 80_000);
        for _ in 0..n {
            cells[rng.below(8) as usize] += 1.0;
        }
        let expected = f64::from(n) / 8.0;
        let chi2: f64 = cells.iter().map(|c| (c - expected).powi(2) / expected).sum();
        assert!(chi2 < 24.3, "chi-square {chi2} exceeds the 0.1 % point");
    }
}
