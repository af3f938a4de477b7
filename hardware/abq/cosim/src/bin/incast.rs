//! A scenario with `hold.scheme = "abq-rtl"`, and the same with `"abq"`: queues, drops, and the
//! hash over all packet-hops.

use leafspine_scenario::{Source, expand};
use leafspine_schemes::registry::{self, Extension};
use leafspine_sim::{Output, Progress, Simulation};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/incast.toml");

/// The file with another scheme; what else it says of the hold stays.
fn run(text: &str, scheme: &str, sets: &[(&str, &str)]) -> Result<Output, Box<dyn Error>> {
    let own = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    let sets: Vec<_> = sets.iter().map(own).collect();
    let text = &text.replace("\"abq-rtl\"", &format!("\"{scheme}\""));
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = expand(&Source { text, file: FILE, base, sets: &sets, options: &[] })?;
    let case = cases.first().ok_or("the scenario has no case")?;
    let run = Simulation::new(&case.spec).map_err(|error| error.to_string())?;
    run.checked().run(&Progress::default()).map_err(|error| error.to_string().into())
}

/// The receiver's port, and all drops.
fn figures(output: &Output) -> String {
    let port =
        output.ports.iter().max_by_key(|port| port.queue_max_packets).expect("there are ports");
    let dropped: u64 = output.counters.dropped.iter().sum();
    format!(
        "{}: mean queue {:.4} packets, at most {}; {dropped} packets dropped; {} packet-hops, hash {:016x}",
        port.name,
        port.queue_mean_packets,
        port.queue_max_packets,
        output.counters.packet_hops,
        output.trace_hash
    )
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    registry::register(Extension {
        from: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
        holds: &[abq_cosim::ENTRY],
        ..Extension::EMPTY
    })?;
    let text = std::fs::read_to_string(FILE)?;
    let bytes: &[(&str, &str)] = &[("hold.threshold", "30KB"), ("hold.floor", "6KB")];
    let variants = [
        ("as it stands", &[][..]),
        ("all at once", &[("hold.pace", "0ns")][..]),
        ("a smaller buffer", &[("switch.buffer", "50pkt")][..]),
        ("in bytes", bytes),
        ("small hold", &[("hold.capacity", "8"), ("hold.max_hold", "300us")][..]),
    ];
    let mut failed = 0;
    for (name, sets) in variants {
        let (rtl, rust) = (run(&text, "abq-rtl", sets)?, run(&text, "abq", sets)?);
        println!("{name}, abq-rtl: {}", figures(&rtl));
        println!("{name}, abq:     {}", figures(&rust));
        failed += u32::from(figures(&rtl) != figures(&rust) || rtl.ports.len() != rust.ports.len());
    }
    let nothing_held = ("hold.threshold", "1000pkt");
    let without = run(&text, "abq", &[nothing_held, ("hold.floor", "4pkt")])?;
    println!("K never reached: {}", figures(&without));
    println!("{} passed, {failed} failed", variants.len() as u32 - failed);
    Ok(ExitCode::from(u8::from(failed > 0)))
}
