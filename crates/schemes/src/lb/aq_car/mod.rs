//! AQ-CAR: new flows take the least congested path, growing flows are moved when they congest theirs.
//!
//! Source: Alanazi and Hamdaoui, "AQ-CAR: Adaptive-Queueing Congestion-Aware Routing for Datacenter
//! Traffic Forwarding", §II-B2 (forwarding manager). The other parts of the system are the host edge
//! `aq-car` (§II-A, stages), the queue manager `ml-ecn` (§II-B3a) and three WRR queues (§II-B3b); the
//! bundle `aq-car` is all of it.
//!
//! * Spines stamp data and SYNs with the level, in quarters of K, of the queue that sent them.
//! * The destination's leaf keeps the levels by ingress port, for small and for medium flows, and for
//!   large flows how many there are by each port.
//! * **Initial routing** (§II-B2a): the SYN goes by ECMP; the SYN-ACK brings the destination leaf's
//!   small table back; the source's leaf takes the uplink with the smallest maximum of its own level
//!   and the one fed back, and writes it into its path allocation table (PAT).
//! * **Medium routing** (§II-B2b): a marked packet of one of the larger medium flows, stamped with
//!   level 2 or more, makes the destination's leaf send the medium table with each ACK of the flow, until
//!   the flow comes by another port or its port's level falls below a threshold. Meanwhile the source's
//!   leaf estimates how long the flow's last packet will wait (eqs. 1 to 3) and moves it to the shortest of
//!   the paths that are not congested and on which its next packet will wait longer than that.
//! * **Large routing** (§II-B2c): of two large flows that share an ingress port while another has none,
//!   one gets the free ports named in its ACKs, and moves to one.
//!
//! State per leaf: PAT, 32 bytes an entry, 2 MiB by default (the paper keeps two bits instead of the
//! state, and an age bit instead of the time that this needs for eq. 3); 16 bytes an entry of the medium
//! rerouting table and 40 of the large flows'; 24 bytes, and 2 more per uplink, for each other leaf;
//! 16 bytes of levels. Spines keep nothing. Cost per packet: at the source's leaf one entry of PAT for
//! data and for ACKs; a scan of the uplinks for a new flow and for each packet of one that is asked to
//! move; at the destination's leaf a table entry for large flows, or while any flow is asked to move.
//! Ports are general ones.
//!
//! What was chosen where the source is unspecified or contradicts itself is listed in the catalogue
//! (`ENTRY.info.unspecified`). Four thresholds make five intervals but the stamp has two bits: the level is
//! `min(3, floor(q / (K/4)))`.
//!
//! `reroute_stages`, `stop_level`, `uncongested_only` and `large_sharing` have the text's readings as defaults.
//! How it was read first is `"upper-half"`, `1`, `false` and `"one-leaf"`: resolved scenarios without the keys
//! mean these.
//!
//! What runs show (`crates/sim/tests/behaviour/aq_car.rs`): short flows gain as the paper says, nearly all of it
//! by queues and marking (`ml-ecn` over ECMP gives them the same); large flows are parted. Medium routing as
//! written does not shorten medium flows' completion times, it lengthens them and those of large flows:
//! eq. 3 admits only paths on which the next packet would wait longer than the last one still does, so a flow
//! that must leave a congested spine goes where the uplink's own queue is long, and as only spines stamp,
//! nothing moves it away from there. The weight in eqs. 1 and 2 adds to it: a medium queue gets more than 2/7
//! of the line while others are idle, so delays are overestimated. `medium_rerouting = false` is the
//! sensitivity.
//!
//! Provenance: paper.

#[cfg(test)]
mod fabric;
mod header;
mod large;
mod leaf;
mod medium;
mod pat;
mod requests;
mod spine;
mod table;
mod uplinks;

use super::{Entry, LoadBalancer};
use crate::levels::Levels;
use crate::stages::Stages;
use crate::{
    Amount, Demands, Kind, Meaning, Param, ParamError, Params, Provenance, SchemeInfo, SwitchEnv,
    parameters, words,
};
use leaf::Leaf;
use leafspine_core::Span;
use spine::Spine;

words! {
    enum Larger {
        Top = "top",
        UpperHalf = "upper-half",
    }
    enum Sharing {
        Any = "any",
        OneLeaf = "one-leaf",
    }
    enum Edge {
        Lower = "lower",
        Upper = "upper",
    }
}

parameters! {
    struct Settings {
        threshold: Amount = Param::new(
            Kind::Amount,
            "max(20pkt, 1bdp)",
            "The standard threshold K whose quarters are the levels, in packets of any size \
             or in bytes; the same as ml-ecn's.",
        )
        .means(Meaning::Backlog),
        entries: usize = Param::new(
            Kind::Int(1, 1 << 24),
            "65536",
            "Entries of the path allocation table at each leaf.",
        ),
        timer: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "5rtt",
            "Period of PAT's global timer: an entry expires one to two periods after the \
             flow's last packet.",
        )
        .means(Meaning::Period),
        medium_rerouting: bool = Param::new(
            Kind::Bool,
            "true",
            "Whether medium flows are moved.",
        ),
        reroute_level: u32 = Param::new(
            Kind::Int(1, 3),
            "2",
            "Level from which on a medium flow is asked to move.",
        ),
        reroute_stages: Larger = Param::new(
            Larger::KIND,
            "top",
            "Which medium flows are asked to move: those of the last medium stage, or of the upper half \
             of the stages.",
        )
        .quiet_at("upper-half"),
        stop_level: u32 = Param::new(
            Kind::Int(1, 3),
            "2",
            "Below this level of its port a medium flow is asked no longer; reroute_level, if that is lower.",
        )
        .quiet_at("1"),
        uncongested_only: bool = Param::new(
            Kind::Bool,
            "true",
            "Whether a medium flow moves only to a path whose medium queues, here and at the spine, are \
             below reroute_level.",
        )
        .quiet_at("false"),
        level_edge: Edge = Param::new(
            Edge::KIND,
            "lower",
            "The queue length that a spine's level stands for in eq. 2: the threshold that it has reached, \
             or the next one.",
        )
        .quiet(),
        requests: usize = Param::new(
            Kind::Int(1, 1 << 20),
            "1024",
            "Entries of the medium rerouting table.",
        ),
        large_rerouting: bool = Param::new(
            Kind::Bool,
            "true",
            "Whether large flows that share a port are parted.",
        ),
        large_sharing: Sharing = Param::new(
            Sharing::KIND,
            "any",
            "Which large flows of one port are parted: any two, or two of one source leaf.",
        )
        .quiet_at("one-leaf"),
        large_entries: usize = Param::new(
            Kind::Int(1, 1 << 15),
            "1024",
            "Entries of the table of large flows.",
        ),
        large_silence: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "100rtt",
            "A large flow ends after so long without a packet.",
        ),
        large_pause: Span = Param::new(
            Kind::Span(0, u64::MAX),
            "100rtt",
            "A large flow is asked to move at most once in this time.",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    let stages = Stages::of(&env.stage_queues)?;
    let levels = Levels::exchanged(settings.threshold);
    Ok(match env.tor {
        Some(_) => Box::new(Leaf::new(&settings, env, stages, levels)?),
        None => Box::new(Spine::new(env, stages, levels)),
    })
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "aq-car",
        summary: "Allocates paths during the handshake by congestion fed back, reroutes medium flows \
                  without reordering and parts large flows.",
        source: "Alanazi and Hamdaoui, AQ-CAR, §II-B2",
        provenance: Provenance::Paper,
        unspecified: &[
            "Four thresholds of K/4 make five intervals but the field has two bits: the level is \
             min(3, floor(q / (K/4))), q without the departing packet; level x K/4 is the length in \
             eq. 2, K/4 packets of the packet's own size.",
            "Pure ACKs are in the small queue, follow a hash, have no entry in PAT and no stamp. So do \
             SYN-ACKs.",
            "A SYN-ACK chooses once; without one, and mid-flow without an entry, a packet is allocated \
             from the last known table of its class and the local levels (large flows: the local \
             levels alone). Tables do not age.",
            "A flow whose PAT entry another flow holds follows the hash. The destination's leaf is \
             not stored: the flow ID tells it. A flow whose port is lost is allocated again.",
            "The rerouting threshold is level 2. \"Among the larger flows in the medium class range\" are \
             those with the maximum stage value, as the queue manager's first threshold has it \
             (§II-B3a); reroute_stages = \"upper-half\" takes half of the stages.",
            "Goal 1, \"ensure that the newly selected path is not congested\", is no step of the text's \
             algorithm. With uncongested_only = true a path on which the flow would be asked to move \
             again, its level here or fed back at reroute_level, is none. The present path is no new one.",
            "The piggyback ends when the flow comes by another port or when its port \"falls below a predefined \
             threshold\": stop_level = 2, the only threshold that the text has named, the one \
             of rerouting; stop_level = 1 goes on until level 0. The packet that shows the move asks for no \
             other, and after a move the source's leaf obeys no request before an ACK without one: older \
             ACKs are under way.",
            "Eqs. 1 and 2 use the source's uplink rate for the spine's port too, and the packet's own \
             size. The length in eq. 2 is that of a level, and \"multi-level thresholds\" are what \
             \"represent queue length levels\" (§II-B2): the threshold that was reached, so that eq. 2 may be \
             up to K/4 - 1 packets short, 15 at K = 64, for the flow's path as for the others. With \
             level_edge = \"upper\" it is the next one, never short below K, and K/4 for an empty queue. \
             Over paths of one rate that makes no difference, for both sides of eq. 3 have K/4 packets \
             more: Fig. 5 at load 0.8 has the same FCTs and as many packet-hops. The \
             flow's present path is always one of the candidates, for nothing is reordered there.",
            "Any two large flows by one port may be parted, of whichever source leaves: either's can move \
             its own. large_sharing = \"one-leaf\" asks only where both are of one. One \
             of a port (and leaf) is asked at a time, at most once in large_pause; it moves to the free \
             port whose large queue is least congested at the source's leaf.",
            "A large flow ends by FIN or after large_silence. One whose entry another flow holds is \
             not counted.",
            "Not a choice, but to be known: eq. 3 as written makes medium flows leave a congested spine \
             for an uplink whose own queue is long, where no stamp calls them away; medium and large \
             flows then take longer than with medium_rerouting = false.",
            "Leaves number their uplinks alike. A spine with parallel links to a leaf picks one by \
             hash: it counts with the highest of their levels, and is free if all of them are. Several \
             tiers above the leaves stamp the highest level on the path.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 64, header_words: 3, queues: 3 },
    },
    build,
    edge: Some("aq-car"),
    host_aqm: None,
};

#[cfg(test)]
mod initial_tests;
#[cfg(test)]
mod large_routing_tests;
