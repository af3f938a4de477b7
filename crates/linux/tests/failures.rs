//! Guests that fail: what is said, and that nothing is left running. How runs end is in `ends.rs`.

mod common;

use common::{LONG, Wire, kill, left, one_flow, setup, wait_until_none_is_left};
use leafspine_linux::fleet::BOOTED;
use leafspine_linux::orders::{Order, Report};
use leafspine_linux::{Fleet, LinuxError, Setup};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Something that is no kernel.
fn impostor(script: &str) -> (tempfile::TempDir, Setup) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("kernel");
    std::fs::write(&kernel, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&kernel, PermissionsExt::from_mode(0o755)).unwrap();
    let files = PathBuf::from("/dev/null");
    let (congestion, sysctl) = (None, Vec::new());
    let setup = Setup {
        kernel,
        files,
        guests: 2,
        seed: 1,
        mtu: 1500,
        congestion,
        sysctl,
        touched: 32 << 20,
        memory_mib: 64,
        interrupt_gap: 0,
    };
    (folder, setup)
}

/// Breaks if a kernel that does not boot is waited for, or its last words are lost.
#[test]
fn one_that_cannot_boot() {
    let (_folder, setup) = impostor("echo first; echo last words >&2; exit 3");
    let error = Fleet::boot(&setup, &Arc::default()).unwrap_err().to_string();
    assert!(error.contains("host0 (Linux) has ended (exit status: 3)"), "{error}");
    assert!(error.ends_with("first | last words"), "{error}");
}

/// Breaks if a real kernel that finds nothing to run is waited for, or does not say so.
#[test]
fn one_without_files() {
    let Some(mut setup) = setup(1) else { return };
    setup.files = PathBuf::from("/dev/null");
    let error = Fleet::boot(&setup, &Arc::default()).unwrap_err();
    assert!(matches!(error, LinuxError::Died { .. }), "{error}");
    assert!(error.to_string().contains("Kernel panic"), "{error}");
}

/// Breaks if a guest whose first program ends, as one does that the CPU's registers do not fit, is waited for.
#[test]
fn one_whose_first_program_ends() {
    let Some(mut setup) = setup(1) else { return };
    // More than a kernel takes: nothing of it is the guest's.
    setup.mtu = 40;
    let error = Fleet::boot(&setup, &Arc::default()).unwrap_err();
    assert!(matches!(error, LinuxError::Died { .. }), "{error}");
    assert!(error.to_string().contains("leafspine: MTU: Invalid argument"), "{error}");
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

/// Breaks if a setting that the kernel does not have is passed over, or is not told from other failures.
#[test]
fn one_that_cannot_be_set() {
    let Some(mut setup) = setup(1) else { return };
    let refused = |setup: &Setup| {
        let error = Fleet::boot(setup, &Arc::default()).unwrap_err();
        assert!(matches!(error, LinuxError::Refused { .. }), "{error:?}");
        error.to_string()
    };
    setup.congestion = Some("vegas".to_owned());
    assert_eq!(
        refused(&setup),
        "host0 (Linux) does not take net.ipv4.tcp_congestion_control = vegas: No such file or directory"
    );
    setup.congestion = None;
    setup.sysctl = vec![("net.ipv4.tcp_rto_min".to_owned(), "5".to_owned())];
    assert_eq!(
        refused(&setup),
        "host0 (Linux) does not take net.ipv4.tcp_rto_min = 5: No such file or directory"
    );
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

/// Breaks if a guest that hangs is waited for for ever, lives on, or if its last lines are lost.
#[test]
fn one_that_hangs() {
    let hangs = |fleet: &mut Fleet| {
        fleet.set_patience(Duration::from_millis(500));
        kill(fleet.processes()[1], "-STOP");
    };
    let Some((error, _)) = disturbed(hangs) else { return };
    assert!(matches!(error, LinuxError::Hangs { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("host1 (Linux) has not answered"), "{error}");
    assert!(error.contains("Run /init as init process"), "{error}");
}

/// A flow that cannot come: its receiver was not announced.
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
