//! What the readers know: each table's keys, and what each may be.
//!
//! Nothing is declared here. Every reader is run over small texts, one for each kind of its table, and
//! what it asks for is noted: a key that a reader gains is known by that. In a survey no key is refused,
//! and one that must be given and is not has a stand-in, so that a reader goes on to its end.

use crate::classes::classes;
use crate::expand::variants;
use crate::resolve::KEYS;
use crate::section::Around;
use crate::trace::FilesRead;
use crate::transport::Entry;
use crate::tree::{self, Node, Table};
use crate::{linux, run, schemes, switch, topology, transport, workload};
use leafspine_core::{Bytes, Rate, Span};
use leafspine_fabric::TopologyKind;
use leafspine_schemes::registry::Place as Role;
use leafspine_schemes::{Amount, Kind, Value};
use std::cell::RefCell;
use std::path::Path;

/// A table of the scenario file, of one kind where its keys depend on that.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Its name: `workload.sizes`; `top` for what stands in none.
    pub table: String,
    /// The key that says the kind, and the kind: `("kind", "poisson")`.
    pub of: Option<(&'static str, String)>,
    /// The word of `transport.kind` beside which alone there is this kind of `[transport]`, if not `"tcp"`.
    pub protocol: Option<&'static str>,
    /// Its keys, in the order in which messages list them.
    pub keys: Vec<KnownKey>,
}

/// A key that a reader knows.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownKey {
    /// Its name.
    pub name: String,
    /// What it may be; `None` for what is more than a value, such as sets of hosts and inner tables.
    pub kind: Option<Kind>,
    /// The word that it may be instead, such as `"off"`.
    pub or: Option<&'static str>,
    /// What it is if the file does not say, where that is always the same.
    pub default: Option<String>,
}

/// The questions of readers.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    found: RefCell<Vec<Known>>,
    of: RefCell<Option<(&'static str, String)>>,
    protocol: RefCell<Option<&'static str>>,
    /// What the names of the tables begin with that are of interest now.
    focus: RefCell<&'static str>,
}

impl Survey {
    /// A reader allows these keys.
    pub(crate) fn allowed(&self, path: &str, keys: &[&str]) {
        keys.iter().for_each(|key| self.key(path, key, |_| ()));
    }

    /// A reader asks for a key. Of several questions the first that says more counts.
    pub(crate) fn asked(
        &self,
        path: &str,
        key: &str,
        kind: Kind,
        or: Option<&'static str>,
        default: Option<&str>,
    ) {
        self.key(path, key, |known| {
            known.kind = known.kind.or(Some(kind));
            known.or = known.or.or(or);
            known.default = known.default.take().or_else(|| default.map(str::to_owned));
        });
    }

    fn key(&self, path: &str, key: &str, change: impl FnOnce(&mut KnownKey)) {
        let (table, of) = (without_numbers(path), self.of.borrow().clone());
        if !table.starts_with(*self.focus.borrow()) {
            return;
        }
        let mut found = self.found.borrow_mut();
        let at = found.iter().position(|known| known.table == table && known.of == of);
        let at = at.unwrap_or_else(|| {
            found.push(Known { table, of, protocol: *self.protocol.borrow(), keys: Vec::new() });
            found.len() - 1
        });
        let keys = &mut found[at].keys;
        let at = keys.iter().position(|known| known.name == key).unwrap_or_else(|| {
            keys.push(KnownKey { name: key.to_owned(), kind: None, or: None, default: None });
            keys.len() - 1
        });
        change(&mut keys[at]);
    }

    /// The words of a key that was asked for.
    fn words(&self, table: &str, key: &str) -> &'static [&'static str] {
        let found = self.found.borrow();
        let mut keys = found.iter().filter(|known| known.table == table).flat_map(|k| &k.keys);
        match keys.find(|known| known.name == key).and_then(|known| known.kind) {
            Some(Kind::Word(words)) => words,
            _ => &[],
        }
    }
}

/// A table's name: `workload.0.sizes` is `workload.sizes`.
fn without_numbers(path: &str) -> String {
    const LISTS: &[&str] = &["workload", "change", "probe", "variant", "tier"];
    let (mut parts, mut list) = (Vec::new(), false);
    for part in path.split('.') {
        if !(list && part.parse::<usize>().is_ok()) {
            parts.push(part);
        }
        list = LISTS.contains(&part);
    }
    parts.join(".")
}

/// Some value of a kind, for a key that must be given and is not.
pub(crate) fn stand_in(kind: Kind) -> Value {
    match kind {
        Kind::Span(low, _) | Kind::SpanOr(low, ..) => Value::Span(Span(low)),
        Kind::Bytes(low, _) => Value::Bytes(Bytes(low)),
        Kind::Amount | Kind::AmountOr(_) | Kind::Depth => Value::Amount(Amount::Packets(1)),
        Kind::Rate => Value::Rate(Rate(1_000_000_000)),
        // Of most things there may be two, where one would be too few.
        Kind::Int(low, high) | Kind::Packets(low, high) => Value::Int(2.clamp(low, high)),
        Kind::Float(low, high) => Value::Float(1f64.clamp(low, high)),
        Kind::Bool => Value::Bool(false),
        Kind::Word(words) => Value::Word(words.first().copied().unwrap_or_default().to_owned()),
        Kind::Numbers(_) => Value::Numbers(Vec::new()),
    }
}

/// Every table and its keys. A table whose keys depend on its kind is there once for each.
#[must_use]
pub fn known() -> Vec<Known> {
    let survey = Survey::default();
    let files_read = FilesRead::default();
    let place = Around {
        file: "",
        base: Path::new(""),
        files_read: &files_read,
        options: &[],
        sets: &[],
        scale: None,
        linux: false,
        resolved: false,
        survey: Some(&survey),
    };
    survey.allowed("top", KEYS);
    of_topology(place, &survey);
    const PFC: &str = "shared_buffer = \"9MB\"\npfc = \"dynamic\"\npfc_watchdog = \"1ms\"";
    const STATIC: &str = "shared_buffer = \"9MB\"\npfc = \"static\"";
    const TRIM: &str =
        "queues = 2\nscheduler = \"strict\"\nclassifier = \"dscp\"\ntrim = \"either\"";
    read(&["", "shared_buffer = \"9MB\"", PFC, STATIC, TRIM], |node| {
        drop(switch::switch(place, Some(node)));
    });
    Role::ALL.into_iter().for_each(|role| of_schemes(place, &survey, role));
    transport::OTHERS.iter().for_each(|entry| of_protocol(place, &survey, entry));
    of_workloads(place, &survey);
    read(&[""], |node| drop(linux::hosts(place, Some(node))));
    read(&[""], |node| drop(run::run(place, Some(node))));
    read(&[""], |node| drop(classes(place, Some(node))));
    read(&[""], |node| drop(run::measure(place, Some(node))));
    by_kind(&survey, "probe", &[", ports = \"*\""], |list| {
        drop(run::probes(place, list.get("list")));
    });
    let variant = parse("list = [{}]");
    drop(variants(place, &Table::default(), variant.get("list")));
    survey.found.into_inner()
}

fn parse(text: &str) -> Table {
    tree::parse(text, "").unwrap_or_default()
}

/// Gives a reader the table of each text. What it finds wrong in the end is of no interest.
fn read(texts: &[&str], reader: impl Fn(&Node)) {
    for text in texts {
        let inner: Vec<&str> = text.lines().collect();
        let outer = parse(&format!("table = {{ {} }}", inner.join(", ")));
        outer.get("table").into_iter().for_each(&reader);
    }
}

/// Gives a reader lists of one table, `list = [{ ... }]`, once for each kind and text.
fn by_kind(survey: &Survey, table: &str, texts: &[&str], reader: impl Fn(&Table)) {
    // Without one the reader asks which kind, and so says which there are.
    reader(&parse("list = [{}]"));
    let words = survey.words(table, "kind");
    survey.found.borrow_mut().retain(|known| known.table != table);
    for word in words {
        survey.of.replace(Some(("kind", (*word).to_owned())));
        for text in texts {
            reader(&parse(&format!("list = [{{ kind = \"{word}\"{text} }}]")));
        }
    }
    survey.of.replace(None);
}

fn of_topology(place: Around<'_>, survey: &Survey) {
    const MORE: &str = ", host_link = {}, fabric_link = {}, change = [{ link = \"a-b\", \
                        rate = \"1Gbps\", flap = { every = \"2us\", down_for = \"1us\" } }]";
    // What follows from a radix or a ratio is asked for where it is given; "clos" reads its tiers.
    let texts = [
        MORE.to_owned(),
        format!("{MORE}, hosts_per_tor = 2, tier = [{{}}, {{ link = {{}} }}, {{}}]"),
        format!("{MORE}, oversubscription = 2, tier = [{{}}, {{}}]"),
        format!("{MORE}, radix = 8, tiers = 3"),
    ];
    let texts = texts.each_ref().map(String::as_str);
    by_kind(survey, "topology", &texts, |list| {
        let node = list.get("list").and_then(Node::array).and_then(|nodes| nodes.first());
        drop(topology::topology(place, node));
    });
}

/// The names of a place, and what each may have beside its name.
fn of_schemes(place: Around<'_>, survey: &Survey, role: Role) {
    for name in role.names().into_iter().chain(schemes::words(role).iter().copied()) {
        survey.of.replace(Some(("scheme", name.to_owned())));
        read(&[&format!("scheme = \"{name}\"")], |node| {
            let node = Some(node);
            match role {
                Role::LoadBalancer => drop(schemes::load_balancer(place, node)),
                Role::Aqm => drop(schemes::aqm(place, node, "dctcp")),
                Role::Hold => drop(schemes::hold(place, node)),
                Role::HostEdge => drop(schemes::host_edge(place, node, ("ecmp", None))),
                Role::Transport => drop(transport::transport(place, node, Span::from_micros(100))),
            }
        });
        survey.of.replace(None);
    }
}

/// Protocols other than TCP, whose rate controls are no congestion controls of the registry.
fn of_protocol(place: Around<'_>, survey: &Survey, entry: &Entry) {
    survey.protocol.replace(Some(entry.word));
    for name in entry.schemes {
        survey.of.replace(Some(("scheme", (*name).to_owned())));
        for more in [""].iter().chain(entry.more) {
            let text = format!("kind = \"{}\"\nscheme = \"{name}\"\n{more}", entry.word);
            read(&[&text], |node| {
                drop(transport::transport(place, Some(node), Span::from_micros(100)));
            });
        }
        survey.of.replace(None);
    }
    survey.protocol.replace(None);
}

fn of_workloads(place: Around<'_>, survey: &Survey) {
    const GRAPH: TopologyKind =
        TopologyKind::LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, links_per_pair: 1 };
    let workload = |list: &Table| drop(workload::workloads(place, list.get("list"), &GRAPH));
    // Alternatives are asked for where they are given.
    let texts = [
        "",
        ", load = 0.5, flows = 1, sizes = \"web-search\"",
        ", interarrival = \"1us\", duration = \"1ms\", sizes = \"web-search\"",
        ", rate = \"1Gbps\", flows = 1, sizes = \"web-search\"",
        ", path = \"/dev/null\", time_unit = \"us\", load = 0.5",
        ", collective = \"all-to-allv\", sizes = \"web-search\"",
    ];
    by_kind(survey, "workload", &texts, workload);
    survey.focus.replace("workload.sizes");
    let sizes = |list: &Table| {
        let mut outer = parse("list = [{ load = 0.5, flows = 1 }]");
        let law = list.get("list").and_then(Node::array).and_then(|nodes| nodes.first());
        if let (Some(outer), Some(law)) = (first(&mut outer), law) {
            outer.insert("sizes", law.clone());
        }
        workload(&outer);
    };
    by_kind(survey, "workload.sizes", &[""], sizes);
    workload(&parse("list = [{ load = 0.5, flows = 1, sizes = [{ sizes = \"web-search\" }] }]"));
    survey.focus.replace("");
}

fn first(table: &mut Table) -> Option<&mut Table> {
    match &mut table.get_mut("list")?.data {
        tree::Data::Array(nodes) => match &mut nodes.first_mut()?.data {
            tree::Data::Table(table) => Some(table),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, of: Option<&str>) -> Known {
        let same = |known: &Known| {
            known.table == name && known.of.as_ref().map(|(_, word)| word.as_str()) == of
        };
        known().into_iter().find(same).unwrap_or_else(|| panic!("{name} {of:?}"))
    }

    fn names(known: &Known) -> Vec<&str> {
        known.keys.iter().map(|key| key.name.as_str()).collect()
    }

    /// Breaks if a reader stops before it has asked for all that it knows: a key then has no kind.
    #[test]
    fn values_have_kinds() {
        let without: Vec<(String, String)> = known()
            .iter()
            .filter(|known| known.table != "top")
            .flat_map(|known| known.keys.iter().map(move |key| (known, key)))
            .filter(|(_, key)| key.kind.is_none())
            .map(|(known, key)| (known.table.clone(), key.name.clone()))
            .collect();
        // What is more than a value.
        let rich = [
            "change",
            "host_link",
            "fabric_link",
            "link",
            "tier",
            "oversubscription",
            "flap",
            "weights",
            "stage_queues",
            "pfc_priorities",
            "scheme",
            "sizes",
            "senders",
            "hosts",
            "receivers",
            "path",
            "checksum",
            "start",
            "name",
            "points",
            "window",
            "warmup",
            "ports",
            "flows",
            "set",
            "congestion",
            "sysctl",
            "kernel",
            "command",
            "environment",
            "folder",
        ];
        for (table, key) in without {
            assert!(rich.contains(&key.as_str()), "{table}.{key}");
        }
    }

    /// Breaks if kinds are mixed up, or a default or a word beside the value is lost.
    #[test]
    fn keys_are_those_of_their_kind() {
        let incast = table("workload", Some("incast"));
        assert!(names(&incast).contains(&"fan_in") && !names(&incast).contains(&"load"));
        let fan_in = incast.keys.iter().find(|key| key.name == "fan_in").expect("a key");
        assert_eq!((fan_in.or, fan_in.default.as_deref()), (Some("all"), Some("all")));
        let star = table("topology", Some("star"));
        assert!(names(&star).contains(&"hosts") && !names(&star).contains(&"fabric_link"));
        assert_eq!(names(&table("workload.sizes", Some("fixed"))), ["kind", "bytes"]);
        assert_eq!(names(&table("workload.sizes.0", None)), ["weight", "sizes"]);
        assert_eq!(names(&table("topology.change.flap", Some("tree")))[2], "times");
        assert!(names(&table("load_balancer", Some("letflow"))).contains(&"gap"));
    }
}
