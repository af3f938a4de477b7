//! Frames of 64 bytes (60 and the check sequence, which the MAC takes off) without an idle cycle between them: does the
//! input ever wait? Data, ACKs that pass, ACKs that are held, and ACKs that push others out of a full hold.

use abq_cosim::{CAPACITY, Event, Inputs, Outputs, Switch, WIDTHS, happened};
use std::process::ExitCode;

const FRAMES: u32 = 10_000;
const BYTES: usize = 60;

/// An Ethernet frame with IPv4 and TCP: an ACK, or one with six bytes of payload in what else is padding.
fn frame(payload: u8) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14] = 0x45;
    bytes[17] = 40 + payload;
    bytes[23] = 6;
    bytes[46] = 0x50;
    bytes[47] = 0x10;
    bytes
}

struct Bench {
    switch: Switch,
    inputs: Inputs,
    width: usize,
}

impl Bench {
    fn new(width: usize, threshold: u32) -> Bench {
        let mut bench = Bench { switch: Switch::new(width), inputs: Inputs::default(), width };
        bench.inputs.reset = 1;
        bench.cycle();
        bench.inputs.reset = 0;
        // Enabled, with the corrector, in packets.
        for (address, value) in [(8, 0b0101), (12, threshold), (16, 1), (28, CAPACITY)] {
            assert!(bench.switch.write(&bench.inputs, address, value), "register {address}");
        }
        bench
    }

    fn cycle(&mut self) -> Outputs {
        self.switch.cycle(&self.inputs)
    }

    /// So many frames into port 0 for the ports `to`, whose lines take everything or nothing.
    /// Cycles that this took, and how often an event happened.
    fn send(&mut self, frames: u32, payload: u8, to: u8, lines: u8, event: Event) -> (u32, u32) {
        let bytes = frame(payload);
        let (mut cycles, mut events) = (0, 0);
        self.inputs.out_ready = lines;
        for _ in 0..frames {
            for at in (0..BYTES).step_by(self.width) {
                self.inputs.clear(0);
                self.inputs.put(0, &bytes[at..], self.width, to);
                loop {
                    let outputs = self.cycle();
                    cycles += 1;
                    events += u32::from(happened(&outputs, 0, event));
                    if outputs.ready & 1 == 1 {
                        break;
                    }
                }
            }
        }
        self.inputs.clear(0);
        for _ in 0..100 {
            events += u32::from(happened(&self.cycle(), 0, event));
        }
        (cycles, events)
    }
}

/// How many of the measurements were right, and how many not.
fn measure(width: usize) -> (u32, u32) {
    let (mut passed, mut failed) = (0, 0);
    let words = BYTES.div_ceil(width) as u32;
    let mut say = |what: &str, (cycles, events): (u32, u32), expected: u32| {
        let right = cycles == FRAMES * words && events == expected;
        println!(
            "{} bits, {what}: {FRAMES} frames of {words} words in {cycles} cycles, {events} times; {}",
            8 * width,
            if right { "no idle cycle" } else { "WRONG" }
        );
        if right { passed += 1 } else { failed += 1 }
    };
    let mut idle = Bench::new(width, 20);
    say("data passes", idle.send(FRAMES, 6, 0b10, 0b1111, Event::Passed), 0);
    say("ACKs pass", idle.send(FRAMES, 0, 0b10, 0b1111, Event::Passed), FRAMES);
    // Two frames wait at port 0, whose line stands still: above a threshold of one.
    let mut congested = Bench::new(width, 1);
    congested.send(3, 6, 0b01, 0b1110, Event::Passed);
    say("data passes a hold", congested.send(FRAMES, 6, 0b10, 0b1110, Event::Passed), 0);
    say("ACKs are stored", congested.send(FRAMES, 0, 0b10, 0b1110, Event::Stored), FRAMES);
    let full = congested.send(FRAMES, 0, 0b10, 0b1110, Event::Overflowed);
    say("ACKs push others out", full, FRAMES);
    (passed, failed)
}

fn main() -> ExitCode {
    let (passed, failed) =
        WIDTHS.map(measure).iter().fold((0, 0), |sum, found| (sum.0 + found.0, sum.1 + found.1));
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}
