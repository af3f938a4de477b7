//! Has Verilator make C++ of the RTL, and compiles it with `src/shim.cpp`. With `ABQ_RTL=none` it
//! does nothing, for lints.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, thread};

/// A model's C++ class, its top module and its parameters, of which the data width is in the name.
const MODELS: [(&str, &str, &[&str]); 3] = [
    ("Vabq_switch_64", "abq_switch", &["-GDATA_W=64", "-GQUEUE_WORDS=2048"]),
    ("Vabq_switch_256", "abq_switch", &["-GDATA_W=256", "-GQUEUE_WORDS=512"]),
    ("Vabq_state", "abq_state", &["-GQUEUE_W=32"]),
];
/// Of both switches; `CAPACITY` in lib.rs.
const SWITCH: [&str; 2] = ["-GCAPACITY=30", "-GQUEUE_PACKETS=64"];

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
    println!("cargo::rerun-if-env-changed=ABQ_OPTIMISE");
    println!("cargo::rerun-if-changed=src/shim.cpp");
    if rtl == Path::new("none") {
        return;
    }
    println!("cargo::rerun-if-changed={}", rtl.display());
    let (from, to) = (&rtl, &out);
    thread::scope(|scope| {
        for model in MODELS {
            scope.spawn(move || verilate(model, from, to));
        }
    });
    for (name, ..) in MODELS {
        println!("cargo::rustc-link-lib=static:+verbatim={name}__ALL.a");
    }
    shim(&here, &out);
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static=shim");
    println!("cargo::rustc-link-lib=dylib=stdc++");
}

/// A library of one model. Its assertions are in it; warnings are for the lint.
fn verilate((name, top, parameters): (&str, &str, &[&str]), rtl: &Path, out: &Path) {
    // The package that others use, abq.sv, is the first.
    let mut sources: Vec<_> = fs::read_dir(rtl)
        .expect("the RTL is there")
        .map(|entry| entry.expect("a file of the RTL").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "sv"))
        .collect();
    sources.sort();
    let common: &[&str] = if top == "abq_switch" { &SWITCH } else { &[] };
    run(Command::new("verilator")
        .args(["--cc", "--assert", "-O3", "-Wno-fatal", "--top-module", top, "--prefix", name])
        .arg(format!("-I{}", rtl.display()))
        .arg("--Mdir")
        .arg(out)
        .args(parameters.iter().chain(common))
        .args(&sources));
    run(Command::new("make")
        .args(["-s", "-C"])
        .arg(out)
        .args(["-f", &format!("{name}.mk")])
        .env("OPT_FAST", env::var("ABQ_OPTIMISE").as_deref().unwrap_or("-O2")));
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
