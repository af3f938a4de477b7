//! A mock host: what a vector's events do to its edge.

use super::bounds;
use super::header::Header;
use super::line::{Args, Decision, Wrong};
use super::packet::{Packets, changes, described};
use super::vector::Device;
use leafspine_core::{PacketMeta, Rng, Span, Time};
use leafspine_schemes::edge::{EdgeContext, FlowView, HostEdge, Waiting};
use leafspine_schemes::registry;
use std::collections::BTreeMap;

/// A flow that lines have named: what the last of them said of it, and what the edge keeps.
#[derive(Default)]
struct Flow {
    size: u64,
    sent: u64,
    expected: u32,
    sending: [u64; 4],
    memory: Vec<u64>,
    receiving: [u64; 4],
    waiting: Vec<Waiting>,
}

/// Which of a flow's two ends an event happens at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Sending,
    Receiving,
}

pub struct Host {
    edge: Box<dyn HostEdge>,
    now: Time,
    rng: Rng,
    board: Vec<u64>,
    outbox: Vec<PacketMeta>,
    flows: BTreeMap<u32, Flow>,
    packets: Packets,
}

impl Host {
    pub fn new(header: &Header) -> Result<Host, Wrong> {
        let entry = registry::host_edge(header.info.name).expect("the header has looked");
        let edge = (entry.build)(&header.params, &header.host).map_err(|e| e.to_string())?;
        Ok(Host {
            now: Time::ZERO,
            rng: header.rng(),
            board: vec![0; edge.needs().board_words],
            outbox: Vec::new(),
            flows: BTreeMap::new(),
            packets: Packets::among(header.host.hosts),
            edge,
        })
    }

    /// Takes `flow=` and what is said of it.
    fn flow(&mut self, args: &mut Args<'_>) -> Result<u32, Wrong> {
        let number = args.number("flow")?;
        let memory = self.edge.needs().memory;
        let flow = self.flows.entry(number).or_default();
        flow.memory.resize(memory, 0);
        if let Some(size) = args.maybe("flow_size")? {
            flow.size = size;
        }
        if let Some(sent) = args.maybe("flow_sent")? {
            flow.sent = sent;
        }
        if let Some(expected) = args.maybe("expected")? {
            flow.expected = expected;
        }
        Ok(number)
    }

    /// Calls the edge about a flow. The decision says which of the edge's words for the flow and
    /// for the rack have changed, and what was sent.
    fn ask(
        &mut self,
        number: u32,
        side: Side,
        call: impl FnOnce(&mut dyn HostEdge, &mut FlowView<'_>, &mut EdgeContext<'_>, &[Waiting]),
    ) -> Decision {
        let flow = self.flows.get_mut(&number).expect("the line has named it");
        let (state, memory) = match side {
            Side::Sending => (&mut flow.sending, &mut flow.memory[..]),
            Side::Receiving => (&mut flow.receiving, &mut [][..]),
        };
        let (state_before, memory_before) = (*state, memory.to_vec());
        let board_before = self.board.clone();
        let Flow { size, sent: bytes_sent, expected, .. } = *flow;
        let mut view = FlowView { size, bytes_sent, expected, state, memory };
        let mut cx = EdgeContext {
            now: self.now,
            rng: &mut self.rng,
            board: &mut self.board,
            outbox: &mut self.outbox,
        };
        call(self.edge.as_mut(), &mut view, &mut cx, &flow.waiting);
        let state_after = *view.state;
        let changed = state_after.iter().zip(&state_before).enumerate();
        let said = changed
            .filter(|(_, (after, before))| after != before)
            .fold(Decision::default(), |said, (i, (after, _))| {
                said.say(&format!("state{i}"), after)
            });
        let changed = view.memory.iter().zip(&memory_before).enumerate();
        let said = changed
            .filter(|(_, (after, before))| after != before)
            .fold(said, |said, (i, (after, _))| said.say(&format!("memory{i}"), after));
        self.say_shared(said, &board_before)
    }

    fn say_shared(&mut self, said: Decision, board_before: &[u64]) -> Decision {
        let words = self.board.iter().zip(board_before).enumerate();
        let mut said = words
            .filter(|(_, (after, before))| after != before)
            .fold(said, |said, (i, (after, _))| said.say(&format!("board{i}"), after));
        said.sent = self.sent();
        said
    }

    fn sent(&mut self) -> Vec<String> {
        self.outbox.drain(..).map(|packet| described(&packet)).collect()
    }

    /// An event about a packet, which the edge may change.
    fn about_packet(&mut self, op: &str, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let flow = self.flow(args)?;
        let (number, mut known) = self.packets.named(args)?;
        let (before, packet) = (known.meta, &mut known.meta);
        let said = match op {
            "sending" => self.ask(flow, Side::Sending, |edge, flow, cx, _| {
                edge.sending(packet, flow, cx);
            }),
            "receiving" => self.ask(flow, Side::Receiving, |edge, flow, cx, _| {
                edge.receiving(packet, flow, cx);
            }),
            _ => self.ask(flow, Side::Receiving, |edge, flow, cx, _| {
                edge.replying(packet, flow, cx);
            }),
        };
        self.packets.keep(number, known);
        if op == "receiving" && self.edge.needs().reassembly {
            let waiting = &mut self.flows.get_mut(&flow).expect("named above").waiting;
            let at = waiting.partition_point(|w| w.packet.seq <= known.meta.seq);
            waiting.insert(at, Waiting { packet: known.meta, since: self.now });
        }
        let pairs = changes(&before, &known.meta).into_iter().chain(said.pairs).collect();
        Ok(Decision { pairs, ..said })
    }

    fn acked(&mut self, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let flow = self.flow(args)?;
        let rtt = args.maybe("rtt")?.map(Span);
        rtt.map_or(Ok(()), |rtt| bounds::span("rtt", rtt))?;
        let (_, known) = self.packets.named(args)?;
        Ok(self.ask(flow, Side::Sending, |edge, flow, cx, _| {
            edge.acked(&known.meta, rtt, flow, cx);
        }))
    }

    fn lost(&mut self, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let flow = self.flow(args)?;
        let timeout = args.number::<u8>("timeout")? == 1;
        Ok(self.ask(flow, Side::Sending, |edge, flow, cx, _| edge.lost(timeout, flow, cx)))
    }

    fn reassemble(&mut self, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let flow = self.flow(args)?;
        let mut deliver = None;
        let said = self.ask(flow, Side::Receiving, |edge, flow, cx, waiting| {
            deliver = Some(edge.reassemble(waiting, flow, cx));
        });
        let deliver = deliver.expect("called above");
        let waiting = &mut self.flows.get_mut(&flow).expect("named above").waiting;
        if deliver.count > waiting.len() {
            return Err(format!("{} of {} are delivered", deliver.count, waiting.len()));
        }
        waiting.drain(..deliver.count);
        let again = deliver.again.map_or("never".to_owned(), |at| at.0.to_string());
        let first = Decision::default().say("deliver", deliver.count).say("again", again);
        Ok(Decision { pairs: first.pairs.into_iter().chain(said.pairs).collect(), ..said })
    }

    fn probed(&mut self, args: &mut Args<'_>) -> Result<Decision, Wrong> {
        let (_, known) = self.packets.named(args)?;
        let before = self.board.clone();
        let mut cx = EdgeContext {
            now: self.now,
            rng: &mut self.rng,
            board: &mut self.board,
            outbox: &mut self.outbox,
        };
        self.edge.probed(&known.meta, &mut cx);
        Ok(self.say_shared(Decision::default(), &before))
    }

    /// Another host of the rack has written a word.
    fn set_board(&mut self, args: &mut Args<'_>) -> Result<(), Wrong> {
        let (word, value): (usize, u64) = (args.number("word")?, args.number("value")?);
        *self.board.get_mut(word).ok_or(format!("there is no word {word}"))? = value;
        Ok(())
    }

    fn needs(&self) -> Decision {
        let needs = self.edge.needs();
        let said = Decision::default()
            .say("tick", u8::from(needs.tick))
            .say("reassembles", u8::from(needs.reassembly))
            .say("board", self.board.len());
        if needs.memory == 0 { said } else { said.say("memory", needs.memory) }
    }
}

impl Device for Host {
    fn step(
        &mut self,
        now: Time,
        op: &str,
        args: &mut Args<'_>,
    ) -> Result<Option<Decision>, Wrong> {
        self.now = now;
        match op {
            "wait" => return Ok(None),
            "board" => return self.set_board(args).map(|()| None),
            "needs" => Ok(self.needs()),
            "sending" | "receiving" | "replying" => self.about_packet(op, args),
            "acked" => self.acked(args),
            "lost" => self.lost(args),
            "reassemble" => self.reassemble(args),
            "probed" => self.probed(args),
            _ => return Err(format!("no event of a host is \"{op}\"")),
        }
        .map(Some)
    }

    fn ticks(&mut self) -> bool {
        self.edge.needs().tick
    }

    fn tick(&mut self, now: Time) -> (Option<Time>, Decision) {
        self.now = now;
        let before = self.board.clone();
        let next = self.edge.tick(&mut EdgeContext {
            now,
            rng: &mut self.rng,
            board: &mut self.board,
            outbox: &mut self.outbox,
        });
        (next, self.say_shared(Decision::default(), &before))
    }

    fn rng(&self) -> &Rng {
        &self.rng
    }
}
