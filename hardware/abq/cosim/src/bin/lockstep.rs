//! Random traffic through the RTL and the Rust scheme in lockstep.
//!
//! In every cycle the scheme, and the simulator's queue of held packets, are told what the RTL was
//! shown: ACKs that came in, times, and queues that have changed. What they decide must be what the
//! RTL has decided in that cycle. Frames that leave must be those that came, each once, in order,
//! or be counted as dropped. At last the registers must have counted what happened. Each seed runs
//! on both data widths. `--pcap DIR` leaves all frames as they went in and came out, for Scapy.

#[path = "lockstep/frames.rs"]
mod frames;
#[path = "lockstep/model.rs"]
mod model;
#[path = "lockstep/run.rs"]
mod run;

use abq_cosim::WIDTHS;
use run::{Totals, run};
use std::path::PathBuf;
use std::process::ExitCode;

struct Options {
    seeds: u64,
    packets: u32,
    pcap: Option<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seeds: 20, packets: 10_000, pcap: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} wants a value"))?;
        let number = value.parse::<u32>().map_err(|_| format!("{word}: {value} is no number"));
        match word.as_str() {
            "--seeds" => options.seeds = number?.into(),
            "--packets" => options.packets = number?,
            "--pcap" => options.pcap = Some(value.into()),
            _ => return Err(format!("found {word}; allowed: --seeds, --packets, --pcap")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("lockstep: {error}");
            return ExitCode::from(2);
        }
    };
    for width in WIDTHS {
        let mut all = Totals::default();
        for seed in 1..=options.seeds {
            match run(seed, width, options.packets, options.pcap.as_deref()) {
                Ok(totals) => all.add(&totals),
                Err(error) => {
                    eprintln!("lockstep: seed {seed}, {} bits: {error}", 8 * width);
                    return ExitCode::FAILURE;
                }
            }
        }
        println!("{} bits, {} seeds: {all}", 8 * width, options.seeds);
    }
    println!("{} passed, 0 failed", options.seeds * WIDTHS.len() as u64);
    ExitCode::SUCCESS
}
