//! A fingerprint of the sources that make up an engine: two engines of one version that were built
//! from other sources can be told apart.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let mut files = Vec::new();
    // All crates beside this one: those that end up in every engine, and the one that is only this.
    for entry in fs::read_dir("..").expect("the folder of all crates") {
        let folder = Path::new("..").join(entry.expect("a folder's entry").file_name());
        for part in ["Cargo.toml", "src", "data"] {
            collect(&folder.join(part), &mut files);
        }
    }
    files.sort();
    let mut hash = Fnv::new();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        hash.add(file.to_string_lossy().as_bytes());
        hash.add(&fs::read(file).expect("a source file"));
    }
    println!("cargo::rustc-env=LEAFSPINE_SOURCES={:016x}", hash.0);
}

/// The files at or below `path`. Folders are watched too: a new file has to be noticed.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
    } else if let Ok(entries) = fs::read_dir(path) {
        println!("cargo::rerun-if-changed={}", path.display());
        entries.for_each(|entry| collect(&entry.expect("a folder's entry").path(), files));
    }
}

/// FNV-1a with 64 bits: no dependency, the same everywhere.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        for byte in length.iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
