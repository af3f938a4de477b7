//! `hold.scheme = "abq-rtl"`: the RTL's state machine decides in the place of the Rust scheme's.
//!
//! Each change of a queue is a clock cycle of its port's machine. The switch of the simulator holds the packets, as it
//! does for `abq`, so bounds and pace are read by that scheme's own code.

use crate::State;
use leafspine_core::{PacketMeta, PortId, Time};
use leafspine_schemes::hold::{self, Entry, Held, Ingress, IngressHold, Needs};
use leafspine_schemes::{
    Amount, Kind, Param, ParamError, Params, Provenance, SchemeInfo, SwitchEnv, parameters,
};

/// One object a switch, one machine a port.
struct AbqRtl {
    /// For the bounds, the unit and the pace; it decides nothing.
    bounds: Box<dyn IngressHold>,
    ports: Vec<State>,
}

impl IngressHold for AbqRtl {
    fn needs(&self) -> Needs {
        self.bounds.needs()
    }

    fn arrived(&mut self, packet: &PacketMeta, port: PortId, _: u32, _: Time) -> Ingress {
        self.ports[usize::from(port.0)].arrived(packet)
    }

    fn backlog_changed(&mut self, port: PortId, backlog: u32, _: Time) -> Held {
        self.ports[usize::from(port.0)].backlog_changed(backlog)
    }
}

parameters! {
    /// What the machine takes of `abq`'s parameters; they are declared there.
    struct Settings {
        threshold: Amount = Param::new(Kind::Amount, "20pkt", "K."),
        floor: Amount = Param::new(Kind::Amount, "4pkt", "The size below which X is zero."),
        corrector: bool = Param::new(Kind::Bool, "true", "ECE."),
        ece_below_floor: bool = Param::new(Kind::Bool, "false", "ECE without an X."),
    }
}

/// A size in its own unit, which both have (`abq` refuses others).
fn size(amount: Amount) -> u32 {
    match amount {
        Amount::Packets(packets) => packets,
        Amount::Bytes(bytes) => u32::try_from(bytes).unwrap_or(u32::MAX),
    }
}

fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn IngressHold>, ParamError> {
    let bounds = (hold::ALL[0].build)(params, env)?;
    let settings = Settings::read(params)?;
    let machine = || {
        let (threshold, floor) = (size(settings.threshold), size(settings.floor));
        State::new(threshold, floor, settings.corrector, settings.ece_below_floor)
    };
    Ok(Box::new(AbqRtl { bounds, ports: env.ports.iter().map(|_| machine()).collect() }))
}

/// For an extension of the registry.
pub const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "abq-rtl",
        summary: "ABQ, decided by its RTL as Verilator compiles it.",
        provenance: Provenance::Own,
        ..hold::ALL[0].info
    },
    build,
};
