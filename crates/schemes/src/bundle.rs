//! Bundles: systems that act in several places, named with one word.
//!
//! `scheme = "presto"` at the top of a scenario, or in a variant's `set`, stands for the keys of the
//! bundle `presto`, as if they were written there. A key that is written out in the same place (the
//! file; the same `set`) wins over the bundle's; a variant's bundle wins over the file's keys, as
//! everything in a variant does. Where a written-out `scheme` names another scheme than the bundle
//! does, the bundle's parameters for that table are left out with it.

/// A system that acts in several places.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// Its name in the scenario file.
    pub name: &'static str,
    /// One sentence: what it is.
    pub doc: &'static str,
    /// Keys of the scenario file (`load_balancer.scheme`) and their values in TOML.
    pub keys: &'static [(&'static str, &'static str)],
}

/// Every bundle, in the catalogue's order.
pub const ALL: &[Bundle] = &[
    Bundle {
        name: "tcp",
        doc: "NewReno over drop-tail queues.",
        keys: &[("transport.scheme", "\"newreno\""), ("aqm.scheme", "\"droptail\"")],
    },
    Bundle {
        name: "dctcp",
        doc: "DCTCP over queues that mark at a threshold (RFC 8257).",
        keys: &[("transport.scheme", "\"dctcp\""), ("aqm.scheme", "\"ecn-threshold\"")],
    },
    Bundle {
        name: "presto",
        doc: "Flowcells sprayed round robin, cut and put back in order by the hosts (He et al., SIGCOMM 2015).",
        keys: &[
            ("load_balancer.scheme", "\"presto\""),
            ("host_edge.scheme", "\"presto\""),
            ("host_edge.reassemble", "true"),
        ],
    },
    Bundle {
        name: "flowbender",
        doc: "Hosts that ask for another hash when their ACKs are marked (Kabbani et al., CoNEXT 2014).",
        keys: &[("load_balancer.scheme", "\"ecmp\""), ("host_edge.scheme", "\"flowbender\"")],
    },
    Bundle {
        name: "hermes",
        doc: "Hosts that know good and bad paths and move flows with care (Zhang et al., SIGCOMM 2017).",
        keys: &[("load_balancer.scheme", "\"pinned\""), ("host_edge.scheme", "\"hermes\"")],
    },
    Bundle {
        name: "clove-ecn",
        doc: "Hosts that send flowlets over weighted paths (Katta et al., CoNEXT 2017).",
        keys: &[("load_balancer.scheme", "\"pinned\""), ("host_edge.scheme", "\"clove-ecn\"")],
    },
    Bundle {
        name: "flex",
        doc: "Flowlets cut by hosts with a timeout that follows the load, hashed by switches.",
        keys: &[("load_balancer.scheme", "\"ecmp\""), ("host_edge.scheme", "\"flex\"")],
    },
    Bundle {
        name: "conga-flow",
        doc: "CONGA with one decision a flow: a flowlet gap of 13 ms (Alizadeh et al., SIGCOMM 2014, §5).",
        keys: &[("load_balancer.scheme", "\"conga\""), ("load_balancer.gap", "\"13ms\"")],
    },
    Bundle {
        name: "tam",
        doc: "TAM: routing that tells short flows from long ones, and queues that mark the long ones first (Huang et al., 2022).",
        keys: &[("load_balancer.scheme", "\"tam\""), ("aqm.scheme", "\"balancer\"")],
    },
    Bundle {
        name: "aq-car",
        doc: "Three weighted queues by flow class, each marked by its own rule, and paths by the congestion of the class' queues (Alanazi and Hamdaoui); for a transport with ECN.",
        keys: &[
            ("load_balancer.scheme", "\"aq-car\""),
            ("load_balancer.reroute_stages", "\"top\""),
            ("load_balancer.stop_level", "2"),
            ("load_balancer.uncongested_only", "true"),
            ("load_balancer.large_sharing", "\"any\""),
            ("aqm.scheme", "\"ml-ecn\""),
            ("host_edge.scheme", "\"aq-car\""),
            ("switch.queues", "3"),
            ("switch.scheduler", "\"wrr\""),
            ("switch.weights", "[4, 2, 1]"),
            ("switch.classifier", "\"stage\""),
            ("switch.stage_queues", "[0, 1, 1, 1, 1, 2]"),
        ],
    },
    Bundle {
        name: "abq",
        doc: "ACKs held back at the congested port, beside DCTCP and marks at 40 packets (ABQ, IEEE Network 2020).",
        keys: &[
            ("hold.scheme", "\"abq\""),
            ("hold.max_hold", "\"none\""),
            ("aqm.scheme", "\"ecn-threshold\""),
            ("aqm.threshold", "\"40pkt\""),
            ("transport.scheme", "\"dctcp\""),
        ],
    },
    Bundle {
        name: "qall-flowlet",
        doc: "QALL that draws a port for every flowlet (§IV-B).",
        keys: &[("load_balancer.scheme", "\"qall\""), ("load_balancer.granularity", "\"flowlet\"")],
    },
    Bundle {
        name: "qall-linear",
        doc: "QALL with the linear fit of egress traffic (eq. 8).",
        keys: &[("load_balancer.scheme", "\"qall\""), ("load_balancer.variant", "\"linear\"")],
    },
    Bundle {
        name: "qall-poly2",
        doc: "QALL with the quadratic fit of egress traffic (eq. 9).",
        keys: &[("load_balancer.scheme", "\"qall\""), ("load_balancer.variant", "\"poly2\"")],
    },
    Bundle {
        name: "qall-poly3",
        doc: "QALL with the cubic fit of egress traffic (eq. 10).",
        keys: &[("load_balancer.scheme", "\"qall\""), ("load_balancer.variant", "\"poly3\"")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::lb::LoadBalancer;
    use crate::registry::{self, Place};
    use crate::testing::FakeLeaf;

    /// Breaks if a bundle names a scheme that the registry does not have.
    #[test]
    fn bundles_name_registered_schemes() {
        for bundle in ALL {
            for (key, value) in bundle.keys {
                let Some(table) = key.strip_suffix(".scheme") else { continue };
                let place = Place::ALL.into_iter().find(|place| place.table() == table);
                let name = value.trim_matches('"');
                let found = match (table, name) {
                    ("aqm", "balancer") => balancer(bundle).roles().aqm().is_some(),
                    ("hold", "balancer") => balancer(bundle).roles().hold().is_some(),
                    _ => place.is_some_and(|place| place.find(name).is_some()),
                };
                assert!(found, "{}: {key} = {value}", bundle.name);
            }
        }
    }

    /// The balancer of a bundle that takes another role from it.
    fn balancer(bundle: &Bundle) -> Box<dyn LoadBalancer> {
        let key = |(key, _): &&(&str, &str)| *key == "load_balancer.scheme";
        let (_, name) = bundle.keys.iter().find(key).expect("a bundle with a balancer");
        let entry = registry::load_balancer(name.trim_matches('"')).expect("a registered balancer");
        (entry.build)(&Params::defaults(entry.info.params), &FakeLeaf::new(4, 4, 1).env)
            .expect("its defaults")
    }
}
