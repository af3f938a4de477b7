//! What the worlds of switches and hosts have in common.

use leafspine_core::Rng;
use leafspine_schemes::testing::random_params;
use leafspine_schemes::{Param, Params};
use std::fmt::Debug;

/// A scheme in its surroundings.
pub trait World {
    type Op: Debug;
    /// Lets one thing happen.
    fn apply(&mut self, op: &Self::Op);
    /// Lets all that is under way end, and checks that it does.
    fn finish(&mut self);
    /// Everything that the scheme has decided.
    fn decisions(&self) -> &[u64];
}

/// Parameters for a run: any in their ranges, or the defaults.
pub fn params(declared: &[Param], rng: &mut Rng) -> Params {
    let random = random_params(declared, rng);
    if rng.chance(0.3) { Params::defaults(declared) } else { random }
}

/// The queue of each stage, as schemes that read stages want it: small, one to six medium, large.
pub fn staged(rng: &mut Rng) -> Vec<u8> {
    let medium = 1 + rng.below(6) as usize;
    [0].into_iter().chain(std::iter::repeat_n(1, medium)).chain([2]).collect()
}
