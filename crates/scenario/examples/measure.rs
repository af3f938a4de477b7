//! Runs scenario files and prints packet-hops per second, without Python: for perf and callgrind.
//!
//! `cargo run --release -p leafspine-scenario --example measure benches/web-search-128.toml`
//!
//! Files after the word `calendar` are driven by the calendar, those after `windows` by windows;
//! without either, by what is thought to be faster. A number says on how many threads at most; after the words
//! `domains` and `threads` nodes are dealt out to each number of parts in turn, as in tests, and one thread works
//! on all, or each has its own.

use leafspine_sim::spec::DriverKind;
use leafspine_sim::{Progress, Simulation};
use std::path::Path;
use std::time::Instant;

fn main() {
    let mut driver = DriverKind::Auto;
    let mut threads = 1;
    for file in std::env::args().skip(1) {
        if let Ok(number) = file.parse() {
            threads = number;
            continue;
        }
        match file.as_str() {
            "calendar" => driver = DriverKind::Calendar,
            "windows" => driver = DriverKind::Windows,
            "domains" => driver = DriverKind::Domains,
            "threads" => driver = DriverKind::Threads,
            _ => measure(&file, driver, threads),
        }
    }
}

fn measure(file: &str, driver: DriverKind, threads: usize) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let base = Path::new(file).parent().unwrap_or(Path::new("."));
    let mut case = leafspine_scenario::single(&text, file, base).unwrap_or_else(|e| panic!("{e}"));
    case.spec.run.driver = driver;
    case.spec.run.threads = threads;
    let simulation = Simulation::new(&case.spec).unwrap_or_else(|e| panic!("{e}"));
    let start = Instant::now();
    let output = simulation.run(&Progress::default()).unwrap_or_else(|e| panic!("{e}"));
    let seconds = start.elapsed().as_secs_f64();
    let c = output.counters;
    println!(
        "{file}: {:.2} M packet-hops/s, {:.2} events/hop, {} hops, {seconds:.2} s, {} packets and {} flows at once, {:.0} ms simulated, hash {:016x}",
        c.packet_hops as f64 / seconds / 1e6,
        c.events as f64 / c.packet_hops as f64,
        c.packet_hops,
        c.peak_packets,
        c.peak_flows,
        output.end.as_secs_f64() * 1e3,
        output.trace_hash,
    );
}
