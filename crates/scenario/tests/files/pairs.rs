//! Queue pairs: what a file has to say to be one published set-up or another.

use crate::common::{BASE, cases, get};
use leafspine_core::{Rate, Span, Time};
use leafspine_scenario::Case;
use leafspine_schemes::rdma::{Dcqcn, DcqcnSettings};
use leafspine_sim::spec::PairControl;

const US: u64 = 1_000_000;

/// The case of a file whose hosts have links of this rate, with these lines in `[transport]`.
fn pairs(rate: &str, lines: &str) -> Case {
    let text = BASE.replace("rate = \"10Gbps\"", &format!("rate = \"{rate}\""));
    let text = format!("{text}\n[transport]\nkind = \"roce\"\n{lines}");
    cases(&text, &[]).unwrap_or_else(|e| panic!("{e}")).remove(0)
}

fn dcqcn(case: &Case) -> DcqcnSettings {
    let roce = case.spec.transport.protocol.roce().copied().expect("queue pairs");
    *roce.control.dcqcn().expect("DCQCN")
}

/// Rate and target in Gb/s, and alpha, at a time.
fn at(dcqcn: &mut Dcqcn, cfg: &DcqcnSettings, us: u64) -> (f64, f64, f64) {
    dcqcn.catch_up(cfg, Time(us * US));
    let gbps = |rate: Rate| rate.0 as f64 / 1e9;
    (gbps(dcqcn.rate()), gbps(dcqcn.target()), dcqcn.alpha())
}

fn near(found: (f64, f64, f64), expected: (f64, f64, f64)) {
    let differs = |(a, b): (f64, f64)| (a - b).abs() > 2e-9;
    let pairs = [(found.0, expected.0), (found.1, expected.1), (found.2, expected.2)];
    assert!(!pairs.into_iter().any(differs), "{found:?} {expected:?}");
}

/// DCQCN as HPCC's and ConWeave's authors simulate it, after NVIDIA's cards, at 25 Gb/s. By hand:
/// a CNP at 0 us cuts nothing. At 4 us alpha has fallen four times, to (255/256)^4, and the rate is cut
/// by half of it; 25 Gb/s stay the target. CNPs at 5 and 7 us: alpha rises with the steps at 6 and 8 us
/// and falls with those at 5 and 7, and one cut follows, at 8 us. At 308 us (300 after the cut) fast
/// recovery: half of the way to 25. A CNP at 310 us, cut at 312 us: that rate is the target now. Then
/// rises at 612 us to it, at 912 us with 5 Mb/s more, at 1212 and 1512 us with 50 Mb/s more each.
///
/// Breaks if the file cannot say so, if what it says is read as something else, or if the resolved
/// file leaves out what is not the paper's.
#[test]
fn dcqcn_as_the_simulators_have_it() {
    let case = pairs(
        "25Gbps",
        "alpha_timer = \"1us\"\nalpha_update = \"timer\"\ndecrease_timer = \"4us\"\n\
         cnp_interval = \"0us\"\nincrease_timer = \"300us\"\nbyte_counter = \"off\"\n\
         fast_recovery = 2\nclamp_target = false\nadditive_increase = \"5Mbps\"\n\
         hyper_increase = \"50Mbps\"\nhyper_grows = false\nleast_rate = \"100Mbps\"\n",
    );
    for (key, value) in [
        ("alpha_update", "\"timer\""),
        ("decrease_timer", "\"4us\""),
        ("byte_counter", "\"off\""),
        ("hyper_grows", "false"),
        ("cnp_interval", "\"0ps\""),
    ] {
        assert_eq!(get(&case, &format!("transport.{key}")), value);
    }
    let cfg = dcqcn(&case);
    let mut pair = Dcqcn::new(Rate::from_gbps(25));
    let cnps = |pair: &mut Dcqcn, times: &[u64]| {
        times.iter().for_each(|us| pair.on_cnp(&cfg, Time(us * US)));
    };
    let down = 255.0 / 256.0;
    cnps(&mut pair, &[0]);
    near(at(&mut pair, &cfg, 3), (25.0, 25.0, down * down * down));
    let alpha = f64::powi(down, 4);
    let rate = 25.0 * (1.0 - alpha / 2.0);
    near(at(&mut pair, &cfg, 4), (rate, 25.0, alpha));
    cnps(&mut pair, &[5, 7]);
    let up = |alpha: f64| alpha * down + 1.0 / 256.0;
    let alpha = up(down * up(down * alpha));
    let rate = rate * (1.0 - alpha / 2.0);
    near(at(&mut pair, &cfg, 8), (rate, 25.0, alpha));
    let alpha = alpha * f64::powi(down, 300);
    let rate = (rate + 25.0) / 2.0;
    near(at(&mut pair, &cfg, 308), (rate, 25.0, alpha));
    cnps(&mut pair, &[310]);
    let (target, alpha) = (rate, down * up(down * down * alpha));
    let rate = rate * (1.0 - alpha / 2.0);
    near(at(&mut pair, &cfg, 312), (rate, target, alpha));
    let mut rate = rate;
    for (us, more) in [(612, 0.0), (912, 0.005), (1212, 0.055), (1512, 0.105)] {
        rate = f64::midpoint(rate, target + more);
        let found = at(&mut pair, &cfg, us);
        near(found, (rate, target + more, found.2));
    }
}

/// Breaks if a workload's class is not read, is in a file that has none, or if one is taken that nobody would write,
/// that no switch would go by, or that would share the headers' queue.
#[test]
fn workloads_have_classes() {
    let workload = "[[workload]]\nsizes = \"web-search\"\nload = 0.1\nflows = 10\nclass = 3\n";
    let case = |more: &str| cases(&format!("{BASE}{workload}{more}"), &[]);
    let found = case("").unwrap_or_else(|e| panic!("{e}")).remove(0);
    let classes = found.spec.workloads.iter().map(|one| one.class);
    assert_eq!(classes.collect::<Vec<_>>(), [None, Some(3)]);
    assert_eq!(found.toml.matches("class = 3\n").count(), 1);
    let why = |more: &str| case(more).expect_err("refused").to_string();
    let edge = "[switch]\nclassifier = \"stage\"\nqueues = 3\nscheduler = \"strict\"\n\
                [host_edge]\nscheme = \"stage\"\n";
    assert_eq!(
        why(edge),
        "f.toml:17: workload.1.class: found 3 beside host_edge \"stage\"; allowed: a class beside a \
         host edge that writes none itself"
    );
    let trims = "[switch]\nclassifier = \"dscp\"\nqueues = 3\nscheduler = \"strict\"\n\
                 trim = \"either\"\n[transport]\nkind = \"roce\"\nrecovery = \"each\"\n\
                 data_class = 1\n";
    assert_eq!(
        why(trims),
        "f.toml:17: workload.1.class: found 3, whose queue 0 is also that of headers; allowed: a \
         class of another queue than that of switch.trim_class = 0"
    );
    let hash = "[switch]\nqueues = 3\nscheduler = \"strict\"\nclassifier = \"hash\"\n";
    assert_eq!(
        why(hash),
        "f.toml:17: workload.1.class: found 3 beside switch.classifier = \"hash\"; allowed: a class \
         beside switch.classifier = \"dscp\" or \"stage\", by which it has its queue"
    );
    let kernels = why("[hosts]\nkind = \"linux\"\n");
    assert!(kernels.contains("kernel") || kernels.contains("workload.1.class"), "{kernels}");
}

/// The paper's (Zhu et al., SIGCOMM 2015, table 14): what a file without a word has, at 40 Gb/s. Breaks if a default
/// is not the paper's, or if a resolved file of before says what it did not.
#[test]
fn dcqcn_as_the_paper_has_it() {
    let case = pairs("40Gbps", "");
    let us = Span::from_micros;
    let expected = DcqcnSettings {
        cnp_interval: us(50),
        g: 1.0 / 256.0,
        alpha_timer: us(55),
        alpha_by_timer: false,
        decrease_timer: None,
        increase_timer: us(55),
        byte_counter: Some(10_000_000),
        fast_recovery: 5,
        clamp_target: true,
        additive: Rate::from_mbps(40),
        hyper: Rate::from_mbps(400),
        hyper_grows: true,
        least: Rate::from_mbps(40),
    };
    assert_eq!(dcqcn(&case), expected);
    for key in ["alpha_update", "decrease_timer", "hyper_grows"] {
        assert!(!case.toml.contains(key), "{key}");
    }
    assert!(matches!(
        pairs("40Gbps", "scheme = \"line-rate\"")
            .spec
            .transport
            .protocol
            .roce()
            .copied()
            .expect("queue pairs")
            .control,
        PairControl::LineRate
    ));
}
