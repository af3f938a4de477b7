//! Every kept input of every fuzz target once more, on any compiler.

use leafspine_fuzz::TARGETS;
use std::path::{Path, PathBuf};

/// The kept inputs of a target, by name.
fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let entries = std::fs::read_dir(folder).expect("a corpus");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files
}

fn replay(target: &str) {
    let (_, check) = TARGETS.iter().find(|(name, _)| *name == target).expect("a target");
    let files = corpus(target);
    assert!(files.len() >= 10, "{target}: a corpus of {} inputs", files.len());
    for file in files {
        // What a failing input is called stands above its panic.
        println!("{}", file.display());
        check(&std::fs::read(&file).expect("readable"));
    }
}

/// Breaks if a text makes the scenario reader panic, or resolves to one that reads as another.
#[test]
fn scenario_toml() {
    replay("scenario_toml");
}

/// Breaks if a valid scenario panics, loses a packet, or is another run with probes or other ports.
#[test]
fn scenario_run() {
    replay("scenario_run");
}

/// Breaks if a scenario with queue pairs, a pipeline or a link that changes that was written by hand
/// is refused, and so tests nothing, or if there is none: once all with queue pairs were, for a key
/// of TCP's in what they override, and all with a link that changes, which they could not name.
#[test]
fn what_was_written_by_hand_is_run() {
    let is_run = |file: &&PathBuf| {
        leafspine_fuzz::scenario_run::is_run(&std::fs::read(file).expect("readable"))
    };
    let files = corpus("scenario_run");
    for what in ["roce", "pipeline", "flap", "link-down"] {
        let own = |file: &&PathBuf| file.to_string_lossy().contains(what);
        let (run, refused): (Vec<_>, Vec<_>) = files.iter().filter(own).partition(is_run);
        assert_eq!(refused, [] as [&PathBuf; 0]);
        assert!(!run.is_empty(), "{what}");
    }
}

/// Breaks if a CSV file is read as anything but what stands there.
#[test]
fn flow_csv() {
    replay("flow_csv");
}

/// Breaks if a text makes the reader of decision vectors panic.
#[test]
fn decision_vectors() {
    replay("decision_vectors");
}

/// Breaks if a packet with any header makes a scheme leave its bounds.
#[test]
fn packet_headers() {
    replay("packet_headers");
}

/// Breaks if a guest can make its host panic, or reach beyond its own memory.
#[test]
fn guest_messages() {
    replay("guest_messages");
}

/// Breaks if a schedule or a trace makes its reader panic, or is refused without its place.
#[test]
fn job_files() {
    replay("job_files");
}
