//! Real kernels, where `make linux` has built one: without, these tests say so and pass.

use leafspine_linux::fleet::BOOTED;
use leafspine_linux::frame::Segment;
use leafspine_linux::orders::{FlowOrder, Order, Report};
use leafspine_linux::{Fleet, Happening, Outside, Setup};
use std::path::Path;

/// A wire between two guests: every frame takes so long.
struct Wire {
    delay: u64,
    /// When, from whom, bytes.
    under_way: Vec<(u64, u16, Vec<u8>)>,
    left: Vec<(u16, u64, u16)>,
    reports: Vec<(u64, u16, Report)>,
    hash: u64,
    frames: u64,
}

impl Wire {
    fn new(delay: u64) -> Wire {
        let (under_way, left, reports) = Default::default();
        Wire { delay, under_way, left, reports, hash: 0, frames: 0 }
    }
}

impl Outside for Wire {
    fn happened(&mut self, guest: u16, at: u64, what: Happening) {
        match what {
            Happening::Frame { token, bytes } => {
                for word in
                    [at, u64::from(guest)].into_iter().chain(bytes.iter().map(|b| u64::from(*b)))
                {
                    self.hash =
                        (self.hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                }
                self.frames += 1;
                self.left.push((guest, at, token));
                self.under_way.push((at + self.delay, guest, bytes));
            }
            Happening::Report(report) => self.reports.push((at, guest, report)),
        }
    }

    fn next(&self) -> u64 {
        self.under_way.iter().map(|(at, ..)| *at).min().unwrap_or(u64::MAX)
    }

    fn left(&mut self, note: &mut dyn FnMut(u16, u64, u16)) {
        self.left.drain(..).for_each(|(guest, at, token)| note(guest, at, token));
    }
}

fn setup(seed: u64) -> Option<Setup> {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = target.map_or(own, Into::into).join("linux");
    match Setup::find(&folder) {
        Ok((kernel, files)) => Some(Setup {
            kernel,
            files,
            guests: 2,
            seed,
            mtu: 1500,
            congestion: None,
            sysctl: Vec::new(),
            memory_mib: 64,
        }),
        Err(error) => {
            eprintln!("not tested: {error}");
            None
        }
    }
}

/// Runs until nothing more is under way and both ends have reported.
fn run(fleet: &mut Fleet, wire: &mut Wire, reports: usize) {
    while wire.reports.len() < reports {
        let failed = wire.reports.iter().find(|(.., report)| matches!(report, Report::Failed(..)));
        assert_eq!(failed, None);
        assert!(
            fleet.next().is_none_or(|(at, _)| at < BOOTED + 60_000_000_000),
            "a minute has passed"
        );
        let guest = fleet.next();
        let next = wire.next();
        match guest {
            Some((at, guest)) if at < next => fleet.run(guest, at, wire).expect("it runs"),
            _ => {
                assert!(next < u64::MAX, "nothing happens any more: {:?}", wire.reports);
                let first = wire.under_way.iter().position(|(at, ..)| *at == next).unwrap();
                let (at, from, bytes) = wire.under_way.remove(first);
                fleet.deliver(1 - from, at, bytes);
            }
        }
    }
}

fn one_flow(seed: u64, bytes: u64) -> Option<Wire> {
    let setup = setup(seed)?;
    let mut fleet = Fleet::boot(&setup).unwrap_or_else(|error| panic!("{error}"));
    let mut wire = Wire::new(10_000);
    let flow = |peer| FlowOrder { number: 7, peer: [10, 0, 0, peer], port: 1024, bytes };
    fleet.order(1, BOOTED, &Order::Expect(flow(0)));
    fleet.order(0, BOOTED, &Order::Start(flow(1)));
    run(&mut fleet, &mut wire, 2);
    Some(wire)
}

/// Breaks if a kernel does not boot, a flow does not arrive, or its bytes are others.
#[test]
fn a_flow_between_two_kernels() {
    let Some(wire) = one_flow(1, 1_000_000) else { return };
    let [(received, 1, Report::Received(7)), (_, 0, Report::Sent(7, info))] = &wire.reports[..]
    else {
        panic!("{:?}", wire.reports)
    };
    assert_eq!(info.retransmits, 0);
    // Slow start from ten segments over 20 us, and no line to share.
    let took = received - BOOTED;
    assert!((20_000..1_000_000).contains(&took), "{took} ns");
}

/// Breaks if anything of this machine leaks into a guest, or a seed does not.
#[test]
fn runs_repeat() {
    let Some(wire) = one_flow(1, 300_000) else { return };
    let again = one_flow(1, 300_000).expect("it is there");
    assert_eq!((wire.hash, wire.frames, &wire.reports), (again.hash, again.frames, &again.reports));
    let other = one_flow(2, 300_000).expect("it is there");
    assert_ne!(wire.hash, other.hash, "initial sequence numbers are of the seed");
    let _ = Segment::parse(&[]);
}
