//! Congestion control of RDMA's queue pairs: how fast a sender may be, and how much it may have
//! under way. It has no clock and no events.

mod dcqcn;
mod hpcc;
mod nscc;
mod swift;

pub use dcqcn::{Dcqcn, DcqcnSettings};
pub use hpcc::{Hop, Hpcc, HpccSettings};
pub use nscc::{Nscc, NsccSettings};
pub use swift::{Swift, SwiftSettings};

/// Keys that queue pairs have in the scenario file's table `transport`, whatever controls them.
pub const PAIR_KEYS: &[&str] = &[
    "recovery",
    "window",
    "credits",
    "credit_first",
    "credit_share",
    "ack_every",
    "timeout",
    "max_timeout",
    "low_timeout",
    "low_timeout_below",
    "naks",
    "nak_threshold",
    "nak_cuts",
    "data_class",
    "ack_class",
];

/// A congestion control by name, and its keys.
pub struct ControlKeys {
    /// The word of `scheme`.
    pub scheme: &'static str,
    /// Keys that it alone has.
    pub keys: &'static [&'static str],
}

/// All congestion controls of queue pairs; the first one is the default.
pub const CONTROLS: &[ControlKeys] = &[
    ControlKeys {
        scheme: "dcqcn",
        keys: &[
            "cnp_interval",
            "dcqcn_g",
            "alpha_timer",
            "alpha_update",
            "decrease_timer",
            "increase_timer",
            "byte_counter",
            "fast_recovery",
            "clamp_target",
            "additive_increase",
            "hyper_increase",
            "hyper_grows",
            "least_rate",
        ],
    },
    ControlKeys { scheme: "line-rate", keys: &[] },
    ControlKeys { scheme: "hpcc", keys: &["hpcc_rtt", "hpcc_eta", "hpcc_stages", "hpcc_additive"] },
    ControlKeys {
        scheme: "nscc",
        keys: &[
            "nscc_rtt",
            "nscc_target",
            "nscc_proportional",
            "nscc_fair",
            "nscc_eta",
            "nscc_fast",
            "nscc_gamma",
            "nscc_gate",
            "nscc_weight",
            "nscc_most",
            "nscc_no_wait",
        ],
    },
    ControlKeys {
        scheme: "swift",
        keys: &[
            "swift_rtt",
            "swift_target",
            "swift_range",
            "swift_small",
            "swift_large",
            "swift_additive",
            "swift_beta",
            "swift_most_cut",
            "swift_least",
            "swift_reset",
        ],
    },
];

const fn count() -> usize {
    let (mut all, mut i) = (PAIR_KEYS.len(), 0);
    while i < CONTROLS.len() {
        all += CONTROLS[i].keys.len();
        i += 1;
    }
    all
}

/// All keys of queue pairs.
pub const KEYS: [&str; count()] = {
    let mut all = [""; count()];
    let (mut at, mut i) = (0, 0);
    while i < PAIR_KEYS.len() {
        all[at] = PAIR_KEYS[i];
        (at, i) = (at + 1, i + 1);
    }
    let mut control = 0;
    while control < CONTROLS.len() {
        i = 0;
        while i < CONTROLS[control].keys.len() {
            all[at] = CONTROLS[control].keys[i];
            (at, i) = (at + 1, i + 1);
        }
        control += 1;
    }
    all
};
