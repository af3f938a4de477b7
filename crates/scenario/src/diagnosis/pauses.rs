//! Lossless priorities that were not lossless.

use super::counted;
use leafspine_sim::Output;
use leafspine_sim::spec::{LinkChange, Spec, WatchdogAction};

/// Packets that found the headroom full, and what may have made them.
pub(super) fn lossless_drops(spec: &Spec, output: &Output) -> Option<String> {
    let (pfc, counters) = (spec.switch.pfc.as_ref()?, &output.counters);
    let fails = |change: &LinkChange| change.up.is_some() || change.flap.is_some();
    let links_fail = counters.lost > 0 || spec.changes.iter().any(fails);
    let forwards = pfc.watchdog.is_some_and(|dog| dog.action == WatchdogAction::Forward);
    let whys = [
        pfc.headroom.map(|set| {
            format!(
                "switch.pfc_headroom = \"{set}\" is less than what comes until a pause takes effect"
            )
        }),
        links_fail.then(|| {
            "a pause frame was lost, or a link came up before its far end was paused".to_owned()
        }),
        (forwards && counters.storms > 0)
            .then(|| "the watchdog had a port send though it was paused".to_owned()),
    ];
    let whys: Vec<String> = whys.into_iter().flatten().collect();
    (counters.lossless_drops > 0).then(|| {
        let packets = counted(counters.lossless_drops, "packet");
        let why = if whys.is_empty() { String::new() } else { format!(": {}", whys.join("; or ")) };
        format!("{packets} of lossless priorities dropped, for the headroom was full{why}")
    })
}

/// What a watchdog has done.
pub(super) fn storms(spec: &Spec, output: &Output) -> Option<String> {
    let watchdog = spec.switch.pfc.as_ref()?.watchdog?;
    let counters = &output.counters;
    (counters.storms > 0).then(|| {
        let times = counted(counters.storms, "time");
        let did = match watchdog.action {
            WatchdogAction::Drop => format!("{} dropped", counted(counters.storm_drops, "packet")),
            WatchdogAction::Forward => "it was sent though paused".to_owned(),
        };
        format!(
            "the watchdog (switch.pfc_watchdog) acted {times} on a lossless queue that stayed paused: {did}"
        )
    })
}
