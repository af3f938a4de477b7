//! Edges that spray: a sender gives each packet an entropy value, and the switches' hash makes a path of it.
//!
//! The entropy value (EV) is what a queue pair's UDP source port stands for ([`PacketMeta::tag`]):
//! a number that ECMP hashes with the five-tuple. Which values lead where is unknown; that one
//! value leads to one path, as long as no link changes, is all that the schemes here build on. The
//! receiving edge tells the sender of the EVs of the packets that have come, and which of them were
//! marked ([`echo`]).
//!
//! * [`oblivious`]: any EV, or one after the other.
//! * [`bitmap`]: one after the other, without those that were marked.
//! * [`reps`]: those that came back without a mark, again; any other when there is none.
//! * [`mixed`]: those that came back without a mark, again; the bitmap's when there is none.
//!
//! What goes by marks works with every transport whose packets can be marked: it does not go by
//! what ACKs echo to the transport.

pub(super) mod bitmap;
mod cache;
mod echo;
pub(super) mod mixed;
pub(super) mod oblivious;
pub(super) mod reps;

use super::{EdgeContext, FlowView};
use crate::{Kind, Param};
use leafspine_core::Rng;

/// The balancers whose hash sees the EV.
const BALANCERS: &[&str] = &["ecmp", "wcmp"];

const ENTROPIES: Param =
    Param::new(Kind::Int(1, 65_536), "65536", "How many entropy values there are, from 0 on.");

/// Any of so many EVs.
fn any(entropies: u64, rng: &mut Rng) -> u16 {
    rng.below(entropies) as u16
}

/// The next of so many EVs in turn; `word` keeps the turn. The first is any.
fn in_turn(word: &mut u64, entropies: u64, rng: &mut Rng) -> u16 {
    let at = if *word == 0 { rng.below(entropies) } else { *word - 1 };
    *word = (at + 1) % entropies + 1;
    at as u16
}

/// What `sending` is handed, for tests and the schemes' own functions.
type Call<'a, 'b, 'c, 'd> = (&'a mut FlowView<'b>, &'c mut EdgeContext<'d>);
