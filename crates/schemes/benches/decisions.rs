//! What a decision of each registered scheme costs, in nanoseconds.
//!
//! `cargo bench -p leafspine-schemes --bench decisions [-- FILTER]`. The schemes are called as the
//! engine calls them, through a `Box<dyn ...>`, on a mock switch: no engine runs, so
//! a change of these figures is a change of the scheme itself. A new scheme is measured as soon as it
//! is registered.

mod balancers;
mod queue_managers;

use criterion::Criterion;
use std::time::Duration;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(30)
        .nresamples(5_000)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .configure_from_args();
    balancers::bench(&mut criterion);
    queue_managers::bench(&mut criterion);
    criterion.final_summary();
}
