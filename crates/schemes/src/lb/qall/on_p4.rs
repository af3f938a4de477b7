//! QALL as `hardware/p4/qall.p4` has it.
//!
//! What differs from the rest of this module: times are whole microseconds; the grid's cell comes from one
//! random number of 32 bits a packet, drawn before it is known whether it is needed; a flowlet's entry is
//! found by a CRC-32; and what the ingress pipeline knows of a port is what clones brought, so an idle port's
//! interval cannot grow. The index is the same: it has always been one of whole numbers.

use super::index::Behaviour;
use super::{Granularity, OccupancyAt, Qall, Settings, TrendSince, reweigh};
use crate::p4::{self, Arithmetic, ControlPlane, Word, uplinks::Uplinks};
use crate::{Amount, Context, ParamError, Paths, SwitchEnv};
use leafspine_core::{PacketMeta, PortId};
use std::collections::BTreeSet;

/// What there is of it beside the scheme.
#[derive(Clone, Debug)]
pub(super) struct OnP4 {
    uplinks: Uplinks,
    /// Of the flowlet table.
    entries: u64,
    gap: u64,
    update_period: u64,
    by_packet: bool,
    at_dequeue: bool,
    by_flowlet: bool,
    grows: u64,
}

impl OnP4 {
    /// None with `arithmetic = "exact"`.
    ///
    /// # Errors
    /// For what a P4 switch cannot do.
    pub(super) fn new(settings: &Settings, env: &SwitchEnv) -> Result<Option<OnP4>, ParamError> {
        if settings.arithmetic == Arithmetic::Exact {
            return Ok(None);
        }
        if settings.idle_growth {
            let allowed = "false with arithmetic = \"p4\", whose ingress pipeline does not see when a \
                           port was last used";
            return Err(ParamError::new("idle_growth", true, allowed));
        }
        if let Amount::Bytes(_) = env.buffer {
            let allowed =
                "\"exact\", or \"p4\" with a buffer in packets, as a v1model switch counts them";
            return Err(ParamError::new("arithmetic", "\"p4\" and a buffer in bytes", allowed));
        }
        let uplinks = Uplinks::new(env)?;
        let indices: BTreeSet<u8> = uplinks.0.iter().map(|port| port.0 as u8).collect();
        if indices.len() < uplinks.0.len() {
            let allowed = "\"p4\" where the lowest eight bits tell uplinks' ports apart: a clone's port \
                           index has no more (Fig. 6)";
            return Err(ParamError::new("arithmetic", "\"p4\"", allowed));
        }
        Ok(Some(OnP4 {
            uplinks,
            entries: p4::table(settings.entries)? as u64,
            gap: p4::ticks(settings.gap),
            update_period: p4::ticks(settings.update_period),
            by_packet: settings.trend_since == TrendSince::Packet
                && settings.occupancy_at == OccupancyAt::Enqueue,
            at_dequeue: settings.occupancy_at == OccupancyAt::Dequeue,
            by_flowlet: settings.granularity == Granularity::Flowlet,
            grows: settings.growth_weight.into(),
        }))
    }

    /// Whether a packet that may take `port` goes through the program's choice: also if it is the only one.
    pub(super) fn chooses(&self, port: PortId) -> bool {
        self.uplinks.number(port) > 0
    }

    /// The entry of the packet's flow.
    #[inline]
    pub(super) fn slot(&self, packet: &PacketMeta) -> usize {
        let hash = Word(p4::crc32(packet.tuple, 0).into());
        p4::place32(hash, Word(self.entries)).0 as usize
    }
}

impl Qall {
    /// Algorithm 1. The random number is drawn whether it is needed or not.
    pub(super) fn pick_p4(
        &mut self,
        packet: &PacketMeta,
        paths: &Paths<'_>,
        cx: &mut Context<'_>,
    ) -> PortId {
        let random = p4::random(cx.rng);
        let drawn = self.draw_p4(random, paths, cx);
        let slot = self.p4.as_ref().map_or(0, |p4| p4.slot(packet));
        let Some(table) = &mut self.flowlets else { return drawn };
        let now = p4::ticked(cx.now);
        let kept = table.under_way(slot, now).filter(|port| paths.ports.contains(port));
        let port = kept.unwrap_or(drawn);
        table.note(slot, port, now);
        port
    }

    /// Algorithm 2. What clones have brought by now is taken in first.
    fn draw_p4(&mut self, random: Word, paths: &Paths<'_>, cx: &Context<'_>) -> PortId {
        self.grid.clear();
        let mut total = Word(0);
        for id in paths.ports {
            let weight = self.weight_p4(*id, cx);
            total = total + Word(weight);
            self.grid.push(weight);
        }
        if total == 0 {
            let number = p4::draw(random, Word(paths.ports.len() as u64));
            return paths.ports[number.0 as usize];
        }
        let mut cell = p4::draw(random, total).0;
        for (id, weight) in paths.ports.iter().zip(&self.grid) {
            match cell.checked_sub(*weight) {
                Some(beyond) => cell = beyond,
                None => return *id,
            }
        }
        paths.ports[0]
    }

    fn weight_p4(&mut self, id: PortId, cx: &Context<'_>) -> u64 {
        let Some(port) = self.ports.get_mut(usize::from(id.0)) else { return 0 };
        if port.receive(id.0 as u8, cx.now, &self.rules) {
            reweigh(port, &self.index);
        }
        self.index.weight_p4(port.known).0
    }

    /// What the control plane writes into the program.
    pub(super) fn control(&self, p4: &OnP4) -> ControlPlane {
        let mut control = ControlPlane { program: "qall", ..ControlPlane::default() };
        p4.uplinks.control(&mut control);
        let rules = &self.rules;
        let uplinks = &p4.uplinks.0;
        self.index.control(&mut control, rules.tau, uplinks.len());
        for (number, port) in (0..).zip(uplinks) {
            let low = u64::from(port.0) & 0xff;
            control.entry("port_uplink", &[low], "set_uplink", &[number]);
            control.entry("collects", &[port.0.into()], "collect", &[]);
        }
        let choices = [p4.by_flowlet, p4.by_packet, p4.at_dequeue].map(u64::from);
        let [by_flowlet, by_packet, at_dequeue] = choices;
        control.settings("flowlets", "set_flowlets", &[by_flowlet, p4.entries, p4.gap]);
        let per_unit = p4::per_unit(rules.buffer);
        let data = [per_unit, rules.tau, p4.update_period, p4.grows, by_packet, at_dequeue];
        control.settings("collection", "set_collection", &data);
        // A port that has sent nothing is empty, and its interval is tau.
        let start = word(Behaviour { occupancy: 0, interval: rules.tau, trend: 1 });
        for number in 0..uplinks.len() {
            control.register(format!("behaviour_{number}"), 0, start);
        }
        control
    }
}

/// The register that holds what is known of a port: L in 8 bits, V in 8, T in 48.
pub(super) fn word(known: Behaviour) -> u64 {
    u64::from(known.occupancy) << 56 | u64::from(known.trend) << 48 | known.interval
}
