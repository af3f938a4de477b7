//! Operations that wait for each other: messages between hosts, and time in which hosts compute.
//!
//! A [`Template`] has the operations of one iteration of a job and what each waits for; a [`Job`]
//! repeats it. Only the template is in memory: an operation's number says which job, iteration and
//! operation of the template it is, and so which others wait for it.
//!
//! Whatever an operation waits for ends at the operation's own host: a message that has come, one that
//! went out and is acknowledged, a computation there. [`Draft::after`] refuses all else, so that no host
//! ever needs to know of another what no packet has told it.

mod draft;
mod jobs;
mod template;

pub(crate) use draft::{Draft, Op};
pub(crate) use jobs::{Dags, Job, Numbered, What};
pub use template::Phase;
pub(crate) use template::Template;
