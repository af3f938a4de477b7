//! Queue pairs in running fabrics.

use crate::common::*;
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::rdma::DcqcnSettings;
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// Breaks if a lone queue pair leaves a gap between two packets, or the line anything: it takes its
/// ideal time to the picosecond, over a fabric with flow control and over one without, at rates
/// whose bytes take no whole picoseconds too.
#[test]
fn a_lone_queue_pair_has_the_line() {
    for (rate, control) in
        [(10_000, PairControl::LineRate), (100_000, by_dcqcn()), (300, PairControl::LineRate)]
    {
        for pfc in [true, false] {
            let flow = long_flows(1, 1_234_567, hosts(&[0]), hosts(&[5]));
            let roce = RoceSpec { control, ..roce() };
            let mut spec = pairs(leaf_spine(2, 2, 4), roce, vec![flow]);
            let link = link(Rate::from_mbps(rate), Span::from_micros(3));
            (spec.topology.host_link, spec.topology.fabric_link) = (link, link);
            if !pfc {
                (spec.switch.pfc, spec.switch.shared) = (None, None);
            }
            let output = run(&spec);
            assert_eq!(output.flows.fct_ps, output.flows.ideal_fct_ps, "{rate} Mb/s, {pfc}");
        }
    }
}

/// Breaks if the queue pairs of a host do not take turns, or leave the line idle between them: four
/// of 100 packets end one after the other, the last when one of 400 would.
#[test]
fn queue_pairs_of_a_host_take_turns() {
    let kind = TopologyKind::Star { hosts: 5 };
    let flows = |count, packets: u64| long_flows(count, 1000 * packets, hosts(&[0]), hosts(&[1]));
    let four = run(&pairs(kind.clone(), roce(), vec![flows(4, 100)]));
    let one = run(&pairs(kind, roce(), vec![flows(1, 400)]));
    let packet = 840_000;
    let last = one.flows.fct_ps[0];
    let ends: Vec<u64> = (0..4).map(|flow| last - (3 - flow) * packet).collect();
    assert_eq!(four.flows.fct_ps, ends);
}

/// Breaks if whose turn it is hangs on when the card was asked: ports that foresee their departures
/// ask it less often than those that do not, and a queue pair that was ready before another once
/// came behind it.
#[test]
fn turns_go_by_who_was_ready_first() {
    let control = DcqcnSettings {
        alpha_timer: Span::from_micros(60),
        increase_timer: Span::from_micros(90),
        g: 0.5,
        ..dcqcn()
    };
    let flows = fixed_flows(300, 6_000, 0.9);
    let mut spec = pairs(
        leaf_spine(3, 2, 2),
        RoceSpec { control: PairControl::Dcqcn(control), ..roce() },
        vec![flows],
    );
    spec.transport.mss = 100;
    spec.aqm = scheme("ecn-threshold");
    spec.aqm.params = spec.aqm.params.with("threshold", Value::Amount(Amount::Packets(5)));
    (spec.switch.pfc, spec.switch.shared) = (None, None);
    let foreseen = run(&spec);
    assert!(foreseen.counters.marks > 100, "rates differ: {:?}", foreseen.counters);
    spec.run.ports = PortModel::General;
    assert_eq!(run(&spec).flows.fct_ps, foreseen.flows.fct_ps);
}

/// Breaks if senders to one host do not share its link: by flow control alone, which pauses each
/// ingress in turn, and by DCQCN, which also keeps the queue so short that hardly any pause is
/// left.
#[test]
fn senders_share_a_link() {
    let kind = TopologyKind::Star { hosts: 9 };
    let senders: Vec<u16> = (0..8).collect();
    let of = |control: PairControl| {
        let flows = long_flows(8, 1 << 32, hosts(&senders), hosts(&[8]));
        let mut spec = pairs(kind.clone(), RoceSpec { control, ..roce() }, vec![flows]);
        spec.aqm = scheme("ecn-threshold");
        spec.run.until = Some(Time(60_000_000_000));
        run_long(&spec)
    };
    let (plain, controlled) = (of(PairControl::LineRate), of(by_dcqcn()));
    for (output, least) in [(&plain, 0.999), (&controlled, 0.9)] {
        let shares: Vec<f64> = output.flows.packets.iter().map(|n| f64::from(*n)).collect();
        assert!(jain(&shares) > least, "{shares:?}");
        assert_eq!((output.counters.dropped, output.counters.lossless_drops), ([0; 4], 0));
    }
    let paused = |output: &Output| output.ports.iter().map(|port| port.pause_ps).sum::<u64>();
    assert!(
        paused(&controlled) * 10 < paused(&plain),
        "{} {}",
        paused(&controlled),
        paused(&plain)
    );
}

/// Breaks if a recovery does not end with every byte once, whatever reorders or loses packets.
#[test]
fn every_balancer_carries_queue_pairs() {
    for info in leafspine_schemes::lb::ALL.iter().map(|entry| entry.info) {
        for recovery in [Recovery::GoBackN, IRN] {
            let flows = fixed_flows(60, 100_000, 0.7);
            let window = (recovery == IRN).then_some(30_000);
            let roce = RoceSpec { control: by_dcqcn(), recovery, window, ..roce() };
            let mut spec = pairs(leaf_spine(3, 3, 3), roce, vec![flows]);
            spec.aqm = scheme("ecn-threshold");
            spec.balancer = scheme(info.name);
            let entry = leafspine_schemes::registry::load_balancer(info.name).expect("one");
            spec.edge = entry.edge.map(edge);
            if spec.balancer.name == "aq-car" || entry.info.demands.queues > 1 {
                spec.switch.queues = 3;
                spec.switch.scheduler = SchedulerKind::Wrr;
                spec.switch.weights = vec![1; 3];
                spec.switch.stage_queues = vec![0, 1, 2];
                spec.switch.classifier = Classifier::Stage;
                spec.switch.pfc.as_mut().expect("on").lossless = 7;
            }
            let output = run(&spec);
            assert_eq!(output.counters.lossless_drops, 0, "{}", info.name);
        }
    }
}
