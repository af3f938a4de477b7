//! Hosts that are kernels, where `make linux` has built one: without, these tests say so and pass,
//! unless `LEAFSPINE_NEEDS` names `linux`.

mod common;

use common::{base, edge, fixed_flows, hosts, leaf_spine, long_flows, port, scheme};
use leafspine_core::{Rate, Span, Time};
use leafspine_schemes::{Amount, registry};
use leafspine_sim::spec::*;
use leafspine_sim::{Column, Output, Progress, Simulation, installed_linux};
use std::fmt::Display;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Kernels for hosts; `None` where there is no kernel.
fn kernels(congestion: &str) -> Option<HostsSpec> {
    match installed_linux() {
        Ok(installed) => Some(HostsSpec::Linux(LinuxSpec {
            kernel: installed.identity,
            congestion: congestion.to_owned(),
            ecn: false,
            sysctl: Vec::new(),
            interrupt_moderation: Span::ZERO,
        })),
        Err(error) => {
            not_tested(&error);
            None
        }
    }
}

/// Says so. Where a kernel has been built for these tests (.ci/run), one that passes without it
/// would hide what is wrong.
fn not_tested(why: &dyn Display) {
    let needs = std::env::var("LEAFSPINE_NEEDS").unwrap_or_default();
    assert!(needs.split_whitespace().all(|what| what != "linux"), "{why}");
    eprintln!("not tested: {why}");
}

/// Breaks if tests pass for want of a kernel where one has been built for them, or fail where nobody has built one.
#[test]
fn no_kernel_is_a_failure_where_one_is_needed() {
    let passes = |needs: Option<&str>| {
        let mut test = Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "a_lone_flow_fills_its_link"]);
        test.env("LEAFSPINE_LINUX_FOLDER", "/nowhere").env_remove("LEAFSPINE_LINUX");
        test.env_remove("LEAFSPINE_NEEDS");
        test.envs(needs.map(|needs| ("LEAFSPINE_NEEDS", needs)));
        test.output().unwrap().status.success()
    };
    assert!(passes(None) && passes(Some("tshark")) && !passes(Some("tshark linux")));
}

/// Two leaves and two spines at 1 Gb/s, two hosts a leaf, under the model's defaults of a kernel.
fn small(congestion: &str) -> Option<Spec> {
    let mut spec = base();
    let link = LinkSpec { rate: Rate::from_gbps(1), delay: Span::from_micros(5), loss: 0.0 };
    spec.topology.kind = leaf_spine(2, 2, 2);
    (spec.topology.host_link, spec.topology.fabric_link) = (link, link);
    (spec.transport.mss, spec.transport.header) = (1448, 52);
    spec.hosts = kernels(congestion)?;
    Some(spec)
}

/// A queue for each of three stages of a flow, which host edges tell.
fn by_stages(switch: &mut SwitchSpec) {
    (switch.queues, switch.weights) = (3, vec![1; 3]);
    (switch.classifier, switch.stage_queues) = (Classifier::Stage, vec![0, 1, 2]);
}

fn run(spec: &Spec) -> Output {
    let simulation = Simulation::new(spec).unwrap().checked();
    simulation.run(&Progress::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Breaks if a lone flow between two kernels takes another time than its bytes and headers do on the
/// slowest link, with the slow start from ten segments of a round trip of some 60 us before.
#[test]
fn a_lone_flow_fills_its_link() {
    let Some(mut spec) = small("cubic") else { return };
    spec.aqm = scheme("droptail");
    spec.workloads = vec![long_flows(1, 10_000_000, hosts(&[0]), hosts(&[2]))];
    let output = run(&spec);
    let (fct, ideal) = (output.flows.fct_ps[0] as f64, output.flows.ideal_fct_ps[0] as f64);
    assert!((1.0..1.01).contains(&(fct / ideal)), "{fct} ps, ideally {ideal}");
    assert_eq!((output.flows.retransmits[0], output.flows.packets[0]), (0, 6907));
    assert_eq!(output.counters.bytes_delivered, 10_000_000);
}

/// Breaks if a run with kernels does not repeat, or another seed gives the same one.
#[test]
fn runs_with_kernels_repeat() {
    let Some(mut spec) = small("dctcp") else { return };
    spec.workloads = vec![fixed_flows(40, 200_000, 0.6)];
    let (one, two) = (run(&spec), run(&spec));
    common::assert_same_packets(&one, &two);
    assert_eq!(one.flows.finished(), 40);
    assert!(one.counters.marks > 0, "{:?}", one.counters);
    spec.run.seed = 2;
    assert_ne!(run(&spec).trace_hash, one.trace_hash);
}

/// Breaks if how much of this machine others take gets into a run: it is the same beside as many
/// threads that never rest as there are CPUs, one of them on the CPU of leafspine and its kernels.
#[test]
fn runs_repeat_beside_other_work() {
    let Some(mut spec) = small("dctcp") else { return };
    spec.workloads = vec![fixed_flows(12, 100_000, 0.6)];
    let alone = run(&spec);
    let over = AtomicBool::new(false);
    let beside = std::thread::scope(|threads| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // Also if the run panics: the threads are waited for.
        let beside = std::panic::catch_unwind(|| run(&spec));
        over.store(true, Ordering::Relaxed);
        beside
    });
    common::assert_same_packets(&alone, &beside.expect("a run that ends"));
}

/// Breaks if a kernel is woken once for each thing that reaches it at an instant, and not once for
/// all: to start eight flows at once takes seven events more than to start one, and no turn of
/// either host's kernel.
#[test]
fn an_instant_is_one_turn_of_a_kernel() {
    let Some(mut spec) = small("cubic") else { return };
    // Before the first of them has sent anything.
    spec.run.until = Some(Time(1));
    let mut events = |flows| {
        spec.workloads = vec![long_flows(flows, 1_000, hosts(&[0]), hosts(&[2]))];
        run(&spec).counters.events
    };
    assert_eq!(events(8) - events(1), 7);
}

/// Breaks if a kernel whose frame leaves when another one arrives has a turn for each: over delays
/// of 6 us frames of 12 us each go and come in step, over 3 us they do not, which is all that
/// differs.
#[test]
fn what_leaves_and_what_comes_is_one_turn() {
    let Some(mut spec) = small("cubic") else { return };
    spec.topology.kind = TopologyKind::Star { hosts: 2 };
    spec.workloads = vec![long_flows(2, 300_000, hosts(&[0, 1]), hosts(&[1, 0]))];
    let mut of = |delay| {
        spec.topology.host_link.delay = Span::from_micros(delay);
        let counters = run(&spec).counters;
        (counters.sent, counters.events)
    };
    let ((sent, in_step), (also_sent, apart)) = (of(6), of(3));
    assert!(sent.abs_diff(also_sent) < sent / 20, "{sent} packets, {also_sent} packets");
    assert!(in_step + sent / 3 < apart, "{in_step} events, {apart} events, {sent} packets");
}

/// Breaks if a mark of a switch does not reach the kernels, or one that they do not understand is set:
/// DCTCP keeps the queue at the threshold, without a drop.
#[test]
fn marks_reach_kernels() {
    let Some(mut spec) = small("dctcp") else { return };
    spec.workloads = vec![long_flows(2, 5_000_000, hosts(&[0, 1]), hosts(&[2]))];
    let output = run(&spec);
    assert!(output.counters.marks > 10, "{:?}", output.counters);
    assert_eq!(output.counters.dropped, [0; 4]);
    let queue = port(&output, "leaf1-host2").queue_mean_packets;
    assert!((20.0..80.0).contains(&queue), "{queue} packets, marked from 65 on");
}

/// Breaks if a loss is not one for the kernel, or what it sends again is not counted: every drop is sent
/// again, and nothing else.
#[test]
fn losses_are_sent_again() {
    let Some(mut spec) = small("cubic") else { return };
    spec.aqm = scheme("droptail");
    spec.switch.buffer = Amount::Packets(30);
    spec.switch.host_ports = HostPorts::Unlimited;
    spec.workloads = vec![long_flows(2, 3_000_000, hosts(&[0, 1]), hosts(&[2]))];
    let output = run(&spec);
    let dropped: u64 = output.counters.dropped.iter().sum();
    let again: u32 = output.flows.retransmits.iter().sum();
    let spurious: u32 = output.flows.spurious_retransmits.iter().sum();
    assert!(
        dropped > 20 && u64::from(again - spurious) == dropped,
        "{dropped}, {again}, {spurious}"
    );
}

/// Breaks if interrupts are not moderated: receivers are then told of frames together, merge them (GRO) and acknowledge
/// less often; or if with it a flow no longer fills its link.
#[test]
fn interrupts_can_be_moderated() {
    let Some(mut spec) = small("cubic") else { return };
    spec.aqm = scheme("droptail");
    spec.workloads = vec![long_flows(1, 10_000_000, hosts(&[0]), hosts(&[2]))];
    let acks = |moderation| {
        let mut spec = spec.clone();
        let HostsSpec::Linux(linux) = &mut spec.hosts else { panic!("kernels") };
        linux.interrupt_moderation = moderation;
        let output = run(&spec);
        let slowdown = output.flows.fct_ps[0] as f64 / output.flows.ideal_fct_ps[0] as f64;
        assert!((1.0..1.02).contains(&slowdown), "{slowdown}");
        output.counters.sent - u64::from(output.flows.packets[0])
    };
    let (each, together) = (acks(Span::ZERO), acks(Span::from_micros(50)));
    assert!(2 * together < each, "{together} with moderation, {each} without");
}

/// Breaks if a probe's answers are another flow's, or of another time than it asked.
#[test]
fn kernels_tell_of_connections() {
    let Some(mut spec) = small("cubic") else { return };
    spec.aqm = scheme("droptail");
    spec.workloads = vec![long_flows(2, 2_000_000, hosts(&[0, 1]), hosts(&[2]))];
    let probe = |kind, name: &str| ProbeSpec {
        kind,
        ports: String::new(),
        flows: vec![1],
        every: Span::from_millis(1),
        name: name.to_owned(),
    };
    spec.probes = vec![probe(ProbeKind::TcpInfo, "info"), probe(ProbeKind::Window, "window")];
    let output = run(&spec);
    let column = |probe: usize, name: &str| {
        let columns = &output.probes[probe].columns;
        match &columns.iter().find(|(column, _)| *column == name).expect("a column").1 {
            Column::U64(values) => values.clone(),
            Column::U32(values) => values.iter().map(|value| u64::from(*value)).collect(),
            other => panic!("{other:?}"),
        }
    };
    let (times, windows) = (column(0, "time_ps"), column(0, "cwnd"));
    assert!(times.len() > 10 && times.iter().all(|time| time % 1_000_000_000 == 0), "{times:?}");
    assert!(column(0, "flow").iter().all(|flow| *flow == 1));
    // Before the connection stands the kernel has a guess.
    assert_eq!(column(0, "mss")[1..], vec![1448; times.len() - 1]);
    assert!(windows.last() > windows.first());
    // The handshake has the shortest: 40 us of links, and 60 bytes over each of eight.
    let (trips, least) = (column(0, "srtt_us"), column(0, "min_rtt_us"));
    assert!(trips[2..].iter().zip(&least[2..]).all(|(srtt, least)| srtt >= least), "{trips:?}");
    assert!(least[1..].iter().all(|least| (43..46).contains(least)), "{least:?}");
    let sent_again = column(0, "retransmits");
    assert_eq!(sent_again.last().copied(), Some(u64::from(output.flows.retransmits[1])));
    let bytes: Vec<u64> =
        windows.iter().zip(column(0, "mss")).map(|(window, mss)| window * mss).collect();
    assert_eq!((column(1, "time_ps"), column(1, "window_bytes")), (times, bytes));
}

/// Breaks if a run that is given an end goes on, or what kernels know of flows under way is lost with it.
#[test]
fn a_run_ends_when_it_is_told() {
    let Some(mut spec) = small("cubic") else { return };
    spec.workloads = vec![long_flows(1, 1_000_000_000, hosts(&[0]), hosts(&[2]))];
    spec.run.until = Some(Time(20_000_000_000));
    let output = run(&spec);
    assert_eq!((output.end, output.flows.finished()), (Time(20_000_000_000), 0));
    assert!(output.flows.packets[0] > 1_000);
}

/// Breaks if a balancer does not work with the frames of kernels: flows do not finish, are all sent
/// over one of two uplinks, or go as ECMP has them go. Uplinks of one weight are ECMP's to WCMP,
/// and so is what nobody has given a path.
#[test]
fn every_balancer_works_under_kernels() {
    let Some(mut spec) = small("dctcp") else { return };
    spec.workloads = vec![long_flows(12, 100_000, hosts(&[0, 1]), hosts(&[2, 3]))];
    let mut ecmp = None;
    for entry in registry::load_balancers() {
        let name = entry.info.name;
        let mut spec = spec.clone();
        (spec.balancer, spec.edge) = (scheme(name), entry.edge.map(edge));
        if name == "aq-car" {
            by_stages(&mut spec.switch);
        }
        let output = run(&spec);
        assert_eq!(output.flows.finished(), 12, "{name}");
        let [one, other] =
            ["leaf0-spine0", "leaf0-spine1"].map(|uplink| port(&output, uplink).bytes);
        assert!(one.min(other) > 100_000, "{name} sends {one} and {other} bytes");
        let ecmp = *ecmp.get_or_insert(output.trace_hash);
        let as_ecmp = ["ecmp", "wcmp", "pinned"].contains(&name);
        assert_eq!(output.trace_hash == ecmp, as_ecmp, "{name}");
    }
}

/// Breaks if a queue manager does nothing to the frames of kernels, or they do not heed it: each
/// marks (kernels that know ECN) or drops (those that do not), and its queue is shorter than
/// drop-tail's.
#[test]
fn every_queue_manager_works_under_kernels() {
    let Some(mut spec) = small("cubic") else { return };
    spec.topology.kind = TopologyKind::Star { hosts: 3 };
    spec.workloads = vec![long_flows(2, 2_000_000, HostSet::Rest, HostSet::First(1))];
    let of = |name: &str, ecn: bool| {
        let mut spec = spec.clone();
        let HostsSpec::Linux(linux) = &mut spec.hosts else { panic!("kernels") };
        linux.ecn = ecn;
        spec.aqm = scheme(name);
        if name == "ml-ecn" {
            by_stages(&mut spec.switch);
            spec.edge = Some(edge("aq-car"));
        }
        let output = run(&spec);
        assert_eq!(output.flows.finished(), 2, "{name}");
        let [buffer_full, dropped, ..] = output.counters.dropped;
        assert_eq!(buffer_full, 0, "{name}");
        (output.counters.marks, dropped, port(&output, "switch0-host0").queue_mean_packets)
    };
    let (marks, dropped, longest) = of("droptail", true);
    assert_eq!((marks, dropped), (0, 0));
    let others = registry::queue_managers().map(|entry| entry.info.name);
    let marking = others.filter(|name| *name != "droptail").map(|name| (name, true));
    for (name, ecn) in marking.chain([("red", false), ("codel", false)]) {
        let (marks, dropped, queue) = of(name, ecn);
        let (does, does_not) = if ecn { (marks, dropped) } else { (dropped, marks) };
        assert!(does > 50 && does_not == 0, "{name}, ECN {ecn}: {marks} marks, {dropped} drops");
        assert!(queue < 0.5 * longest, "{name}, ECN {ecn}: {queue} packets wait, not {longest}");
    }
}

/// Breaks if what host edges write, or ACKs that a switch holds and sets ECE on, do not work with
/// the frames of kernels: each has to show in the result.
#[test]
fn edges_and_holds_work_under_kernels() {
    let Some(mut spec) = small("dctcp") else { return };
    let of = |spec: &Spec| {
        let output = run(spec);
        assert_eq!(
            output.flows.finished(),
            output.flows.fct_ps.len() as u64,
            "{:?}",
            spec.balancer
        );
        output
    };
    spec.workloads = vec![long_flows(4, 1_000_000, hosts(&[0, 1]), hosts(&[2, 3]))];
    // Host edges that go by packets alone: what they write sends packets to another queue or by another way.
    by_stages(&mut spec.switch);
    for (name, balancer) in
        [("stage", "ecmp"), ("aq-car", "aq-car"), ("presto", "presto"), ("oblivious", "ecmp")]
    {
        (spec.balancer, spec.edge) = (scheme(balancer), None);
        let without = of(&spec).trace_hash;
        spec.edge = Some(edge(name));
        assert_ne!(of(&spec).trace_hash, without, "{name} does nothing");
    }
    // A long queue at the one receiver's port: its ACKs are held there, and with them the senders.
    let mut spec = small("cubic").expect("there is a kernel");
    let HostsSpec::Linux(linux) = &mut spec.hosts else { panic!("kernels") };
    linux.ecn = true;
    spec.aqm = scheme("droptail");
    spec.topology.kind = TopologyKind::Star { hosts: 9 };
    spec.workloads = vec![long_flows(8, 400_000, HostSet::Rest, HostSet::First(1))];
    let queue = |spec: &Spec| port(&of(spec), "switch0-host0").queue_mean_packets;
    let without = queue(&spec);
    spec.hold = Some(scheme("abq"));
    let with = queue(&spec);
    assert!(with < 0.7 * without, "{with} packets wait with ABQ, {without} without");
}

/// Breaks if an edge that goes by nothing does not spray what a kernel sends: a lone flow then has
/// one uplink, as it has with ECMP. Its ACKs are a kernel's, which nobody hands to the edge, and
/// have one in any case.
#[test]
fn kernels_packets_are_sprayed() {
    let Some(mut spec) = small("cubic") else { return };
    spec.aqm = scheme("droptail");
    spec.workloads = vec![long_flows(1, 1_000_000, hosts(&[0]), hosts(&[2]))];
    let mut least = |name: Option<&str>| {
        spec.edge = name.map(edge);
        let output = run(&spec);
        assert_eq!(output.flows.finished(), 1);
        let sent = |links: [&str; 2]| links.map(|link| port(&output, link).bytes);
        let [data, acks] = [["leaf0-spine0", "leaf0-spine1"], ["leaf1-spine0", "leaf1-spine1"]]
            .map(sent)
            .map(|[one, other]| one.min(other));
        (data, acks)
    };
    assert_eq!(least(None), (0, 0));
    let (data, acks) = least(Some("oblivious"));
    assert!(data > 400_000 && acks == 0, "{data}, {acks}");
}

/// Breaks if what probes tell of a slow link does not send kernels' packets another way: HULA and
/// CONGA go round it, ECMP does not.
#[test]
fn feedback_of_switches_works_under_kernels() {
    let Some(mut spec) = small("cubic") else { return };
    spec.aqm = scheme("droptail");
    spec.workloads = vec![fixed_flows(60, 100_000, 0.4)];
    spec.changes = vec![LinkChange {
        rate: Some(Rate::from_mbps(50)),
        ..common::change("leaf0-spine0", Span::from_micros(1))
    }];
    let mut slow = |name: &str| {
        spec.balancer = scheme(name);
        let output = run(&spec);
        assert_eq!(output.flows.finished(), 60, "{name}");
        let sent = |link: &str| port(&output, link).bytes as f64;
        sent("leaf0-spine0") / (sent("leaf0-spine0") + sent("leaf0-spine1"))
    };
    let blind = slow("ecmp");
    for name in ["hula", "conga"] {
        let told = slow(name);
        assert!(told < 0.6 * blind, "{name} sends {told} over the slow link, ECMP {blind}");
    }
}

/// Breaks if BBR of a kernel does not pace: its packets would come in bursts of a window and wait
/// at the first link, whatever the bottleneck behind it holds. With CUBIC the narrow link's queue
/// is full.
#[test]
fn bbr_of_kernels_paces() {
    let queue = |congestion: &str| {
        let mut spec = small(congestion)?;
        spec.aqm = scheme("droptail");
        spec.changes = vec![LinkChange {
            rate: Some(Rate::from_mbps(100)),
            ..common::change("leaf1-host2", Span::from_micros(1))
        }];
        spec.workloads = vec![long_flows(1, 5_000_000, hosts(&[0]), hosts(&[2]))];
        let output = run(&spec);
        assert_eq!(output.flows.finished(), 1, "{congestion}");
        Some(port(&output, "leaf1-host2").queue_mean_packets)
    };
    let (Some(bbr), Some(cubic)) = (queue("bbr"), queue("cubic")) else { return };
    assert!(bbr < 0.5 * cubic, "{bbr} packets wait with BBR, {cubic} with CUBIC");
}

/// Breaks if a fabric's changes and a scheme that asks for general ports do not work beside kernels.
#[test]
fn links_change_under_kernels() {
    let Some(mut spec) = small("cubic") else { return };
    spec.aqm = scheme("droptail");
    spec.balancer = scheme("letflow");
    spec.workloads = vec![long_flows(4, 2_000_000, hosts(&[0, 1]), hosts(&[2, 3]))];
    let down =
        LinkChange { up: Some(false), ..common::change("leaf0-spine0", Span::from_millis(2)) };
    let up = LinkChange { up: Some(true), ..common::change("leaf0-spine0", Span::from_millis(9)) };
    spec.changes = vec![down, up];
    let output = run(&spec);
    assert_eq!(output.flows.finished(), 4);
    assert!(output.counters.lost + output.counters.dropped[2] > 0, "{:?}", output.counters);
}

/// A program in these hosts, which starts in the folder of this test's file.
fn program(list: &[u16], background: bool, command: &[&str]) -> WorkloadSpec {
    let program = ProgramSpec {
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        environment: vec![("GREETING".to_owned(), "good day".to_owned())],
        folder: concat!(env!("CARGO_MANIFEST_DIR"), "/tests").into(),
        background,
    };
    WorkloadSpec {
        kind: WorkloadKind::Program(Box::new(program)),
        sizes: SizeSpec::Fixed(leafspine_core::Bytes(1)),
        senders: hosts(list),
        receivers: HostSet::All,
        pattern: Pattern::Any,
        start: Time(1_000_000_000),
        class: None,
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Breaks if a program does not see this machine's files where they are said to be, can change them, is not told where
/// it is, or if what it wrote and how it ended is not kept.
#[test]
fn programs_see_this_machines_files() {
    let Some(mut spec) = small("cubic") else { return };
    let script = "head -c 9 linux.rs; pwd; echo $GREETING $LEAFSPINE_HOST $LEAFSPINE_PEERS; hostname; \
                  grep -w host3 /etc/hosts; echo x > /tmp/own && cat /tmp/own; ls -d /proc/1 /dev/null; \
                  echo x 2>/dev/null > linux.rs || echo read-only >&2; exit 3";
    spec.workloads = vec![program(&[2, 0], false, &["sh", "-c", script])];
    let output = run(&spec);
    let [first, second] = &output.programs[..] else { panic!("{:?}", output.programs) };
    let said = "//! Hosts/scenario\ngood day 2 host2,host0\nhost2\n10.0.0.3 host3\nx\n/dev/null\n/proc/1\n";
    assert_eq!(text(&first.stdout), said, "{}", text(&first.stderr));
    assert_eq!((text(&first.stderr), first.exit_code()), ("read-only\n", Some(3)));
    assert_eq!((first.host, second.host), (2, 0));
    assert!(text(&second.stdout).contains("good day 0 host2,host0\nhost0\n"));
    assert!(first.start == Time(1_000_000_000) && first.end > Some(first.start));
    assert_eq!(
        output.end,
        first.end.max(second.end).unwrap(),
        "the run ends with the last of them"
    );
}

/// Breaks if programs cannot reach each other by name, their connections are in nobody's counts, or
/// a run with them does not repeat; a server in the background is not waited for.
#[test]
fn programs_talk_over_the_fabric() {
    let Some(mut spec) = small("dctcp") else { return };
    let server = "import socket\ns = socket.create_server(('', 80))\nwhile True:\n c, _ = s.accept()\n \
                  n = 0\n while d := c.recv(65536): n += len(d)\n print('got', n); c.sendall(b'x' * 1000); c.close()";
    let client = "import socket, time\nfor n in (1000, 1000000):\n c = socket.create_connection(('host0', 80))\n \
                  t = time.monotonic(); c.sendall(b'y' * n); c.shutdown(1)\n \
                  print(len(c.makefile('rb').read()), round(time.monotonic() - t, 6))";
    let python = std::path::Path::new("/usr/bin/python3");
    if !python.is_file() {
        not_tested(&format!("no {}", python.display()));
        return;
    }
    let client = WorkloadSpec {
        start: Time(1_000_000_000_000),
        ..program(&[3], false, &["python3", "-c", client])
    };
    spec.workloads = vec![program(&[0], true, &["python3", "-c", server]), client];
    let output = run(&spec);
    let [server, client] = &output.programs[..] else { panic!("{:?}", output.programs) };
    assert_eq!(text(&server.stdout), "got 1000\ngot 1000000\n", "{}", text(&server.stderr));
    assert_eq!((server.end, client.exit_code()), (None, Some(0)), "{}", text(&client.stderr));
    let times: Vec<f64> = text(&client.stdout)
        .lines()
        .map(|line| line.strip_prefix("1000 ").expect("all that was sent").parse().unwrap())
        .collect();
    // A megabyte takes 8.3 ms at 1 Gb/s with its headers, and slow start some round trips of 50 us.
    assert!(times[0] < 0.001 && (0.0083..0.0100).contains(&times[1]), "{times:?}");
    assert!(output.counters.bytes_delivered >= 1_003_000, "{:?}", output.counters);
    let again = run(&spec);
    assert_eq!(again.trace_hash, output.trace_hash);
    assert_eq!(again.programs, output.programs);
}

/// Breaks if flows and programs cannot share a run.
#[test]
fn programs_beside_flows() {
    let Some(mut spec) = small("cubic") else { return };
    spec.workloads = vec![
        program(&[0], false, &["sleep", "0.1"]),
        long_flows(2, 500_000, hosts(&[0, 1]), hosts(&[2, 3])),
    ];
    let output = run(&spec);
    assert_eq!(output.flows.finished(), 2);
    assert_eq!(output.programs[0].exit_code(), Some(0));
    let took = output.programs[0].end.unwrap().0 - output.programs[0].start.0;
    assert!((100_000_000_000..101_000_000_000).contains(&took), "{took} ps on the guest's clock");
}

/// Breaks if a command that cannot be run is passed over, or a run that waits for one which does nothing goes on.
#[test]
fn programs_that_cannot_be() {
    let Some(mut spec) = small("cubic") else { return };
    let failed = |spec: &Spec| {
        let simulation = Simulation::new(spec).unwrap().checked();
        simulation.run(&Progress::default()).map(|_| ()).expect_err("no output").to_string()
    };
    spec.workloads = vec![program(&[1], false, &["no-such-program"])];
    let error = failed(&spec);
    assert!(error.contains("host1 (Linux) reports: no-such-program: No such file"), "{error}");
    spec.workloads = vec![program(&[1], false, &["sleep", "infinity"])];
    let error = failed(&spec);
    assert!(error.contains("waits for the end of sleep infinity on host1"), "{error}");
    spec.run.until = Some(Time(1_000_000_000_000));
    let output = run(&spec);
    assert_eq!((output.programs[0].end, output.end), (None, Time(1_000_000_000_000)));
}
