//! GOAL schedules in their text form: per rank, what it sends, receives and computes, and what waits for
//! what (Hoefler, Siebert and Lumsdaine, ICPP 2009; the schedules that LogGOPSim and ATLAHS read).
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: calc 1000 cpu 0
//!   l2: send 4096b to 1 tag 7
//!   l2 requires l1
//! }
//! rank 1 {
//!   l1: recv 4096b from 0 tag 7
//! }
//! ```
//!
//! A send and a receive belong together by their ranks and their tag, in the order of the file. What
//! waits for a receive waits for its message and for what the receive itself waits for; what waits for a
//! send waits for its acknowledgment; `irequires` waits for a start.

mod lines;
mod resolve;

pub(crate) use lines::{Rank, read};
pub(crate) use resolve::template;
