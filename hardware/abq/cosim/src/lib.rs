//! The RTL of `hardware/abq/rtl` as Verilator compiles it: a switch of four ports, and one port's state machine.

mod scheme;

pub use scheme::ENTRY;

use leafspine_core::{PacketMeta, PortId, Span, Time};
use leafspine_schemes::hold::{Held, Ingress};

/// Ports of the switch.
pub const PORTS: usize = 4;
/// ACKs that a port's hold has room for at most (`build.rs`).
pub const CAPACITY: u32 = 30;

/// What is put at the switch's inputs for a cycle. Of ports, the lowest bit is port 0.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Inputs {
    /// A word of eight bytes at each port, byte 0 in the low bits.
    pub data: [u64; PORTS],
    /// A register's address (bytes) and its value.
    pub address: u32,
    /// See `address`.
    pub value: u32,
    /// Which of the bytes are valid.
    pub keep: [u8; PORTS],
    /// Ports that the frame is for.
    pub to: [u8; PORTS],
    /// Ports that have a word.
    pub valid: u8,
    /// Ports whose word is a frame's last.
    pub last: u8,
    /// Ports whose line takes a word.
    pub out_ready: u8,
    /// Reset.
    pub reset: u8,
    /// The register is written.
    pub write: u8,
}

/// What the switch's outputs are in a cycle.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Outputs {
    /// Words to the lines.
    pub data: [u64; PORTS],
    /// `EVENTS` bits a port: see `abq_ingress.sv`.
    pub events: u64,
    /// What each port's engine takes for its queue's length.
    pub backlog: [u32; PORTS],
    /// Cycles since the reset.
    pub now: u32,
    /// Which bytes are valid.
    pub keep: [u8; PORTS],
    /// Ports that take a word.
    pub ready: u8,
    /// Ports that have a word for their line.
    pub valid: u8,
    /// Ports whose word is a frame's last.
    pub last: u8,
    /// Ports at whose output queue a frame was dropped.
    pub dropped: u8,
    /// The register before was written without an error.
    pub written: u8,
}

/// Bits of events a port.
pub const EVENTS: usize = 12;

/// Events by their bit, as `abq_ingress.sv` lists them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Event {
    Came,
    TooLong,
    Passed,
    Stored,
    Followed,
    Left,
    LeftEce,
    Overflowed,
    Expired,
    LetGo,
    LetGoEce,
    Stop,
}

/// Whether this happened at a port.
#[must_use]
pub fn happened(outputs: &Outputs, port: usize, event: Event) -> bool {
    outputs.events >> (port * EVENTS + event as usize) & 1 == 1
}

enum RawSwitch {}
enum RawState {}

unsafe extern "C" {
    fn abq_switch_new() -> *mut RawSwitch;
    fn abq_switch_free(model: *mut RawSwitch);
    fn abq_switch_cycle(model: *mut RawSwitch, inputs: *const Inputs, outputs: *mut Outputs);
    fn abq_state_new(
        threshold: u32,
        floor: u32,
        corrector: bool,
        ece_below_floor: bool,
    ) -> *mut RawState;
    fn abq_state_free(model: *mut RawState);
    fn abq_state_uncongested(model: *mut RawState) -> bool;
    fn abq_state_cycle(model: *mut RawState, backlog: u32) -> i32;
}

/// `abq_switch` with 64 bits of data.
pub struct Switch(*mut RawSwitch);

impl Default for Switch {
    fn default() -> Switch {
        // SAFETY: it takes nothing, and what it gives is freed once, when this is dropped.
        Switch(unsafe { abq_switch_new() })
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // SAFETY: made by `abq_switch_new`, and not used after this.
        unsafe { abq_switch_free(self.0) }
    }
}

impl Switch {
    /// One clock cycle: outputs as they are before its edge.
    pub fn cycle(&mut self, inputs: &Inputs) -> Outputs {
        let mut outputs = Outputs::default();
        // SAFETY: the model is alive, and both structures are laid out as the C++ side has them.
        unsafe { abq_switch_cycle(self.0, inputs, &raw mut outputs) };
        outputs
    }
}

/// `abq_state`: the state machine of one port, a cycle for each change of its queue.
pub struct State(*mut RawState);

// SAFETY: a model shares nothing with another one.
unsafe impl Send for State {}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: made by `abq_state_new`, and not used after this.
        unsafe { abq_state_free(self.0) }
    }
}

impl State {
    /// K and the floor of X in one unit; whether ACKs get ECE, and those whose spell had no X.
    #[must_use]
    pub fn new(threshold: u32, floor: u32, corrector: bool, ece_below_floor: bool) -> State {
        // SAFETY: what it gives is freed once, when this is dropped.
        State(unsafe { abq_state_new(threshold, floor, corrector, ece_below_floor) })
    }

    /// What becomes of a packet that comes in.
    #[must_use]
    pub fn arrived(&self, packet: &PacketMeta) -> Ingress {
        // SAFETY: the model is alive.
        match unsafe { abq_state_uncongested(self.0) } {
            _ if !packet.is_pure_ack() => Ingress::Pass,
            true => Ingress::Follow,
            false => Ingress::Hold,
        }
    }

    /// The queue has this length.
    pub fn backlog_changed(&mut self, backlog: u32) -> Held {
        // SAFETY: the model is alive.
        match unsafe { abq_state_cycle(self.0, backlog) } {
            0 => Held::Keep,
            1 => Held::Release { ece: false },
            3 => Held::Release { ece: true },
            _ => Held::Stop,
        }
    }
}

/// A time of the RTL, in cycles, as the scheme's.
#[must_use]
pub fn time(cycles: u32) -> Time {
    Time(u64::from(cycles))
}

/// A span of so many cycles.
#[must_use]
pub fn span(cycles: u32) -> Span {
    Span(u64::from(cycles))
}

/// A port's number.
#[must_use]
pub fn port_id(port: usize) -> PortId {
    PortId(port as u16)
}
