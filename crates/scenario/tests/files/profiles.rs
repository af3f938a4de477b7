//! `transport.profile` and TCP's switches: what they set, what beats them, what is refused.

use crate::common::{BASE, cases, one};
use leafspine_core::Span;
use leafspine_schemes::Value;
use leafspine_schemes::cc::SlowStart;
use leafspine_sim::spec::{Reduction, Stack, Timestamps, TransportSpec};

fn with(lines: &str) -> (TransportSpec, String) {
    let case = one(&format!("\n[transport]\n{lines}"));
    (case.spec.transport.clone(), transport_of(&case.toml))
}

/// The table as the resolved scenario has it.
fn transport_of(resolved: &str) -> String {
    let from = resolved.find("[transport]").expect("every scenario has a transport");
    let rest = &resolved[from..];
    rest[..rest.find("\n\n").unwrap_or(rest.len())].to_owned()
}

/// Breaks if the profile that everybody has sets anything, or is written out.
#[test]
fn rfc_is_the_default_and_leaves_no_trace() {
    let (plain, text) = with("");
    assert_eq!(plain.stack, Stack::default());
    assert_eq!(with("profile = \"rfc\"\nrack = false\ntlp = \"off\""), (plain, text.clone()));
    for key in ["profile", "rack", "timestamps", "slow_start "] {
        assert!(!text.contains(key), "{text}");
    }
}

/// Breaks if a profile sets other values than the table in `docs/scenario.md` has.
#[test]
fn profiles_set_what_the_table_says() {
    for name in ["linux", "ns-2", "ns-3"] {
        for scheme in ["dctcp", "cubic"] {
            let (_, text) = with(&format!("profile = \"{name}\"\nscheme = \"{scheme}\""));
            insta::assert_snapshot!(format!("{name}_{scheme}"), text);
        }
    }
    let (linux, _) = with("profile = \"linux\"\nscheme = \"cubic\"");
    let all = Stack {
        syn_losses_spared: 1,
        idle_restart: true,
        quick_acks: 16,
        sack_bytes: true,
        timestamps: Timestamps::Option,
        reduction: Reduction::Prr9937,
        rack: true,
        tlp: Some(Span::from_millis(2)),
        dsack: true,
        undo_dsack: true,
        eifel: Some(Span::from_millis(1)),
        frto: true,
        slow_start: SlowStart::HyStart,
        pacing: false,
        pacing_quantum: 0,
        less_careful: false,
        lingering_recovery: false,
        ignore_duplicate_ece: false,
        one_reduction: false,
        mark_prr: true,
        gso: true,
        syn_options: 8,
        ecn_fallback: true,
        whole_windows: true,
        comp_sack: true,
        rack_slack: Some(Span::from_millis(2)),
        undo_waits: true,
        ece_forbids_undo: true,
        rack_any_rtt: true,
        small_queues: true,
        ecn_all: false,
        ack_changes: true,
        growth_acks: true,
        push_acks: true,
        kernel_timers: true,
    };
    assert_eq!((linux.stack, linux.mss, linux.header), (all, 1448, 52));
    // What of ns-3's shows without SACK alone.
    for (more, on) in [("", false), ("\nsack = false", true)] {
        let (ns3, _) = with(&format!("profile = \"ns-3\"{more}"));
        assert_eq!((ns3.stack.less_careful, ns3.stack.lingering_recovery), (on, on));
        assert!(ns3.stack.ignore_duplicate_ece && ns3.stack.one_reduction);
        // However often its SYN was lost (docs/validation.md).
        assert_eq!(ns3.stack.syn_losses_spared, 6);
    }
    let (one, text) = with("profile = \"linux\"\nslow_start_limit = 2");
    assert!(text.contains("slow_start_limit = 2\n"), "{text}");
    assert_eq!(one.scheme.params.0["slow_start_limit"], Value::Int(2));
}

/// Breaks if a resolved scenario with a profile does not read as itself, though the profile is gone.
#[test]
fn resolved_profiles_read_as_themselves() {
    for name in ["linux", "ns-2", "ns-3"] {
        for more in ["", "sack = false", "delayed_ack = \"off\"\nmax_cwnd = \"none\""] {
            let case = one(&format!("\n[transport]\nprofile = \"{name}\"\n{more}"));
            let again = cases(&case.toml, &[]).expect("valid").remove(0);
            assert_eq!(again.toml, case.toml);
            assert_eq!(again.spec.transport, case.spec.transport);
        }
    }
}

/// Breaks if a profile beats what the file says.
#[test]
fn what_is_said_beats_the_profile() {
    let (said, text) = with(
        "profile = \"linux\"\nmss = 1000\nmin_rto = \"5ms\"\nrack = false\ntlp = \"off\"\n\
         delayed_ack = \"off\"\nmax_cwnd = \"none\"\nquick_acks = 0\nprr = \"rfc6937\"",
    );
    assert_eq!((said.mss, said.header, said.min_rto), (1000, 52, Span::from_millis(5)));
    assert_eq!((said.delayed_ack, said.max_cwnd), (None, None));
    assert_eq!((said.stack.rack, said.stack.tlp, said.stack.quick_acks), (false, None, 0));
    assert_eq!((said.stack.reduction, said.stack.frto), (Reduction::Prr6937, true));
    assert!(!text.contains("rack") && text.contains("prr = \"rfc6937\""), "{text}");
    let (free, _) = with("profile = \"linux\"\ntimestamps = \"off\"");
    assert_eq!((free.mss, free.header, free.stack.eifel), (1460, 40, None));
    let (without, _) = with("profile = \"linux\"\nsack = false");
    assert!(!without.stack.rack && !without.stack.frto && without.stack.tlp.is_none());
}

/// Breaks if BBR runs without RACK, by default or because somebody says so, or if a quantum of one segment is
/// written out.
#[test]
fn rates_bring_rack() {
    for scheme in ["bbr1", "bbr3"] {
        let (spec, text) = with(&format!("scheme = \"{scheme}\"\npacing_quantum = 44"));
        assert!(spec.stack.rack && spec.stack.pacing_quantum == 44, "{text}");
        let (plain, text) = with(&format!("scheme = \"{scheme}\"\npacing_quantum = 1"));
        assert_eq!(plain.stack, Stack { rack: true, ..Stack::default() });
        assert!(!text.contains("pacing"), "{text}");
        let (linux, _) = with(&format!("profile = \"linux\"\nscheme = \"{scheme}\""));
        assert!(linux.stack.rack && linux.ecn == Some(false));
    }
    assert!(!with("").0.stack.rack);
}

/// Breaks if a switch is taken that has nothing to go by, or a word that is none.
#[test]
fn switches_without_what_they_need_are_refused() {
    let refused = |lines: &str| {
        let text = format!("{BASE}\n[transport]\n{lines}");
        cases(&text, &[]).expect_err("nothing to go by").to_string()
    };
    let found = [
        "sack = false\nrack = true",
        "sack = false\ntlp = \"0us\"",
        "sack = false\nprr = \"rfc9937\"",
        "sack = false\nfrto = true",
        "undo_dsack = true",
        "less_careful = true",
        "lingering_recovery = true",
        "timestamps = \"off\"\neifel = \"1ms\"",
        "profile = \"windows\"",
        "profile = \"linus\"",
        "prr = \"rfc9938\"",
        "slow_start = true",
        "tlp = 3",
        "scheme = \"bbr3\"\nrack = false",
        "scheme = \"bbr1\"\nsack = false",
        "pacing_quantum = 0",
    ]
    .map(refused);
    insta::assert_snapshot!(found.join("\n"));
}
