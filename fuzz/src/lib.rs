//! What fuzzers feed to leafspine, and what must hold whatever they feed. Each module is a target:
//! its `check` takes any bytes and panics if something is wrong.

pub mod any;
pub mod decision_vectors;
pub mod flow_csv;
pub mod guest_messages;
pub mod job_files;
pub mod overrides;
pub mod packet_headers;
pub mod scenario_run;
pub mod scenario_toml;
pub mod vectors;

/// A name, which is also that of the corpus, and what checks an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 7] = [
    ("scenario_toml", scenario_toml::check),
    ("scenario_run", scenario_run::check),
    ("flow_csv", flow_csv::check),
    ("decision_vectors", decision_vectors::check),
    ("packet_headers", packet_headers::check),
    ("guest_messages", guest_messages::check),
    ("job_files", job_files::check),
];
