//! Has Verilator make C++ of the RTL, and compiles it with `src/shim.cpp`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn run(command: &mut Command) {
    let done = command.status().unwrap_or_else(|error| {
        panic!("{command:?} does not start ({error}): make hardware-tools installs it")
    });
    assert!(done.success(), "{command:?} failed");
}

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by Cargo"));
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by Cargo"));
    // Elsewhere for mutants of it.
    let own = here.parent().expect("hardware/abq").join("rtl");
    let rtl = env::var_os("ABQ_RTL").map_or(own, PathBuf::from);
    println!("cargo::rerun-if-env-changed=ABQ_RTL");
    println!("cargo::rerun-if-changed={}", rtl.display());
    println!("cargo::rerun-if-changed=src/shim.cpp");
    let mut sources: Vec<_> = fs::read_dir(&rtl)
        .expect("the RTL is beside this crate")
        .map(|entry| entry.expect("a file of the RTL").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "sv"))
        .collect();
    sources.sort();
    for (top, parameters) in [
        ("abq_switch", &["-GCAPACITY=30", "-GQUEUE_WORDS=2048", "-GQUEUE_PACKETS=64"][..]),
        ("abq_state", &["-GQUEUE_W=32"]),
    ] {
        // Warnings are for the lint, what formal.py proves is for it.
        run(Command::new("verilator")
            .args(["--cc", "--assert", "-O3", "-Wno-fatal", "--top-module", top, "--Mdir"])
            .arg(&out)
            .args(parameters)
            .args(&sources));
        run(Command::new("make")
            .args(["-s", "-C"])
            .arg(&out)
            .args(["-f", &format!("V{top}.mk")])
            .env("OPT_FAST", "-O2"));
        println!("cargo::rustc-link-lib=static:+verbatim=V{top}__ALL.a");
    }
    shim(&here, &out);
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static=shim");
    println!("cargo::rustc-link-lib=dylib=stdc++");
}

/// The C interface, with what all of Verilator's models share.
fn shim(here: &Path, out: &Path) {
    let root = Command::new("verilator").args(["--getenv", "VERILATOR_ROOT"]).output();
    let root = String::from_utf8(root.expect("it has just run").stdout).expect("a path");
    let include = Path::new(root.trim()).join("include");
    let objects = ["shim.o", "verilated.o", "verilated_threads.o"].map(|name| out.join(name));
    let sources = [
        here.join("src/shim.cpp"),
        include.join("verilated.cpp"),
        include.join("verilated_threads.cpp"),
    ];
    for (source, object) in sources.iter().zip(&objects) {
        run(Command::new("c++")
            .args(["-std=c++17", "-O2", "-fPIC", "-c", "-o"])
            .arg(object)
            .arg(source)
            .arg(format!("-I{}", out.display()))
            .arg(format!("-I{}", include.display()))
            .arg(format!("-I{}", include.join("vltstd").display())));
    }
    let library = out.join("libshim.a");
    let _ = fs::remove_file(&library);
    run(Command::new("ar").arg("rcs").arg(&library).args(&objects));
}
