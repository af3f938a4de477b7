//! Linux kernels as hosts, on virtual time.
//!
//! A **guest** is an unmodified kernel as a process of its own (User-Mode Linux) whose clock stands
//! still until it is told the time. Whoever drives a [`Fleet`] of them says when each may run, hands it
//! frames and takes those that it sends. Nothing here knows of packets' ways through a network, of
//! scenarios or of results.
//!
//! | file | what |
//! | --- | --- |
//! | `fleet.rs` | all guests of a run: who wants to run when |
//! | `guest.rs` | one: its process, its turn, its devices |
//! | `time.rs`, `schedule.rs` | the clock: messages, and the memory beside them |
//! | `vhost/` | a network device: messages, rings, and what they do |
//! | `orders.rs` | what a guest is told to do, and what it reports |
//! | `frame.rs` | Ethernet, IPv4 and TCP headers of frames |
//! | `installed.rs` | which kernel there is |
//! | `launch.rs`, `memory.rs` | processes and shared memory: all that is unsafe |
//! | `folder.rs`, `pin.rs` | a run's own folder, and its CPU |
//! | `socket.rs` | messages with files |

pub mod fleet;
mod folder;
pub mod frame;
pub mod guest;
mod installed;
pub mod launch;
pub mod memory;
pub mod orders;
mod pin;
pub mod schedule;
pub mod socket;
pub mod time;
pub mod vhost;

pub use fleet::{CONGESTION, Fleet, Setup};
pub use guest::{Happening, LinuxError, Outside};
pub use installed::{Installed, installed};
