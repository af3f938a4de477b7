//! Queue pairs in running fabrics.

mod common;

use common::*;
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::rdma::DcqcnSettings;
use leafspine_schemes::{Amount, Value};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// Breaks if a lone queue pair leaves a gap between two packets, or the line anything: it takes its ideal time to the
/// picosecond, over a fabric with flow control and over one without, at rates whose bytes take no whole picoseconds too.
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

/// Breaks if the queue pairs of a host do not take turns, or leave the line idle between them: four of 100 packets end one after
/// the other, the last when one of 400 would.
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

/// Breaks if whose turn it is hangs on when the card was asked: ports that foresee their departures ask it less often than those
/// that do not, and a queue pair that was ready before another once came behind it.
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

/// Breaks if senders to one host do not share its link: by flow control alone, which pauses each ingress in turn, and by DCQCN,
/// which also keeps the queue so short that hardly any pause is left.
#[test]
fn senders_share_a_link() {
    let kind = TopologyKind::Star { hosts: 9 };
    let senders: Vec<u16> = (0..8).collect();
    let of = |control: PairControl| {
        let flows = long_flows(8, 1 << 32, hosts(&senders), hosts(&[8]));
        let mut spec = pairs(kind.clone(), RoceSpec { control, ..roce() }, vec![flows]);
        spec.aqm = scheme("ecn-threshold");
        spec.run.until = Some(Time(60_000_000_000));
        run_alone(&spec)
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

/// A flow of 60,000 packets over links that lose a share of all packets, data and answers: what arrives, as a share of what the line carries.
fn goodput(recovery: Recovery, loss: f64, timeout: Span) -> f64 {
    let packets = 60_000;
    let flow = long_flows(1, 1000 * packets, hosts(&[0]), hosts(&[1]));
    let roce = RoceSpec { recovery, timeout, max_timeout: timeout, ..roce() };
    let mut spec = pairs(TopologyKind::Star { hosts: 2 }, roce, vec![flow]);
    (spec.switch.pfc, spec.switch.shared) = (None, None);
    spec.switch.buffer = Amount::Packets(1000);
    spec.transport.min_rto = timeout;
    spec.transport.max_rto = timeout;
    spec.topology.host_link.loss = loss;
    let output = run_alone(&spec);
    packets as f64 * LINE / output.flows.fct_ps[0] as f64
}

/// How long a packet of 1,050 bytes keeps a line of 10 Gb/s, ps: the slot in which the closed forms count.
const LINE: f64 = 840_000.0;

/// The round trip in slots: a packet on two links, an answer of 54 bytes on two, four delays of 1 us.
const ROUND_TRIP: f64 = 2.0 + (2.0 * 43_200.0 + 4_000_000.0) / LINE;

/// A packet, or an answer, that passes two links is lost with this probability.
fn lost(loss: f64) -> f64 {
    1.0 - (1.0 - loss) * (1.0 - loss)
}

/// How often IRN sends a packet, if the oldest one that is missing always holds the rest back, so that nothing of what comes is
/// acknowledged but by its own NAK.
///
/// A packet is lost with `q`. It is known to have come if its NAK comes, too: it is not with `u = 1 - (1 - q)^2`. So it is sent, with
/// `u` again in the same recovery, and at each timeout if nothing has told of it yet (`u^k` after `k` times). That goes on while the
/// oldest missing packet is not beyond it: it is truly missing, `q^k`, or one before it is. Of the `n` packets that are sent between two
/// timeouts `n q^k` miss after `k` times, of older ones `n q^(k+1) / (1 - q)`, Poisson; none of them before a packet anywhere in its
/// `n` with `e^(-older) (1 - e^-own) / own`. And a timeout sends again what is on its way, a round trip of packets in each `n`.
///
/// Where answers are not lost, or nothing is missing mostly, it is `1 / (1 - q)`.
fn sent_by_irn(q: f64, n: f64) -> f64 {
    let unknown = 1.0 - (1.0 - q) * (1.0 - q);
    let later: f64 = (2..40)
        .map(|k| {
            let (own, older) = (n * q.powi(k), n * q.powi(k + 1) / (1.0 - q));
            let held = 1.0 - (-older).exp() * (1.0 - (-own).exp()) / own;
            q.powi(k) + (unknown.powi(k) - q.powi(k)) * held
        })
        .sum();
    1.0 + unknown + later + ROUND_TRIP * (1.0 - unknown) / n
}

/// Breaks if IRN sends again what it has been told of, tells of a packet that comes once more by anything but a NAK, or leaves the
/// line idle while there is something to send.
#[test]
fn irn_loses_what_the_links_lose() {
    let timeout = Span::from_micros(320);
    let slots = 320_000_000.0 / LINE;
    for (loss, sent, within) in [
        (0.001, 1.0 / (1.0 - lost(0.001)), 0.001),
        (0.01, 1.0 / (1.0 - lost(0.01)), 0.01),
        (0.05, sent_by_irn(lost(0.05), slots), 0.02),
        (0.1, sent_by_irn(lost(0.1), slots), 0.02),
    ] {
        let found = goodput(IRN, loss, timeout);
        assert!((found * sent - 1.0).abs() < within, "{loss}: {found} {}", 1.0 / sent);
    }
}

/// Of go-back-N a lost packet (`q`) costs the time until it is sent again and comes. The first packet after it that comes, the
/// `1 / (1 - q)`th on average, causes a NAK, which is there a round trip after that packet's start; it is sent again when the line is
/// free, at a whole slot. If the NAK is lost, or the packet once more, nobody tells: the timeout passes since the last news, the ACK of
/// the packet before, which came a round trip after its own start. Then the packet is sent at each timeout until it comes.
///
/// Breaks if a sender does not begin again at once, goes on after a gap as if nothing were, or if a timeout does not count from the last
/// progress.
#[test]
fn go_back_n_loses_a_round_trip_with_each_packet() {
    for (loss, within) in [(0.001, 0.001), (0.01, 0.02), (0.1, 0.02)] {
        let found = goodput(Recovery::GoBackN, loss, Span::from_micros(100));
        let q = lost(loss);
        let told = 1.0 / (1.0 - q) + ROUND_TRIP.ceil();
        let timeout = 100_000_000.0 / LINE;
        let untold = (timeout + ROUND_TRIP - 1.0).ceil() + q / (1.0 - q) * timeout;
        let cost = (1.0 - q) * ((1.0 - q) * told + q * untold) + q * untold;
        let expected = 1.0 / (1.0 + q * cost);
        assert!((found / expected - 1.0).abs() < within, "{loss}: {found} {expected}");
    }
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
