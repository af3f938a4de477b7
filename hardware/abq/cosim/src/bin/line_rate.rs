//! Frames of 64 bytes (60 and the check sequence, which the MAC takes off) without an idle cycle between them: does the
//! input ever wait? Data, ACKs that pass, ACKs that are held, and ACKs that push others out of a full hold.

use abq_cosim::{CAPACITY, Event, Inputs, Outputs, Switch, happened};
use std::process::ExitCode;

const FRAMES: u32 = 10_000;
const WORDS: u32 = 8;

/// An Ethernet frame with IPv4 and TCP: an ACK, or one with six bytes of payload in what else is padding.
fn frame(payload: u8) -> [u8; 64] {
    let mut bytes = [0; 64];
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
}

impl Bench {
    fn new(threshold: u32) -> Bench {
        let mut bench = Bench { switch: Switch::default(), inputs: Inputs::default() };
        bench.inputs.reset = 1;
        bench.cycle();
        bench.inputs.reset = 0;
        // Enabled, with the corrector, in packets.
        for (address, value) in [(8, 0b0101), (12, threshold), (16, 1), (28, CAPACITY)] {
            (bench.inputs.address, bench.inputs.value, bench.inputs.write) = (address, value, 1);
            bench.cycle();
        }
        bench.inputs.write = 0;
        bench.cycle();
        bench
    }

    fn cycle(&mut self) -> Outputs {
        self.switch.cycle(&self.inputs)
    }

    /// So many frames into port 0 for the ports `to`, whose lines take everything or nothing. Cycles that this took, and
    /// how often an event happened.
    fn send(&mut self, frames: u32, payload: u8, to: u8, lines: u8, event: Event) -> (u32, u32) {
        let bytes = frame(payload);
        let (mut cycles, mut events) = (0, 0);
        (self.inputs.valid, self.inputs.out_ready, self.inputs.to[0]) = (1, lines, to);
        for _ in 0..frames {
            for (word, eight) in bytes.chunks(8).enumerate() {
                self.inputs.data[0] = u64::from_le_bytes(eight.try_into().expect("eight"));
                self.inputs.last = u8::from(word + 1 == WORDS as usize);
                self.inputs.keep[0] = if self.inputs.last == 1 { 0x0f } else { 0xff };
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
        self.inputs.valid = 0;
        for _ in 0..100 {
            events += u32::from(happened(&self.cycle(), 0, event));
        }
        (cycles, events)
    }
}

fn main() -> ExitCode {
    let mut failed = 0;
    let mut passed = 0;
    let mut say = |what: &str, (cycles, events): (u32, u32), expected: u32| {
        let right = cycles == FRAMES * WORDS && events == expected;
        println!(
            "{what}: {FRAMES} frames in {cycles} cycles, {events} times; {}",
            if right { "no idle cycle" } else { "WRONG" }
        );
        if right { passed += 1 } else { failed += 1 }
    };
    let mut idle = Bench::new(20);
    say("data passes", idle.send(FRAMES, 6, 0b10, 0b1111, Event::Passed), 0);
    say("ACKs pass", idle.send(FRAMES, 0, 0b10, 0b1111, Event::Passed), FRAMES);
    // Two frames wait at port 0, whose line stands still: above a threshold of one.
    let mut congested = Bench::new(1);
    congested.send(3, 6, 0b01, 0b1110, Event::Passed);
    say("data passes a hold", congested.send(FRAMES, 6, 0b10, 0b1110, Event::Passed), 0);
    say("ACKs are stored", congested.send(FRAMES, 0, 0b10, 0b1110, Event::Stored), FRAMES);
    let full = congested.send(FRAMES, 0, 0b10, 0b1110, Event::Overflowed);
    say("ACKs push others out", full, FRAMES);
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}
