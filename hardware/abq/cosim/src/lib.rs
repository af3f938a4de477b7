//! The RTL of `hardware/abq/rtl` as Verilator compiles it: a switch of four ports, and one port's state machine.

mod scheme;

pub use scheme::ENTRY;

use leafspine_core::{PacketMeta, PortId, Span, Time};
use leafspine_schemes::hold::{Held, Ingress};

/// Ports of the switch.
pub const PORTS: usize = 4;
/// ACKs that a port's hold has room for at most (`build.rs`).
pub const CAPACITY: u32 = 30;

/// Bytes of the data widths that are compiled: 64 and 256 bits.
pub const WIDTHS: [usize; 2] = [8, 32];
/// Bytes of the widest.
pub const WIDEST: usize = 32;

/// What is put at the switch's inputs for a cycle. Of ports, the lowest bit is port 0.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Inputs {
    /// A word at each port, as many of its bytes as the switch is wide.
    pub data: [[u8; WIDEST]; PORTS],
    /// Which of the bytes are valid.
    pub keep: [u32; PORTS],
    /// A register's address (bytes) and its value.
    pub address: u32,
    /// See `address`.
    pub value: u32,
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
    /// The register is read.
    pub read: u8,
}

impl Inputs {
    /// Puts the beginning of `rest` at a port of so many bytes, for the ports `to`.
    pub fn put(&mut self, port: usize, rest: &[u8], width: usize, to: u8) {
        let bytes = rest.len().min(width);
        self.data[port] = [0; WIDEST];
        self.data[port][..bytes].copy_from_slice(&rest[..bytes]);
        self.keep[port] = ((1_u64 << bytes) - 1) as u32;
        self.to[port] = to;
        self.valid |= 1 << port;
        self.last |= u8::from(rest.len() <= width) << port;
    }

    /// Nothing is at a port.
    pub fn clear(&mut self, port: usize) {
        self.valid &= !(1 << port);
        self.last &= !(1 << port);
    }
}

/// What the switch's outputs are in a cycle.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Outputs {
    /// `EVENTS` bits a port: see `abq_ingress.sv`.
    pub events: u64,
    /// Words to the lines.
    pub data: [[u8; WIDEST]; PORTS],
    /// Which bytes are valid.
    pub keep: [u32; PORTS],
    /// What each port's engine takes for its queue's length.
    pub backlog: [u32; PORTS],
    /// Cycles since the reset.
    pub now: u32,
    /// The value of the register that was read before.
    pub value: u32,
    /// The ports that the frame is for, above the one that it came by, a bit each.
    pub user: [u8; PORTS],
    /// Ports that take a word.
    pub ready: u8,
    /// Ports that have a word for their line.
    pub valid: u8,
    /// Ports whose word is a frame's last.
    pub last: u8,
    /// Ports at whose output queue a frame was dropped.
    pub dropped: u8,
    /// The answer to the register that was written before: none, done, an error.
    pub written: u8,
    /// The answer to the one that was read.
    pub found: u8,
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
    fn abq_switch_new(bytes: u32) -> *mut RawSwitch;
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

/// `abq_switch`.
pub struct Switch(*mut RawSwitch);

impl Switch {
    /// With words of so many bytes, one of `WIDTHS`.
    #[must_use]
    pub fn new(bytes: usize) -> Switch {
        assert!(WIDTHS.contains(&bytes), "{bytes} bytes have not been compiled");
        // SAFETY: it takes a number, and what it gives is freed once, when this is dropped.
        Switch(unsafe { abq_switch_new(bytes as u32) })
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

    /// Writes a register, with these inputs beside it: two cycles. Whether it was taken.
    pub fn write(&mut self, inputs: &Inputs, address: u32, value: u32) -> bool {
        self.cycle(&Inputs { address, value, write: 1, ..*inputs });
        self.cycle(inputs).written == 1
    }

    /// Reads a register, with these inputs beside it: two cycles. Nothing if there is none.
    pub fn read(&mut self, inputs: &Inputs, address: u32) -> Option<u32> {
        self.cycle(&Inputs { address, read: 1, ..*inputs });
        let outputs = self.cycle(inputs);
        (outputs.found == 1).then_some(outputs.value)
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
