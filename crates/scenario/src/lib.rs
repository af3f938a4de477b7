//! Scenario files: TOML with units in, typed runs out.
//!
//! [`expand`] takes a file's text and gives its [`Case`]s: each variant at each point of the sweep,
//! typed for the engine, and written out with every default. Whatever is wrong is one
//! [`ScenarioError`] with file, line, key, what was found, what is allowed and the nearest valid
//! name.
//!
//! # Rules
//!
//! - Later settings replace earlier ones: the bundle that the file's `scheme` names, the file, a
//!   variant's bundle, its `set`, the point of the sweep, `--set`. An override of a swept key takes
//!   the place of that key's sweep.
//! - Tables in `set` are merged key by key; arrays, `sizes`, `senders`, `receivers`, `flap` and
//!   `classes` are replaced whole.
//! - A setting that gives `load_balancer`, `aqm`, `hold`, `host_edge` or `transport` another
//!   `scheme` drops the parameters of the scheme before, except those set in the same place.
//! - An override of a parameter that only some variants' schemes have is left out of the others
//!   ([`Case::skipped`]).
//! - `workload.load` is `workload.0.load` where there is one workload.
//! - Setting `switch.shared_buffer` drops `switch.buffer` and the other way round; so do a
//!   workload's `load`, `interarrival` and `rate`, and its `flows` and `duration`.
//! - `aqm.scheme` is `ecn-threshold` by default if the transport is DCTCP, and `droptail` if not.
//! - `pattern` is `inter-leaf` by default for Poisson workloads on more than one leaf, and `any`
//!   for all others.
//! - Classes are `(low, high]`; a low of 0 is inside, and that of an open-ended class at which no
//!   other ends.

pub mod bench;
mod classes;
mod clos;
mod compatibility;
pub mod diagnosis;
mod error;
mod expand;
mod fabric_file;
mod family;
mod flow_control;
mod hosts;
mod job;
mod layer;
mod linux;
mod path;
mod profile;
mod program;
mod refuse;
mod resolve;
mod roce;
mod run;
mod scale;
mod schemes;
mod section;
mod seed;
mod sizes;
mod skip;
mod survey;
mod switch;
mod topology;
mod trace;
mod transport;
mod tree;
mod trim;
mod workload;

pub use classes::SizeClass;
pub use error::{OVERRIDE, Problem, ScenarioError};
pub use expand::{Case, PointValue, Skipped, Source, expand, expand_with, single, single_with};
pub use path::line_of;
pub use refuse::refusal;
pub use seed::first_seed;
pub use survey::{Known, KnownKey, known};
pub use trace::Converter;
