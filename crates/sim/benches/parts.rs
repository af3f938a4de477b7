//! What the parts of the engine cost, and small runs of the whole.
//!
//! `cargo bench -p leafspine-sim --bench parts [-- FILTER]`. A run of `leafspine bench` says that
//! the simulator has become slower; these say where.

mod calendar;
#[path = "../tests/common/mod.rs"]
mod common;
mod flow_source;
mod routes;
mod runs;
mod tcp;
#[path = "../tests/workload/common.rs"]
mod workload_common;

use criterion::Criterion;
use std::time::Duration;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(30)
        .nresamples(5_000)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .configure_from_args();
    calendar::bench(&mut criterion);
    tcp::bench(&mut criterion);
    flow_source::bench(&mut criterion);
    routes::bench(&mut criterion);
    runs::bench(&mut criterion);
    criterion.final_summary();
}
