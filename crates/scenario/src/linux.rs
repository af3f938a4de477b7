//! `[hosts]`: the model's hosts, or kernels.

use crate::error::ScenarioError;
use crate::section::{Around, Section, content, decode};
use crate::tree::{Data, Node, Origin, Table, quote, quote_key};
use leafspine_core::Span;
use leafspine_schemes::{Kind, edge, registry};
use leafspine_sim::spec::{
    HostsSpec, LinuxSpec, ProbeKind, Protocol, Spec, TransportSpec, WorkloadKind, WorkloadSpec,
};
use leafspine_sim::{LinuxError, installed_linux};

const KEYS: &[&str] = &["kind", "congestion", "sysctl", "interrupt_moderation", "kernel"];
/// The names of these controls in the model and in the kernel, whose BBR is the first; BBRv3 is in none.
const CONTROLS: &[(&str, &str)] =
    &[("newreno", "reno"), ("cubic", "cubic"), ("dctcp", "dctcp"), ("bbr1", "bbr")];
/// The largest packets of a network device without jumbo frames, and those in which TCP has room.
const PACKETS: std::ops::RangeInclusive<u32> = 256..=1500;

/// What `[hosts]` says, before `[transport]` is read.
pub(crate) struct Hosts {
    kernel: Option<String>,
    congestion: Option<String>,
    sysctl: Vec<(String, String)>,
    interrupt_moderation: Span,
}

/// Whether `[hosts]` asks for kernels.
pub(crate) fn is_linux(node: Option<&Node>) -> bool {
    let kind = node.and_then(Node::table).and_then(|table| table.get("kind"));
    kind.and_then(Node::text) == Some("linux")
}

/// Reads `[hosts]`; `None`: the model's.
pub(crate) fn hosts(
    place: Around<'_>,
    node: Option<&Node>,
) -> Result<Option<Hosts>, ScenarioError> {
    let mut section = Section::open(place, "hosts".to_owned(), node)?;
    section.allow(KEYS, "an unknown key")?;
    let kind = section.word("kind", &["model", "linux"], Some("model"))?;
    if place.survey.is_some() {
        // All keys are the kernel's.
    } else if kind == "model" {
        // Beside the word "model" they are for variants that are kernels.
        let own = KEYS[1..].iter().find(|key| section.has(key) && !section.has("kind"));
        return match own {
            Some(key) => {
                let found = format!("{key} without kind = \"linux\"");
                Err(section.wrong(key, found, "kind = \"linux\" beside it"))
            }
            None => Ok(None),
        };
    }
    let congestion =
        name(&section, "congestion", "a congestion control of the kernel's: \"cubic\"")?;
    let kernel = name(&section, "kernel", "a kernel's version and hash, as a result has it")?;
    let sysctl = sysctl(&section)?;
    let interrupt_moderation = section.span("interrupt_moderation", Some("0s"))?;
    Ok(Some(Hosts { kernel, congestion, sysctl, interrupt_moderation }))
}

fn name(section: &Section<'_>, key: &str, allowed: &str) -> Result<Option<String>, ScenarioError> {
    let Some(node) = section.node(key) else { return Ok(None) };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    match node.text() {
        Some(text) if !text.is_empty() && text.chars().all(plain) => Ok(Some(text.to_owned())),
        _ => Err(section.wrong(key, node.shown(), allowed)),
    }
}

/// Files under `/proc/sys` and their values.
fn sysctl(section: &Section<'_>) -> Result<Vec<(String, String)>, ScenarioError> {
    let Some(node) = section.node("sysctl") else { return Ok(Vec::new()) };
    let allowed = "a table such as { \"net.ipv4.tcp_rto_min_us\" = 5000 }";
    let Some(Table(entries)) = node.table() else {
        return Err(section.wrong("sysctl", node.shown(), allowed));
    };
    let mut all = Vec::new();
    flatten(section, "", entries, &mut all)?;
    Ok(all)
}

/// `net.ipv4.x = 1` without quotes is a table in a table.
fn flatten(
    section: &Section<'_>,
    before: &str,
    entries: &[(String, Node)],
    all: &mut Vec<(String, String)>,
) -> Result<(), ScenarioError> {
    for (key, node) in entries {
        let key = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let wrong = |found: String, allowed: &str| {
            let at = section.key(&format!("sysctl.{}", quote_key(&key)));
            Err(section.place.error(Some(node.origin), &at, found, allowed))
        };
        let value = match &node.data {
            Data::Table(Table(inner)) => {
                flatten(section, &key, inner, all)?;
                continue;
            }
            Data::Int(number) => number.to_string(),
            Data::Bool(flag) => u8::from(*flag).to_string(),
            Data::Text(text) if !text.contains('\n') => text.clone(),
            _ => return wrong(node.shown(), "a whole number or a text: \"4096 131072 6291456\""),
        };
        if !key.chars().all(plain) || key.split('.').any(str::is_empty) {
            return wrong(quote(&key), "a key such as net.ipv4.tcp_rto_min_us");
        }
        if key == "net.ipv4.tcp_congestion_control" {
            return wrong(quote(&key), "hosts.congestion instead");
        }
        all.push((key, value));
    }
    Ok(())
}

impl Hosts {
    /// The kernels, with what `[transport]` says of them, and both tables written out: a kernel has all
    /// but the size of packets from itself.
    pub(crate) fn with(
        self,
        place: Around<'_>,
        root: &Table,
        transport: &mut TransportSpec,
    ) -> Result<(HostsSpec, String, String), ScenarioError> {
        let written = root.get("transport").and_then(Node::table);
        if transport.protocol != Protocol::Tcp {
            let origin = written.and_then(|table| table.get("kind")).map(|node| node.origin);
            let allowed = "\"tcp\" for hosts that are Linux kernels";
            let found = quote(transport.protocol.word());
            return Err(place.error(origin, "transport.kind", found, allowed));
        }
        let congestion = match self.congestion {
            Some(given) => given,
            None => control_of(place, root, &transport.scheme.name)?,
        };
        let kernel = match self.kernel {
            Some(kernel) => kernel,
            None => present(place, root)?,
        };
        let given = written.and_then(|table| table.get("ecn"));
        let ecn = match given {
            Some(node) => decode(place, "transport.ecn", node, Kind::Bool)?,
            None => leafspine_schemes::Value::Bool(congestion == "dctcp"),
        };
        let ecn = content!(ecn, Bool);
        transport.ecn = Some(ecn);
        let sysctl: Vec<String> = self
            .sysctl
            .iter()
            .map(|(key, value)| format!("{} = {}", quote_key(key), quote(value)))
            .collect();
        let mut text = format!("[hosts]\nkind = \"linux\"\ncongestion = {}\n", quote(&congestion));
        text += &format!("kernel = {}\n", quote(&kernel));
        if !sysctl.is_empty() {
            text += &format!("sysctl = {{ {} }}\n", sysctl.join(", "));
        }
        let interrupt_moderation = self.interrupt_moderation;
        if interrupt_moderation > Span::ZERO {
            text += &format!("interrupt_moderation = \"{interrupt_moderation}\"\n");
        }
        let (mss, header) = (transport.mss, transport.header);
        let transport_text = format!("[transport]\necn = {ecn}\nmss = {mss}\nheader = {header}\n");
        let sysctl = self.sysctl;
        let spec = LinuxSpec { kernel, congestion, ecn, sysctl, interrupt_moderation };
        Ok((HostsSpec::Linux(spec), text, transport_text))
    }

    /// The model's name for the congestion control, which decides what queues do by default.
    pub(crate) fn control(&self) -> Option<&str> {
        let given = self.congestion.as_deref()?;
        Some(CONTROLS.iter().find(|(_, kernel)| *kernel == given).map_or(given, |(model, _)| model))
    }
}

/// The kernel's name for a control of the model's.
fn control_of(place: Around<'_>, root: &Table, scheme: &str) -> Result<String, ScenarioError> {
    if let Some((_, kernel)) = CONTROLS.iter().find(|(model, _)| *model == scheme) {
        return Ok((*kernel).to_owned());
    }
    let origin = root.get("hosts").map(|node| node.origin);
    let found = format!("nothing, and transport.scheme = {}, which no kernel has", quote(scheme));
    let allowed =
        "a congestion control of the kernel's, such as \"cubic\", \"dctcp\", \"bbr\" or \"reno\"";
    Err(place.error(origin, "hosts.congestion", found, allowed))
}

/// What the kernel is that is there.
fn present(place: Around<'_>, root: &Table) -> Result<String, ScenarioError> {
    if place.survey.is_some() {
        return Ok(String::new());
    }
    installed_linux().map(|installed| installed.identity).map_err(|error| {
        let table = root.get("hosts").and_then(Node::table);
        let origin = table.and_then(|table| table.get("kind")).map(|node| node.origin);
        let (found, then) = match error {
            LinuxError::Missing { what, path, remedy } => {
                (format!("{what}: {path}"), format!("after {remedy}"))
            }
            other => (other.to_string(), "with a kernel that can be read".to_owned()),
        };
        let found = format!("\"linux\", but {found}");
        place.error(origin, "hosts.kind", found, format!("\"model\", or \"linux\" {then}"))
    })
}

/// What kernels take of `[transport]`; all else is the model's.
const OF_KERNELS: &[&str] = &["kind", "scheme", "ecn", "mss", "header"];

/// Refuses settings of the model's TCP in a file all of whose cases have kernels: they would have
/// no effect. Where kernels are asked for from outside (`--set hosts.kind=linux`), the file is one
/// of the model's, and they are passed over.
pub(crate) fn check_unread<'a>(
    place: Around<'_>,
    cases: impl Iterator<Item = &'a Table> + Clone,
) -> Result<(), ScenarioError> {
    let by_file = |tree: &Table| {
        let kind = tree.get("hosts").and_then(Node::table).and_then(|table| table.get("kind"));
        kind.is_some_and(|node| !matches!(node.origin, Origin::Override(_)))
    };
    if !cases.clone().all(|tree| is_linux(tree.get("hosts")) && by_file(tree)) {
        return Ok(());
    }
    let tables = cases.filter_map(|tree| tree.get("transport").and_then(Node::table));
    let mut entries = tables.flat_map(|Table(entries)| entries);
    match entries.find(|(key, _)| !OF_KERNELS.contains(&key.as_str())) {
        Some((key, node)) => {
            let found = format!("{}, and kernels as hosts in every case", node.shown());
            let allowed = format!(
                "{} here, since kernels have the rest from themselves (hosts.sysctl changes it)",
                OF_KERNELS.join(", ")
            );
            Err(place.error(Some(node.origin), &format!("transport.{key}"), found, allowed))
        }
        None => Ok(()),
    }
}

/// Refuses what makes no sense with kernels, and what does so only with them.
pub(crate) fn check(place: Around<'_>, root: &Table, spec: &Spec) -> Result<(), ScenarioError> {
    let at = |table: &str, key: &str| {
        let node = root.get(table)?;
        Some(node.table().and_then(|table| table.get(key)).map_or(node.origin, |node| node.origin))
    };
    let refuse = |table: &str, key: &str, found: String, allowed: &str| {
        Err(place.error(at(table, key), &format!("{table}.{key}"), found, allowed))
    };
    if matches!(spec.hosts, HostsSpec::Model) {
        let runs = |one: &WorkloadSpec| matches!(one.kind, WorkloadKind::Program(_));
        if let Some(number) = spec.workloads.iter().position(runs) {
            let tables = root.get("workload").and_then(Node::array);
            let origin = tables.and_then(|tables| tables.get(number)).map(|node| node.origin);
            let allowed = "hosts.kind = \"linux\" beside it: hosts of the model run no programs";
            let key = format!("workload.{number}.kind");
            return Err(place.error(origin, &key, "\"program\"", allowed));
        }
        let asks = spec.probes.iter().position(|probe| probe.kind == ProbeKind::TcpInfo);
        return match asks {
            Some(number) => {
                let tables = root.get("probe").and_then(Node::array);
                let origin = tables.and_then(|tables| tables.get(number)).map(|node| node.origin);
                let key = format!("probe.{number}.kind");
                let allowed =
                    "hosts.kind = \"linux\", whose kernels it asks; \"window\" has the model's";
                Err(place.error(origin, &key, "\"tcp-info\"", allowed))
            }
            None => Ok(()),
        };
    }
    let in_background = |one: &WorkloadSpec| match &one.kind {
        WorkloadKind::Program(program) => program.background,
        _ => false,
    };
    if spec.run.until.is_none() && spec.workloads.iter().all(in_background) {
        let origin = root.get("workload").map(|node| node.origin);
        let allowed = "a program or flows that end the run, or run.until beside it";
        let found = "true for all that the run does";
        return Err(place.error(origin, "workload.0.background", found, allowed));
    }
    let job = spec.workloads.iter().position(|one| matches!(one.kind, WorkloadKind::Job(_)));
    if let Some(number) = job {
        let tables = root.get("workload").and_then(Node::array);
        let origin = tables.and_then(|tables| tables.get(number)).map(|node| node.origin);
        let found = "jobs, whose messages wait for each other at their hosts";
        let allowed =
            "a workload of flows that start at given times: the program in the kernels sends those";
        return Err(place.error(origin, &format!("workload.{number}.kind"), found, allowed));
    }
    let transport = &spec.transport;
    let packet = transport.mss + transport.header;
    if !PACKETS.contains(&packet) {
        let found = format!("{} bytes and a header of {}", transport.mss, transport.header);
        return refuse("transport", "mss", found, "256 to 1500 bytes in all: the kernels' devices");
    }
    if !transport.handshake {
        let allowed = "true: the hosts' kernels shake hands";
        return refuse("transport", "handshake", "false".to_owned(), allowed);
    }
    if transport.source_ports.is_some() {
        let allowed = "\"one a flow\": a kernel has one connection of a pair of ports";
        return refuse("transport", "source_ports", "fewer ports than flows".to_owned(), allowed);
    }
    match spec.edge.as_ref() {
        Some(edge) if needs_stack(edge) => {
            let found = quote(&edge.name);
            let allowed = "an edge that packets alone tell enough, or none: this one has to be told by the \
                           hosts' TCP of ACKs, round trips or losses, or hands it packets in order, and \
                           these hosts are kernels";
            refuse("host_edge", "scheme", found, allowed)
        }
        _ => Ok(()),
    }
}

/// Whether an edge is told by the transport, or keeps packets from it.
fn needs_stack(scheme: &leafspine_sim::spec::SchemeSpec) -> bool {
    let of = |entry: &edge::Entry| {
        entry.by_stack || entry.in_order.is_some_and(|found| (found.on)(&scheme.params))
    };
    registry::host_edge(&scheme.name).is_some_and(of)
}
