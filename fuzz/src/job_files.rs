//! The files of jobs: GOAL schedules, as text or in binary, SimAI's workload text, Chakra's execution
//! traces. What is refused must say where in the file; what is read must become operations that can
//! end, the same each time.

use leafspine_sim::spec::{Algorithm, ChakraSpec, GoalSpec, HowSpec, JobKind, SimaiSpec, TimeUnit};
use leafspine_sim::workload::{WorkloadError, read_schedule};
use std::path::PathBuf;

/// Hosts of files that do not say how many ranks they have.
const HOSTS: u16 = 4;
/// More ranks become more operations than a fuzzer has time for.
const RANKS: u64 = 64;

/// The first byte says which kind of file the others are.
///
/// # Panics
/// If a reader does, or if it does not say where a file is wrong.
pub fn check(data: &[u8]) {
    let [kind, contents @ ..] = data else { return };
    let name = format!("leafspine-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a writable directory");
    let how = HowSpec { algorithm: Algorithm::Ring, channels: 1, chunk: None };
    let write = |name: &str, bytes: &[u8]| {
        let file = folder.join(name);
        std::fs::write(&file, bytes).expect("a writable directory");
        file
    };
    let what = match kind % 3 {
        0 => JobKind::Goal(GoalSpec { file: write("a.goal", contents), unit: TimeUnit::Ns }),
        1 => JobKind::Simai(SimaiSpec { file: write("a.txt", contents), unit: TimeUnit::Ns, how }),
        _ => {
            // Two ranks, which the text between them divides.
            let at = contents.windows(2).position(|two| two == b"\n\n").unwrap_or(contents.len());
            let (first, second) = contents.split_at(at);
            let second = second.get(2..).unwrap_or_default();
            let files = vec![write("a.0.et", first), write("a.1.et", second)];
            JobKind::Chakra(ChakraSpec { files, how })
        }
    };
    if kind % 3 != 1 || few_ranks(contents) {
        match (read_schedule(&what, HOSTS), read_schedule(&what, HOSTS)) {
            (Ok(one), Ok(other)) => assert_eq!(one, other),
            (Err(one), Err(other)) => {
                assert_eq!(one.to_string(), other.to_string());
                in_the_file(&one, contents, &folder);
                if kind % 3 == 0 && contents.first() == Some(&0x7f) {
                    at_a_byte(&one, contents);
                }
            }
            (one, other) => panic!("once {one:?}, then {other:?}"),
        }
    }
    std::fs::remove_dir_all(folder).expect("a directory of one's own");
}

/// Whether a workload text wants no more ranks than that.
fn few_ranks(contents: &[u8]) -> bool {
    let text = String::from_utf8_lossy(contents);
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if word.trim_end_matches(':') == "all_gpus" {
            let ranks = words.next().unwrap_or_default().trim_end_matches(".0");
            return ranks.parse().is_ok_and(|ranks: u64| ranks <= RANKS);
        }
    }
    true
}

/// An error names a file that is there, and a line of it if it names one.
fn in_the_file(error: &WorkloadError, contents: &[u8], folder: &PathBuf) {
    assert!(!error.found.is_empty() && !error.allowed.is_empty(), "{error}");
    if let Some(file) = &error.file {
        assert!(file.starts_with(folder), "{error}");
    }
    if let Some(line) = error.line {
        let lines = String::from_utf8_lossy(contents).lines().count() as u64;
        assert!(line <= lines, "{error}: of {lines} lines");
    }
}

/// An error of a binary schedule names a byte of it, or its end.
fn at_a_byte(error: &WorkloadError, contents: &[u8]) {
    let Some((_, at)) = error.found.rsplit_once(" at byte ") else { return };
    let at: usize = at.parse().unwrap_or_else(|_| panic!("{error}: no byte"));
    assert!(at <= contents.len(), "{error}: of {} bytes", contents.len());
}
