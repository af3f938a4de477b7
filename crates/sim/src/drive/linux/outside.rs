//! What guests do to the network, and what reaches them from it.

use super::{CalendarDriver, FOR_ITS_ROW, Guests, Layout, Sample, runs_time};
use crate::engine::{FIRST_CONNECTION, SERVICE_PORT};
use leafspine_core::{FiveTuple, HostId, PacketMeta, Time};
use leafspine_linux::fleet::BOOTED;
use leafspine_linux::frame::{ACK, FIN, RST, SYN, Segment};
use leafspine_linux::orders::{NO_FLOW, Report};
use leafspine_linux::{Happening, LinuxError, Outside};
use leafspine_node::Full;

/// The network around the guests, while one has its turn.
pub(super) struct Network<'a> {
    pub(super) nodes: &'a mut CalendarDriver,
    pub(super) guests: &'a mut Guests,
    pub(super) layout: &'a Layout,
    pub(super) net: &'a leafspine_node::Network,
    /// So far may they run whatever happens.
    pub(super) until: Time,
}

impl Outside for Network<'_> {
    fn happened(&mut self, guest: u16, at: u64, what: Happening) {
        self.nodes.now = self.nodes.now.max(runs_time(at));
        match what {
            Happening::Report(report) => self.reported(guest, report),
            Happening::Frame { token, .. } if self.guests.is_over => {
                self.guests.left.push((guest, at, token));
            }
            Happening::Frame { token, bytes } => match Segment::parse(&bytes) {
                // Something came late for a connection that is no more: both ends of its flow are closed.
                Some(segment) if self.is_after_its_flow(&segment) => {
                    self.guests.left.push((guest, at, token));
                }
                Some(segment) => self.sends(guest, at, &segment, (token, bytes)),
                None if self.guests.programs.any() => match Segment::of_any(&bytes) {
                    Some(segment) => self.sends(guest, at, &segment, (token, bytes)),
                    None => self.guests.left.push((guest, at, token)),
                },
                None => self.guests.left.push((guest, at, token)),
            },
        }
    }

    fn next(&mut self) -> u64 {
        let next = self.nodes.next_time().unwrap_or(Time::MAX);
        BOOTED + next.min(self.until).0 / 1000
    }

    fn left(&mut self, note: &mut dyn FnMut(u16, u64, u16)) {
        self.guests.left.drain(..).for_each(|(guest, at, token)| note(guest, at, token));
    }
}

impl Network<'_> {
    /// Whether a segment is of no flow, and one with which a kernel answers what comes after a
    /// flow's end: a reset, or an acknowledgment without payload (RFC 9293 §3.10.7.1 and
    /// §3.10.7.4).
    fn is_after_its_flow(&self, segment: &Segment) -> bool {
        let tuple = tuple(segment);
        let known = |tuple| self.guests.numbers.contains_key(&tuple);
        let acknowledges = segment.flags & (SYN | FIN | ACK) == ACK && segment.payload == 0;
        let of_flows = [segment.source_port, segment.destination_port].contains(&SERVICE_PORT);
        (segment.flags & RST != 0 || acknowledges)
            && of_flows
            && !known(tuple)
            && !known(tuple.reversed())
    }

    /// The flow that a segment is of, and whether it is sent by that flow's receiver. `None` for one that goes nowhere,
    /// if that is no fault.
    fn flow_of(&mut self, guest: u16, segment: &Segment) -> Option<(u32, bool)> {
        let tuple = tuple(segment);
        let number = |tuple| self.guests.numbers.get(&tuple).copied();
        let of_flow = |number: &u32| !self.guests.programs.any() || *number < FIRST_CONNECTION;
        let forward = number(tuple).filter(of_flow).map(|number| (number, false));
        let back = || number(tuple.reversed()).filter(of_flow).map(|number| (number, true));
        let found = forward.or_else(back);
        if tuple.src().0 != guest || (found.is_none() && !self.guests.programs.any()) {
            self.fail(guest, format!("it sends a segment of no flow: {segment:?}"));
            return None;
        }
        if found.is_some() {
            return found;
        }
        let Network { nodes, guests, layout, net, .. } = self;
        match guests.connection_of(nodes, layout, net, (tuple, segment)) {
            Ok(found) => found,
            Err(Full) => {
                let what =
                    "its programs have more connections open than the 65,536 that a host may have";
                self.fail(guest, what.to_owned());
                None
            }
        }
    }

    /// A guest sends a segment, which goes to its port.
    fn sends(&mut self, guest: u16, at: u64, segment: &Segment, (token, bytes): (u16, Vec<u8>)) {
        let from = tuple(segment).src();
        let Some((number, reply)) = self.flow_of(guest, segment) else {
            return self.guests.left.push((guest, at, token));
        };
        let mss = self.guests.mss;
        self.guests.closes(number, segment, reply);
        let Some(watch) = self.guests.flows.get_mut(&number) else { return };
        let mut packet = watch.leaves(segment, reply, mss, self.nodes.now);
        let sender = watch.sender;
        packet.set_frame(self.guests.frames.put(bytes, guest, token));
        let peer = |host: HostId| self.layout.hosts[usize::from(host.0)];
        let slot = if reply {
            let (node, place) = peer(sender.host());
            self.nodes.nodes[node as usize].hosts()[usize::from(place)].peer_slot(sender.slot())
        } else {
            sender.slot()
        };
        self.hand_down(peer(from), slot, &mut packet);
    }

    fn hand_down(&mut self, (node, place): (u32, u16), slot: u16, packet: &mut PacketMeta) {
        let net = self.net;
        self.guests.call(self.nodes, node, |node, world| {
            node.hosts_mut()[usize::from(place)].send_for(slot, packet, net, world);
        });
        self.guests.settle(&self.nodes.record);
    }

    fn reported(&mut self, guest: u16, report: Report) {
        let now = self.nodes.now;
        match report {
            Report::Failed(NO_FLOW, what) => self.fail(guest, what),
            Report::Failed(flow, what) => self.fail(guest, format!("flow {flow}: {what}")),
            Report::Sampled(flow, info) => {
                let request = self.guests.requested.get_mut(&flow).and_then(|all| all.pop_front());
                if let Some(watch) = self.guests.flows.get_mut(&flow) {
                    watch.info = info;
                }
                if let Some((probe, time)) = request.filter(|(probe, _)| *probe != FOR_ITS_ROW) {
                    self.guests.samples.push(Sample { probe, time, flow, info });
                }
            }
            // What happens after the run's end is none of it.
            _ if self.guests.is_over => {}
            Report::Received(flow) => self.nodes.record.finished.push((flow, now)),
            Report::Sent(flow, info) => {
                let Some(watch) = self.guests.flows.get_mut(&flow) else { return };
                (watch.info, watch.sent) = (info, true);
                if watch.is_over() {
                    self.guests.over.push(watch.sender);
                }
            }
            Report::Wrote(program, error, text) => {
                self.guests.programs.wrote(program, error, &text);
            }
            Report::Ended(program, status) => self.guests.programs.ended(program, status, now),
            Report::Ready => {}
        }
    }

    fn fail(&mut self, guest: u16, what: String) {
        let name = leafspine_linux::fleet::name(guest);
        self.guests.error.get_or_insert(LinuxError::Reported { name, what });
    }
}

/// Of a segment, in its own direction.
pub(super) fn tuple(segment: &Segment) -> FiveTuple {
    let host = |[_, _, high, low]: [u8; 4]| HostId(u16::from_be_bytes([high, low]));
    let (from, to) = (host(segment.source), host(segment.destination));
    FiveTuple::new(from, to, segment.source_port, segment.destination_port)
}
