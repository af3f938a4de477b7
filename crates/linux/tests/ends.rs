//! Runs that end in every way: nothing of them is left running.
//!
//! How a process ends can only be watched from another one. So this test is its own `main` (`harness = false`):
//! called with the name of a program it is that program, and without it starts them.

mod common;

use common::{Wire, kill, left, setup, sleeper, wait_until_none_is_left};
use leafspine_linux::Fleet;
use leafspine_linux::fleet::BOOTED;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const WAITS: &str = "--waits-for-its-end";
const PANICS: &str = "--panics";

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some(WAITS) => waits(),
        Some(PANICS) => panics(),
        _ if setup(1).is_none() => {}
        _ => {
            killed_runs_leave_nothing_running();
            panics_leave_nothing_running();
            println!("ends: ok");
        }
    }
}

/// Breaks if guests, or programs in them, outlive a run that is killed: not even kill -9 leaves one.
fn killed_runs_leave_nothing_running() {
    for signal in ["-KILL", "-TERM", "-INT"] {
        let (mut child, guests) = program(WAITS);
        kill(child.id(), signal);
        child.wait().unwrap();
        wait_until_none_is_left(&guests);
    }
}

/// Breaks if guests outlive a panic that is caught, as it is in leafspine, whose process lives on.
fn panics_leave_nothing_running() {
    let (mut child, guests) = program(PANICS);
    wait_until_none_is_left(&guests);
    assert!(child.try_wait().unwrap().is_none(), "the process lives on");
    kill(child.id(), "-KILL");
    child.wait().unwrap();
}

/// Runs one of the programs below as a process of its own, and gives its guests' processes.
fn program(name: &str) -> (Child, Vec<u32>) {
    // Whoever was started by a shell in the background ignores Ctrl-C, and so would what it starts.
    let mut child = Command::new("env")
        .arg("--default-signal=INT")
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let guests: Vec<u32> = line.split_whitespace().map(|id| id.parse().unwrap()).collect();
    assert_eq!(guests.len(), 2, "{line}");
    // Besides the kernel and its first program each has what that program has started.
    assert!(left(&guests).len() > 2 * guests.len(), "{:?}", left(&guests));
    (child, guests)
}

fn boot_and_tell() -> Fleet {
    let mut fleet = Fleet::boot(&setup(1).unwrap(), &Arc::default()).unwrap();
    for guest in 0..2 {
        sleeper().orders(0).for_each(|order| fleet.order(guest, BOOTED, &order));
    }
    let mut wire = Wire::new(10_000);
    while let Some((at, guest)) = fleet.next()
        && at < BOOTED + 1_000_000_000
    {
        fleet.run(guest, at, &mut wire).unwrap();
    }
    let guests: Vec<String> = fleet.processes().iter().map(u32::to_string).collect();
    println!("{}", guests.join(" "));
    fleet
}

fn waits() {
    let _fleet = boot_and_tell();
    std::thread::sleep(Duration::from_secs(600));
}

fn panics() {
    let caught = std::panic::catch_unwind(|| {
        let _fleet = boot_and_tell();
        std::thread::sleep(Duration::from_millis(300));
        panic!("on purpose");
    });
    assert!(caught.is_err());
    std::thread::sleep(Duration::from_secs(600));
}
