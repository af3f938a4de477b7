//! Guests that fail, and runs that end in every way: what is said, and that nothing is left running.

mod common;

use common::{Wire, one_flow, setup};
use leafspine_linux::fleet::BOOTED;
use leafspine_linux::orders::{Order, Report};
use leafspine_linux::{Fleet, LinuxError, Setup};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);

/// Something that is no kernel.
fn impostor(script: &str) -> (tempfile::TempDir, Setup) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("kernel");
    std::fs::write(&kernel, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&kernel, PermissionsExt::from_mode(0o755)).unwrap();
    let files = PathBuf::from("/dev/null");
    let (congestion, sysctl) = (None, Vec::new());
    let setup =
        Setup { kernel, files, guests: 2, seed: 1, mtu: 1500, congestion, sysctl, memory_mib: 64 };
    (folder, setup)
}

/// Breaks if a kernel that does not boot is waited for, or its last words are lost.
#[test]
fn one_that_cannot_boot() {
    let (_folder, setup) = impostor("echo first; echo last words >&2; exit 3");
    let error = Fleet::boot(&setup, &Arc::default()).unwrap_err().to_string();
    assert!(error.contains("host0 (Linux) has ended (exit status: 3)"), "{error}");
    assert!(error.ends_with("first\nlast words"), "{error}");
}

/// Breaks if somebody who asks for an end has to wait for a guest that says nothing.
#[test]
fn one_that_says_nothing_is_not_waited_for() {
    let (_folder, setup) = impostor("sleep 1000");
    let cancel = Arc::new(AtomicBool::new(false));
    let (flag, begin) = (Arc::clone(&cancel), Instant::now());
    let asks = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        flag.store(true, Ordering::Relaxed);
    });
    assert!(matches!(Fleet::boot(&setup, &cancel), Err(LinuxError::Cancelled)));
    assert!(begin.elapsed() < LONG);
    asks.join().unwrap();
}

/// Breaks if a setting that the kernel does not have is passed over.
#[test]
fn one_that_cannot_be_set() {
    let Some(mut setup) = setup(1) else { return };
    setup.congestion = Some("vegas".to_owned());
    let error = Fleet::boot(&setup, &Arc::default()).unwrap_err().to_string();
    assert!(error.contains("net.ipv4.tcp_congestion_control: No such file"), "{error}");
    setup.congestion = None;
    setup.sysctl = vec![("net.ipv4.tcp_rto_min".to_owned(), "5".to_owned())];
    let error = Fleet::boot(&setup, &Arc::default()).unwrap_err().to_string();
    assert!(error.contains("host0 (Linux) reports: net.ipv4.tcp_rto_min: No such file"), "{error}");
}

fn alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// All processes of these guests that are alive: a guest's kernel leads a group, in which its programs are.
fn left(guests: &[u32]) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    let of_a_guest = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let group = rest.split_whitespace().nth(2).and_then(|group| group.parse().ok());
        group.is_some_and(|group| guests.contains(&group)) && alive(*id)
    };
    ids.filter(of_a_guest).collect()
}

fn wait_until_none_is_left(guests: &[u32]) {
    let begin = Instant::now();
    while !left(guests).is_empty() {
        assert!(begin.elapsed() < LONG, "{:?} of {guests:?} are left", left(guests));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill(process: u32, signal: &str) {
    let status = Command::new("kill").args([signal, &process.to_string()]).status().unwrap();
    assert!(status.success());
}

/// A flow under way, and what is done to its sender's kernel in the middle.
fn disturbed(what: impl FnOnce(&mut Fleet)) -> Option<(LinuxError, Vec<u32>)> {
    let mut fleet = Fleet::boot(&setup(1)?, &Arc::default()).unwrap();
    let (mut wire, flow) = (Wire::new(10_000), |peer| one_flow(peer, 100_000_000));
    fleet.order(1, BOOTED, &Order::Expect(flow(0)));
    fleet.order(0, BOOTED, &Order::Start(flow(1)));
    let guests = fleet.processes();
    let error = wire.run_until(&mut fleet, BOOTED + 1_000_000).err();
    assert!(error.is_none() && left(&guests).len() > 2, "{error:?}");
    what(&mut fleet);
    let error = wire.run_until(&mut fleet, BOOTED + 10_000_000_000).unwrap_err();
    drop(fleet);
    wait_until_none_is_left(&guests);
    Some((error, guests))
}

/// Breaks if a run goes on without a guest that has died, or does not say what it wrote last.
#[test]
fn one_that_dies() {
    let dies = |fleet: &mut Fleet| kill(fleet.processes()[0], "-KILL");
    let Some((error, _)) = disturbed(dies) else { return };
    let error = error.to_string();
    assert!(error.contains("host0 (Linux) has ended (signal: 9 (SIGKILL))"), "{error}");
    assert!(error.contains("Run /init as init process"), "{error}");
}

/// Breaks if a guest that hangs is waited for for ever, or lives on.
#[test]
fn one_that_hangs() {
    let hangs = |fleet: &mut Fleet| {
        fleet.set_patience(Duration::from_millis(500));
        kill(fleet.processes()[1], "-STOP");
    };
    let Some((error, _)) = disturbed(hangs) else { return };
    assert!(matches!(error, LinuxError::Hangs { .. }), "{error}");
    assert!(error.to_string().contains("host1 (Linux) has not answered"), "{error}");
}

/// A flow that cannot come: nobody was told to expect it.
#[test]
fn one_that_reports_a_failure() {
    let Some(setup) = setup(1) else { return };
    let mut fleet = Fleet::boot(&setup, &Arc::default()).unwrap();
    let mut wire = Wire::new(10_000);
    fleet.order(0, BOOTED, &Order::Start(one_flow(1, 1000)));
    wire.run_until(&mut fleet, BOOTED + 1_000_000).unwrap();
    let failed = wire.reports.iter().find_map(|(_, guest, report)| match report {
        Report::Failed(_, what) => Some((*guest, what.as_str())),
        _ => None,
    });
    let (guest, what) = failed.expect("a report");
    assert!(guest == 1 && what.contains("a connection that nobody announced"), "{what}");
}

/// Runs one of the programs below as a process of its own, and gives its guests' processes.
fn program(name: &str) -> Option<(Child, Vec<u32>)> {
    setup(1)?;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", name, "--nocapture", "--test-threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let guests = lines.find_map(|line| Some(line.split_once("guests ")?.1.to_owned())).unwrap();
    let guests: Vec<u32> = guests.split(' ').map(|process| process.parse().unwrap()).collect();
    assert!(left(&guests).len() >= guests.len());
    Some((child, guests))
}

fn boot_and_tell() -> Fleet {
    let fleet = Fleet::boot(&setup(1).unwrap(), &Arc::default()).unwrap();
    let guests: Vec<String> = fleet.processes().iter().map(u32::to_string).collect();
    println!("\nguests {}", guests.join(" "));
    fleet
}

#[test]
#[ignore = "a program for the tests below"]
fn waits_for_its_end() {
    let _fleet = boot_and_tell();
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
#[ignore = "a program for the tests below"]
fn panics() {
    let _fleet = boot_and_tell();
    std::thread::sleep(Duration::from_millis(300));
    panic!("on purpose");
}

/// Breaks if guests, or programs in them, outlive a run that is killed: not even kill -9 leaves one.
#[test]
fn killed_runs_leave_nothing_running() {
    for signal in ["-KILL", "-TERM", "-INT"] {
        let Some((mut child, guests)) = program("waits_for_its_end") else { return };
        kill(child.id(), signal);
        child.wait().unwrap();
        wait_until_none_is_left(&guests);
    }
}

/// Breaks if guests outlive a panic.
#[test]
fn panics_leave_nothing_running() {
    let Some((mut child, guests)) = program("panics") else { return };
    assert!(!child.wait().unwrap().success());
    wait_until_none_is_left(&guests);
    assert!(Path::new("/proc/self").exists());
}
