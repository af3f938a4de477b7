//! A mock switch: what a vector's events do to its balancer, manager and hold.

use super::bounds;
use super::header::Header;
use super::line::{Args, Decision, Wrong};
use super::packet::{Packets, changes, described};
use super::vector::Device;
use leafspine_core::{PortId, Rate, Rng, Span, Time, TorId};
use leafspine_schemes::aqm::{Admit, Aqm, Release};
use leafspine_schemes::hold::{Expired, Held, HoldQueue, Ingress, IngressHold, Needs, Unit};
use leafspine_schemes::lb::{Arrival, LoadBalancer};
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::testing::{FakeLeaf, FakePort};
use leafspine_schemes::{Backlog, ParamError, Ports, QueueView};
use std::collections::BTreeMap;

/// The scheme under test. A balancer may be a manager and a hold too.
enum Scheme {
    Balancer(Box<dyn LoadBalancer>),
    Aqm(Box<dyn Aqm>),
    Hold(Box<dyn IngressHold>),
}

/// Live ports, and what the way through each has.
#[derive(Clone)]
struct Ways {
    ports: Vec<PortId>,
    capacity: Vec<u32>,
    delay: Vec<Span>,
}

pub struct Switch {
    leaf: FakeLeaf,
    scheme: Scheme,
    /// The live ports towards each leaf.
    paths: BTreeMap<u16, Ways>,
    packets: Packets,
    /// What each port keeps back.
    held: Vec<Kept>,
}

/// The packets that a port keeps back, by their numbers, and when its switch looks after them.
#[derive(Clone, Default)]
struct Kept {
    queue: HoldQueue<u64>,
    expiry: Option<Time>,
    read: Option<Time>,
}

/// Packets that have gone on, and whether with ECE.
type Gone = Vec<(u64, bool)>;

impl Kept {
    /// Asks for what is due at these times, too.
    fn due(&mut self, expiry: Option<Time>, read: Option<Time>) {
        self.expiry = expiry.or(self.expiry);
        self.read = read.or(self.read);
    }

    /// The next time at which one of the two is due.
    fn next(&self) -> Option<Time> {
        self.expiry.into_iter().chain(self.read).min()
    }

    /// What goes on because its time has come, up to `now`; at one instant expiries come first.
    fn timers(&mut self, now: Time, needs: &Needs) -> Gone {
        let mut gone = Vec::new();
        while let Some(at) = self.next().filter(|at| *at <= now) {
            if self.expiry == Some(at) {
                self.expiry = self.queue.expire(at, needs, |expired| {
                    if let Expired::Goes(packet, ece) = expired {
                        gone.push((packet, ece));
                    }
                });
            } else {
                let (next, again) = self.queue.read(at, needs.pace);
                gone.extend(next);
                self.read = again;
            }
        }
        gone
    }
}

/// Which packets have gone on, and of each whether ECE was set.
fn gone(said: Decision, gone: &Gone) -> Decision {
    if gone.is_empty() {
        return said;
    }
    let list = |show: fn(&(u64, bool)) -> u64| {
        gone.iter().map(|one| show(one).to_string()).collect::<Vec<_>>().join(",")
    };
    said.say("gone", list(|one| one.0)).say("gone_ece", list(|one| u64::from(one.1)))
}

fn make(header: &Header) -> Result<Scheme, ParamError> {
    let (params, env, name) = (&header.params, &header.switch, header.info.name);
    let known = "the header has looked";
    Ok(match header.place {
        Place::Aqm => {
            let entry = registry::queue_manager(name).expect(known);
            Scheme::Aqm((entry.build)(params, env, header.manages)?)
        }
        Place::Hold => {
            let entry = registry::ingress_hold(name).expect(known);
            Scheme::Hold((entry.build)(params, env)?)
        }
        _ => {
            let entry = registry::load_balancer(name).expect(known);
            Scheme::Balancer((entry.build)(params, env)?)
        }
    })
}

impl Switch {
    pub fn new(header: &Header) -> Result<Switch, Wrong> {
        if header.place == Place::Transport {
            return Err("congestion controls have no vectors".to_owned());
        }
        let env = header.switch.clone();
        let idle = vec![Backlog::default(); usize::from(env.queues)];
        let port = |info: &leafspine_schemes::PortInfo| FakePort {
            queues: idle.clone(),
            in_service: 0,
            rate: info.rate,
            delay: info.delay,
            up: true,
        };
        let mut leaf = FakeLeaf::new(1, 1, 0);
        leaf.ports.ports = env.ports.iter().map(port).collect();
        leaf.env = env;
        leaf.rng = header.rng();
        let packets = Packets::among(leaf.env.hosts);
        let scheme = make(header).map_err(|error| error.to_string())?;
        let held = vec![Kept::default(); leaf.ports.ports.len()];
        Ok(Switch { leaf, scheme, paths: BTreeMap::new(), packets, held })
    }

    fn port(&self, args: &mut Args<'_>) -> Result<PortId, Wrong> {
        let number: u16 = args.number("port")?;
        match usize::from(number) < self.leaf.ports.ports.len() {
            true => Ok(PortId(number)),
            false => Err(format!("there is no port {number}")),
        }
    }

    /// A service queue, 0 if none is named.
    fn queue(&self, args: &mut Args<'_>) -> Result<u8, Wrong> {
        let queue = args.maybe("queue")?.unwrap_or(0);
        match queue < self.leaf.env.queues {
            true => Ok(queue),
            false => Err(format!("there is no queue {queue}")),
        }
    }

    /// What the control plane of a P4 switch writes, for a balancer that decides as one.
    pub fn control_plane(&mut self) -> Option<String> {
        let plane = self.balancer().ok()?.inspect().control_plane()?;
        Some(plane.to_json())
    }

    fn balancer(&mut self) -> Result<&mut dyn LoadBalancer, Wrong> {
        match &mut self.scheme {
            Scheme::Balancer(balancer) => Ok(balancer.as_mut()),
            _ => Err("only a balancer is asked this".to_owned()),
        }
    }

    /// Calls the balancer with its context.
    fn ask<T>(
        &mut self,
        call: impl FnOnce(&mut dyn LoadBalancer, &mut leafspine_schemes::Context<'_>) -> T,
    ) -> Result<T, Wrong> {
        let Scheme::Balancer(balancer) = &mut self.scheme else {
            return Err("only a balancer is asked this".to_owned());
        };
        Ok(self.leaf.with(|cx| call(balancer.as_mut(), cx)))
    }

    fn aqm(scheme: &mut Scheme) -> Result<&mut dyn Aqm, Wrong> {
        match scheme {
            Scheme::Aqm(aqm) => Ok(aqm.as_mut()),
            Scheme::Balancer(balancer) => {
                balancer.roles().aqm().ok_or("this balancer manages no queues".to_owned())
            }
            Scheme::Hold(_) => Err("a hold manages no queues".to_owned()),
        }
    }

    fn hold(&mut self) -> Result<&mut dyn IngressHold, Wrong> {
        match &mut self.scheme {
            Scheme::Hold(hold) => Ok(hold.as_mut()),
            Scheme::Balancer(balancer) => {
                balancer.roles().hold().ok_or("this balancer holds nothing back".to_owned())
            }
            Scheme::Aqm(_) => Err("a manager holds nothing back".to_owned()),
        }
    }

    /// What the scheme has put into its outbox.
    fn sent(&mut self) -> Vec<String> {
        let show = |(port, packet): (PortId, _)| format!("port={} {}", port.0, described(&packet));
        self.leaf.outbox.drain(..).map(show).collect()
    }

    fn set_backlog(&mut self, args: &mut Args<'_>) -> Result<(), Wrong> {
        let (port, queue) = (self.port(args)?, self.queue(args)?);
        let port = &mut self.leaf.ports.ports[usize::from(port.0)];
        let (packets, bytes) = (args.number("packets")?, args.number("bytes")?);
        port.queues[usize::from(queue)] = Backlog { packets, bytes, in_service: 0 };
        bounds::backlog(port.queues.iter())?;
        if let Some(in_service) = args.maybe("in_service")? {
            port.in_service = in_service;
        }
        Ok(())
    }

    fn set_link(&mut self, args: &mut Args<'_>) -> Result<(), Wrong> {
        let port = self.port(args)?;
        let port = &mut self.leaf.ports.ports[usize::from(port.0)];
        if let Some(rate) = args.maybe("rate")? {
            port.rate = Rate(rate);
            bounds::rate(port.rate)?;
        }
        if let Some(delay) = args.maybe("delay")? {
            port.delay = Span(delay);
            bounds::delay(port.delay)?;
        }
        if let Some(up) = args.maybe::<u8>("up")? {
            port.up = up == 1;
        }
        Ok(())
    }

    fn set_paths(&mut self, args: &mut Args<'_>) -> Result<(), Wrong> {
        let to = args.maybe("to")?;
        let ports: Vec<u16> = args.numbers("ports")?.ok_or("\"ports=\" is missing")?;
        let capacity: Vec<u32> = args.numbers("capacity")?.ok_or("\"capacity=\" is missing")?;
        let delay: Vec<u64> = args.numbers("delay")?.ok_or("\"delay=\" is missing")?;
        let known = |port: &u16| bounds::leads_on(&self.leaf.env, *port);
        let ways = ports.len();
        if ports.is_empty()
            || !ports.iter().all(known)
            || !ports.is_sorted_by(|a, b| a < b)
            || [capacity.len(), delay.len()] != [ways; 2]
        {
            return Err(
                "ports lead to switches and ascend, with a capacity and a delay each".to_owned()
            );
        }
        let ports = ports.into_iter().map(PortId).collect();
        let paths = Ways { ports, capacity, delay: delay.into_iter().map(Span).collect() };
        paths.delay.iter().try_for_each(|delay| bounds::delay(*delay))?;
        let tors = self.leaf.env.tors;
        to.map_or(Ok(()), |to| bounds::leads_to(to, tors))?;
        let leaves = to.map_or(0..tors, |to| to..to + 1);
        self.paths.extend(leaves.map(|leaf| (leaf, paths.clone())));
        Ok(())
    }

    fn pick(&mut self, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let to = args.number("to")?;
        let (number, mut known) = self.packets.named(args)?;
        let before = known.meta;
        let ways = self.paths.get(&to).ok_or("no paths lead there yet")?.clone();
        (self.leaf.live, self.leaf.capacity, self.leaf.delay) =
            (ways.ports, ways.capacity, ways.delay);
        let Scheme::Balancer(balancer) = &mut self.scheme else {
            return Err("only a balancer is asked this".to_owned());
        };
        let port = self.leaf.pick_towards(balancer.as_mut(), &mut known.meta, TorId(to));
        known.port = Some(port);
        self.packets.keep(number, known);
        let decision = Decision::default().say("port", port.0);
        Ok(self.done(decision, &before, &known.meta))
    }

    /// The decision, with what has become of the packet and what was sent.
    fn done(
        &mut self,
        mut decision: Decision,
        before: &leafspine_core::PacketMeta,
        after: &leafspine_core::PacketMeta,
    ) -> Decision {
        decision.pairs.extend(changes(before, after));
        decision.sent = self.sent();
        decision
    }

    fn arrived(&mut self, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let from = self.port(args)?;
        let (number, mut known) = self.packets.named(args)?;
        let before = known.meta;
        let arrival = self.ask(|balancer, cx| balancer.arrived(&mut known.meta, from, cx))?;
        self.packets.keep(number, known);
        let said = match arrival {
            Arrival::Forward => Decision::default().say("verdict", "forward"),
            Arrival::Consume => Decision::default().say("verdict", "consume"),
            Arrival::Keep(queue) => Decision::default().say("verdict", "keep").say("queue", queue),
        };
        let said = self.released(said)?;
        Ok(self.done(said, &before, &known.meta))
    }

    /// The queues of kept packets that go on.
    fn released(&mut self, mut said: Decision) -> Result<Decision, Wrong> {
        let balancer = self.balancer()?;
        while let Some(queue) = balancer.needs().keeps.then(|| balancer.released()).flatten() {
            said = said.say("released", queue);
        }
        Ok(said)
    }

    fn leaving(&mut self, now: Time, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let named = args.has("port").then(|| self.port(args)).transpose()?;
        let start = args.maybe("start")?.map_or(now, Time);
        bounds::time(start)?;
        let (number, mut known) = self.packets.named(args)?;
        let before = known.meta;
        let port = named.or(known.port).ok_or("no port was picked for it, and none is named")?;
        self.ask(|balancer, cx| balancer.leaving(&mut known.meta, port, start, cx))?;
        self.packets.keep(number, known);
        Ok(self.done(Decision::default().say("port", port.0), &before, &known.meta))
    }

    /// What a line says of a queue: `this` and `port_total` are without the packet in question.
    fn view(&mut self, args: &mut Args<'_>) -> Result<QueueView, Wrong> {
        let (port, queue) = (self.port(args)?, self.queue(args)?);
        let (packets, bytes) = (args.number("packets")?, args.number("bytes")?);
        let in_service = args.maybe("in_service")?.unwrap_or(0);
        let this = Backlog { packets, bytes, in_service };
        let port_total = Backlog {
            packets: args.maybe("total_packets")?.unwrap_or(packets),
            bytes: args.maybe("total_bytes")?.unwrap_or(bytes),
            in_service,
        };
        let rate = self.leaf.ports.rate(port);
        Ok(QueueView { port, queue, this, port_total, rate })
    }

    fn admit(&mut self, now: Time, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let view = self.view(args)?;
        let (_, known) = self.packets.named(args)?;
        let rng = &mut self.leaf.rng;
        let verdict = match Self::aqm(&mut self.scheme)?.admit(&known.meta, &view, now, rng) {
            Admit::Take => "take",
            Admit::Mark => "mark",
            Admit::Drop => "drop",
        };
        Ok(Decision::default().say("verdict", verdict))
    }

    fn release(&mut self, now: Time, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let view = self.view(args)?;
        let waited = Span(args.number("waited")?);
        bounds::span("waited", waited)?;
        let (number, mut known) = self.packets.named(args)?;
        let (before, rng) = (known.meta, &mut self.leaf.rng);
        let aqm = Self::aqm(&mut self.scheme)?;
        let verdict = match aqm.release(&mut known.meta, &view, waited, now, rng) {
            Release::Send => "send",
            Release::Mark => "mark",
            Release::Drop => "drop",
        };
        self.packets.keep(number, known);
        Ok(self.done(Decision::default().say("verdict", verdict), &before, &known.meta))
    }

    fn ingress(&mut self, now: Time, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let (port, backlog) = (self.port(args)?, args.number("backlog")?);
        let (number, known) = self.packets.named(args)?;
        let hold = self.hold()?;
        let (verdict, needs) = (hold.arrived(&known.meta, port, backlog, now), hold.needs());
        let kept = &mut self.held[usize::from(port.0)];
        let (verdict, oldest) = match verdict {
            Ingress::Pass => ("pass", None),
            Ingress::Follow if !kept.queue.is_reading() => ("follow", None),
            Ingress::Follow => ("follow", kept.queue.follow(number.into(), now, &needs)),
            Ingress::Hold => {
                let (oldest, expiry) = kept.queue.keep(number.into(), now, &needs);
                kept.due(expiry, None);
                ("hold", oldest)
            }
        };
        Ok(gone(Decision::default().say("verdict", verdict), &oldest.into_iter().collect()))
    }

    fn backlog_changed(&mut self, now: Time, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let (port, backlog) = (self.port(args)?, args.number("backlog")?);
        let said = Decision::default();
        let hold = self.hold()?;
        let verdict = hold.backlog_changed(port, backlog, now);
        let needs = hold.needs();
        let kept = &mut self.held[usize::from(port.0)];
        let mut out = Vec::new();
        let said = match verdict {
            Held::Keep => said.say("verdict", "keep"),
            Held::Release { ece } => {
                let read =
                    kept.queue.release(ece, now, needs.pace, |packet, ece| out.push((packet, ece)));
                kept.due(None, read);
                said.say("verdict", "release").say("ece", u8::from(ece))
            }
            Held::Stop => {
                let expiry = kept.queue.stop(now, &needs);
                kept.due(expiry, None);
                said.say("verdict", "stop")
            }
        };
        Ok(gone(said, &out))
    }

    /// What a port's timers let go up to now.
    fn timers(&mut self, now: Time, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let port = usize::from(self.port(args)?.0);
        let hold = self.hold()?;
        let needs = hold.needs();
        let out = self.held[port].timers(now, &needs);
        let next = self.held[port].next().map_or("never".to_owned(), |at| at.0.to_string());
        Ok(gone(Decision::default().say("next", next), &out))
    }

    fn needs(&mut self) -> Result<Decision, Wrong> {
        let needs = self.balancer()?.needs();
        Ok([
            ("arrived", needs.arrived),
            ("leaving", needs.leaving),
            ("exact_dequeue", needs.exact_dequeue),
            ("tick", needs.tick),
            ("always_asked", needs.every_packet),
        ]
        .into_iter()
        .chain(needs.keeps.then_some(("keeps", true)))
        .fold(Decision::default(), |said, (key, value)| said.say(key, u8::from(value))))
    }

    fn limits(&mut self) -> Result<Decision, Wrong> {
        let needs = self.hold()?.needs();
        let longest = needs.max_hold.map_or("none".to_owned(), |span| span.0.to_string());
        let forced = u8::from(needs.ece_when_forced);
        let said = Decision::default().say("capacity", needs.capacity).say("max_hold", longest);
        let said = said.say("ece_when_forced", forced);
        // Only where they are not what all holds once had.
        let Needs { unit, pace, .. } = needs;
        let said = if unit == Unit::Bytes { said.say("unit", "bytes") } else { said };
        Ok(if pace > Span::ZERO { said.say("pace", pace.0) } else { said })
    }
}

impl Device for Switch {
    fn step(
        &mut self,
        now: Time,
        op: &str,
        args: &mut Args<'_>,
    ) -> Result<Option<Decision>, Wrong> {
        self.leaf.wait(now.since(self.leaf.now));
        match op {
            "wait" => return Ok(None),
            "backlog" => return self.set_backlog(args).map(|()| None),
            "link" => return self.set_link(args).map(|()| None),
            "paths" => return self.set_paths(args).map(|()| None),
            "needs" => self.needs(),
            "arrived" => self.arrived(args),
            "pick" => self.pick(args),
            "leaving" => self.leaving(now, args),
            "admit" => self.admit(now, args),
            "release" => self.release(now, args),
            "turn_ended" => {
                let (queue, since) = (self.queue(args)?, Time(args.number("since")?));
                bounds::past("since", since, now)?;
                Self::aqm(&mut self.scheme)?.turn_ended(queue, since, now);
                return Ok(None);
            }
            "limits" => self.limits(),
            "ingress" => self.ingress(now, args),
            "backlog_changed" => self.backlog_changed(now, args),
            "timers" => self.timers(now, args),
            _ => return Err(format!("no event of a switch is \"{op}\"")),
        }
        .map(Some)
    }

    fn ticks(&mut self) -> bool {
        self.balancer().is_ok_and(|balancer| balancer.needs().tick)
    }

    fn tick(&mut self, now: Time) -> (Option<Time>, Decision) {
        self.leaf.wait(now.since(self.leaf.now));
        let next = self.ask(|balancer, cx| balancer.tick(cx)).unwrap_or(None);
        let said = self.released(Decision::default()).unwrap_or_default();
        (next, Decision { sent: self.sent(), ..said })
    }

    fn wakes_at(&mut self) -> Option<Option<Time>> {
        let balancer = self.balancer().ok()?;
        balancer.needs().keeps.then(|| balancer.wakes_at())
    }

    fn rng(&self) -> &Rng {
        &self.leaf.rng
    }
}
