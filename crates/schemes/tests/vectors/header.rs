//! A vector's header: which scheme, with which parameters, placed where, drawing from which stream.

use super::bounds;
use super::line::{Args, Wrong, number};
use super::vector::Stuck;
use leafspine_core::{Bytes, HostId, PortId, Rate, Rng, Role, Span, SwitchId, TorId};
use leafspine_schemes::edge::HostEnv;
use leafspine_schemes::registry::Place;
use leafspine_schemes::testing::{FakeHost, FakeLeaf};
use leafspine_schemes::units::parse_amount;
use leafspine_schemes::{
    Amount, Level, Neighbour, Params, PortInfo, Scale, SchemeInfo, SwitchEnv, Value,
};
use std::fmt;
use std::sync::Arc;

/// See `docs/decision-vectors.md`. What a header leaves out is as in `FakeLeaf` and `FakeHost`.
pub struct Header {
    /// What stands above, each line with its `#`.
    comments: Vec<String>,
    pub place: Place,
    pub info: &'static SchemeInfo,
    pub params: Params,
    /// Key of the random stream; the role follows from the place.
    seed: u64,
    id: u64,
    pub switch: SwitchEnv,
    pub host: HostEnv,
    /// The port that a queue manager manages.
    pub manages: PortId,
}

const FORMAT: u64 = 1;

/// What takes several lines of a header.
#[derive(Default)]
struct Lists {
    ports: Vec<PortInfo>,
    tor_of: Vec<TorId>,
}

impl Lists {
    /// `tor tor=1 hosts=4,5,6,7`: hosts are numbered ToR by ToR.
    fn tor(&mut self, args: &mut Args<'_>) -> Result<(), Wrong> {
        let tor = TorId(args.number("tor")?);
        for host in args.numbers::<usize>("hosts")?.unwrap_or_default() {
            if host != self.tor_of.len() {
                return Err(format!("found host {host}; expected {}", self.tor_of.len()));
            }
            self.tor_of.push(tor);
        }
        Ok(())
    }
}

impl Header {
    pub fn parse(lines: &[&str]) -> Result<Header, Stuck> {
        let comment = |line: &&&str| line.is_empty() || line.starts_with('#');
        let above = lines.iter().take_while(comment).count();
        let first = lines.get(above).ok_or((1, "no header".to_owned()))?;
        let mut header = Header::first(first).map_err(|why| (above + 1, why))?;
        header.comments = lines[..above].iter().map(|line| (*line).to_owned()).collect();
        let mut lists = Lists::default();
        for (index, line) in lines.iter().enumerate().skip(above + 1) {
            if !comment(&line) {
                header.line(line, &mut lists).map_err(|why| (index + 1, why))?;
            }
        }
        if !lists.ports.is_empty() {
            header.switch.ports = lists.ports;
        }
        if !lists.tor_of.is_empty() {
            let tor_of: Arc<[TorId]> = lists.tor_of.into();
            (header.switch.tor_of, header.host.tor_of) = (tor_of.clone(), tor_of);
        }
        header.check().map_err(|why| (above + 1, why))?;
        Ok(header)
    }

    /// Refuses places that cannot be.
    fn check(&self) -> Result<(), Wrong> {
        if self.place == Place::HostEdge {
            return bounds::host(&self.host);
        }
        bounds::switch(&self.switch)?;
        let there = usize::from(self.manages.0) < self.switch.ports.len();
        match there || self.place != Place::Aqm {
            true => Ok(()),
            false => Err(format!("manages: there is no port {}", self.manages.0)),
        }
    }

    /// `vector format=1 place=load_balancer scheme=letflow`.
    fn first(line: &str) -> Result<Header, Wrong> {
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some("vector") {
            return Err("a header begins with \"vector\"".to_owned());
        }
        let mut args = Args::parse(words)?;
        let format = args.maybe("format")?.unwrap_or(FORMAT);
        if format != FORMAT {
            return Err(format!("format={format}; allowed: {FORMAT}"));
        }
        let (place, scheme) = (args.word("place")?, args.word("scheme")?);
        args.finish()?;
        Header::standard(place, scheme)
    }

    /// The scheme with its defaults in the standard place.
    pub fn standard(place: &str, scheme: &str) -> Result<Header, Wrong> {
        let table = |known: &Place| known.table() == place;
        let place = Place::ALL.into_iter().find(table).ok_or(format!("no place is {place}"))?;
        let info = place.find(scheme).ok_or(format!("no scheme is called {scheme}"))?;
        let manages = PortId(4);
        let mut switch = FakeLeaf::new(4, 4, 1).env;
        let mut host = FakeHost::new(1460).env;
        if info.demands.queues > switch.queues {
            switch.queues = info.demands.queues;
            switch.weights = vec![1; usize::from(switch.queues)];
            switch.stage_queues = (0..switch.queues).collect();
            host.stage_queues = switch.stage_queues.clone();
        }
        Ok(Header {
            comments: Vec::new(),
            place,
            info,
            params: Params::try_defaults(info.params).map_err(|error| error.to_string())?,
            seed: 1,
            id: if place == Place::Aqm { u64::from(manages.0) } else { 0 },
            switch,
            host,
            manages,
        })
    }

    fn line(&mut self, line: &str, lists: &mut Lists) -> Result<(), Wrong> {
        let mut words = line.split_ascii_whitespace();
        let head = words.next().unwrap_or_default();
        let mut args = Args::parse(words)?;
        match head {
            "param" => self.param(&mut args)?,
            "random" => {
                self.seed = args.number("seed")?;
                self.id = args.number("id")?;
                let role: u64 = args.number("role")?;
                if role != self.role() as u64 {
                    return Err(format!("role={role}; here it is {}", self.role() as u64));
                }
            }
            "switch" => self.switch(&mut args)?,
            "port" => lists.ports.push(port(lists.ports.len(), &mut args)?),
            "tor" => lists.tor(&mut args)?,
            "manages" => self.manages = PortId(args.number("port")?),
            "host" => self.host(&mut args)?,
            _ => return Err(format!("no header line begins with \"{head}\"")),
        }
        args.finish()
    }

    fn param(&mut self, args: &mut Args<'_>) -> Result<(), Wrong> {
        for (key, text) in args.rest() {
            let declared = self.info.params.iter().find(|param| param.name == key);
            let declared = declared.ok_or(format!("{} has no {key}", self.info.name))?;
            let value = Value::parse(&declared.kind, text, &Scale::REFERENCE)?;
            self.params.0.insert(key.to_owned(), value);
        }
        Ok(())
    }

    fn switch(&mut self, args: &mut Args<'_>) -> Result<(), Wrong> {
        let env = &mut self.switch;
        set(&mut env.switch, args.maybe("id")?.map(SwitchId));
        set(&mut env.level, args.maybe("level")?.map(Level));
        match args.text("tor") {
            Some("none") => env.tor = None,
            Some(text) => env.tor = Some(TorId(number("tor", text)?)),
            None => {}
        }
        set(&mut env.tors, args.maybe("tors")?);
        set(&mut env.hosts, args.maybe("hosts")?);
        set(&mut env.hash_seed, args.maybe("hash_seed")?);
        set(&mut env.base_rtt, args.maybe("base_rtt")?.map(Span));
        set(&mut env.mtu, args.maybe("mtu")?);
        set(&mut env.queues, args.maybe("queues")?);
        set(&mut env.weights, args.numbers("weights")?);
        set(&mut env.in_turns, args.maybe::<u8>("in_turns")?.map(|yes| yes == 1));
        set(&mut env.stage_queues, args.numbers("stage_queues")?);
        if let Some(text) = args.text("buffer") {
            env.buffer = parse_amount(text).map_err(|error| error.to_string())?;
        }
        match args.text("mean_flow") {
            Some("unknown") => env.mean_flow = None,
            Some(text) => env.mean_flow = Some(Bytes(number("mean_flow", text)?)),
            None => {}
        }
        Ok(())
    }

    fn host(&mut self, args: &mut Args<'_>) -> Result<(), Wrong> {
        let env = &mut self.host;
        set(&mut env.host, args.maybe("id")?.map(HostId));
        set(&mut env.hosts, args.maybe("hosts")?);
        set(&mut env.seed, args.maybe("seed")?);
        set(&mut env.mss, args.maybe("mss")?);
        set(&mut env.mtu, args.maybe("mtu")?);
        set(&mut env.tor, args.maybe("tor")?.map(TorId));
        set(&mut env.uplinks, args.maybe("uplinks")?);
        set(&mut env.rate, args.maybe("rate")?.map(Rate));
        set(&mut env.uplink_rate, args.maybe("uplink_rate")?.map(Rate));
        set(&mut env.stage_queues, args.numbers("stage_queues")?);
        set(&mut env.base_rtt, args.maybe("base_rtt")?.map(Span));
        Ok(())
    }

    fn role(&self) -> Role {
        match self.place {
            Place::Aqm => Role::Aqm,
            Place::Hold => Role::Hold,
            Place::HostEdge => Role::Edge,
            Place::LoadBalancer | Place::Transport => Role::Balancer,
        }
    }

    /// The stream as the vector starts.
    pub fn rng(&self) -> Rng {
        Rng::new(self.seed, self.role(), self.id)
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// `port port=4 switch=4 switch_port=0 rate=10000000000 delay=1000000`, or with `host=`.
fn port(expected: usize, args: &mut Args<'_>) -> Result<PortInfo, Wrong> {
    let number: usize = args.number("port")?;
    if number != expected {
        return Err(format!("found port {number}; expected {expected}"));
    }
    let neighbour = match args.maybe("host")? {
        Some(host) => Neighbour::Host(HostId(host)),
        None => {
            Neighbour::Switch(SwitchId(args.number("switch")?), PortId(args.number("switch_port")?))
        }
    };
    let (rate, delay) = (Rate(args.number("rate")?), Span(args.number("delay")?));
    Ok(PortInfo { neighbour, rate, delay })
}

/// A parameter in its smallest unit, without quotes or blanks.
fn plain(value: &Value) -> String {
    match value {
        Value::Span(v) => format!("{}ps", v.0),
        Value::Bytes(v) => format!("{}B", v.0),
        Value::Rate(v) => format!("{}bps", v.0),
        Value::Amount(v) => amount(*v),
        other => other.to_string().replace([' ', '"'], ""),
    }
}

fn amount(value: Amount) -> String {
    match value {
        Amount::Packets(n) => format!("{n}pkt"),
        Amount::Bytes(n) => format!("{n}B"),
    }
}

impl fmt::Display for Header {
    /// In full, as a vector has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for comment in &self.comments {
            writeln!(f, "{comment}")?;
        }
        let (place, scheme) = (self.place.table(), self.info.name);
        writeln!(f, "vector format={FORMAT} place={place} scheme={scheme}")?;
        let defaults = Params::try_defaults(self.info.params).unwrap_or_default();
        for (key, value) in &self.params.0 {
            // One whose default has changed since is said: vectors are read without this page's history.
            let quiet = self.info.params.iter().any(|param| {
                param.name == key && param.before.is_some() && param.before == param.default
            });
            if !quiet || defaults.0.get(key) != Some(value) {
                writeln!(f, "param {key}={}", plain(value))?;
            }
        }
        let (seed, role, id) = (self.seed, self.role() as u64, self.id);
        writeln!(f, "random seed={seed} role={role} id={id}")?;
        if self.place == Place::HostEdge { self.show_host(f) } else { self.show_switch(f) }
    }
}

/// Numbers with commas between them.
fn list<T: fmt::Display>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}

fn show_tors(f: &mut fmt::Formatter<'_>, tor_of: &[TorId]) -> fmt::Result {
    let mut host = 0;
    for rack in tor_of.chunk_by(|a, b| a == b) {
        writeln!(f, "tor tor={} hosts={}", rack[0].0, list(host..host + rack.len()))?;
        host += rack.len();
    }
    Ok(())
}

impl Header {
    fn show_switch(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Field by field, so that a new one cannot be left out.
        let SwitchEnv {
            switch,
            level,
            tor,
            tors,
            hosts,
            ports,
            hash_seed,
            base_rtt,
            mtu,
            queues,
            weights,
            in_turns,
            stage_queues,
            tor_of,
            buffer,
            mean_flow,
        } = &self.switch;
        let tor = tor.map_or("none".to_owned(), |tor| tor.0.to_string());
        write!(f, "switch id={} level={} tor={tor} tors={tors}", switch.0, level.0)?;
        write!(f, " hosts={hosts} hash_seed={hash_seed:#018x} base_rtt={}", base_rtt.0)?;
        write!(f, " mtu={mtu} queues={queues} weights={}", list(weights))?;
        write!(f, " in_turns={} stage_queues={}", u8::from(*in_turns), list(stage_queues))?;
        let mean = mean_flow.map_or("unknown".to_owned(), |mean| mean.0.to_string());
        writeln!(f, " buffer={} mean_flow={mean}", amount(*buffer))?;
        for (number, PortInfo { neighbour, rate, delay }) in ports.iter().enumerate() {
            write!(f, "port port={number}")?;
            match neighbour {
                Neighbour::Host(host) => write!(f, " host={}", host.0)?,
                Neighbour::Switch(switch, there) => {
                    write!(f, " switch={} switch_port={}", switch.0, there.0)?;
                }
            }
            writeln!(f, " rate={} delay={}", rate.0, delay.0)?;
        }
        if self.place == Place::Aqm {
            writeln!(f, "manages port={}", self.manages.0)?;
        }
        show_tors(f, tor_of)
    }

    fn show_host(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostEnv {
            host,
            hosts,
            seed,
            mss,
            mtu,
            tor,
            tor_of,
            uplinks,
            rate,
            uplink_rate,
            stage_queues,
            base_rtt,
        } = &self.host;
        write!(f, "host id={} hosts={hosts} tor={} seed={seed}", host.0, tor.0)?;
        write!(f, " mss={mss} mtu={mtu} rate={} uplinks={uplinks}", rate.0)?;
        write!(f, " uplink_rate={} stage_queues={}", uplink_rate.0, list(stage_queues))?;
        writeln!(f, " base_rtt={}", base_rtt.0)?;
        show_tors(f, tor_of)
    }
}
