//! The lines of a schedule in its binary form, that of LogGOPSim's `txt2bin`.
//!
//! The layout is documented nowhere. It was found by what the tool writes for texts that differ in
//! one thing (docs/scenario.md). Numbers have their lowest byte first, nothing is aligned:
//!
//! ```text
//! file       7f 10 00 00 00 00 00 00, ranks u32, highest cpu u8, highest nic u8; where each rank
//!            begins and ends, u64 each, from byte 8 on; the ranks
//! rank       operations u32, how many of them wait for none u32, the numbers of those u32 each;
//!            the operations; the list of those that wait, numbers of operations, u32 each
//! operation  how many it waits for u32, kind u8 (1 sends, 2 receives, 3 computes), peer u32,
//!            bytes or time u64, tag u32, cpu u8, nic u8; how many in the list wait for its end
//!            u32, the place of their first u32; the same of its start
//! ```
//!
//! Operations are numbered from 0 in the order of the text. What a file says twice must agree, so
//! that one of another layout, or a damaged one, is not taken for a schedule.

use super::super::WorkloadError;
use super::Form;
use super::lines::{Label, Line, Rank, Statement, processor};
use std::path::Path;

const MAGIC: [u8; 8] = [0x7f, 0x10, 0, 0, 0, 0, 0, 0];
/// Bytes before the table that says where ranks are.
const HEAD: u64 = 14;
/// Bytes of a rank in that table.
const ENTRY: u64 = 16;
/// Where the table counts from.
const ORIGIN: u64 = 8;
/// Bytes of an operation.
const OPERATION: u64 = 39;
/// Bytes of the number of an operation.
const NUMBER: u64 = 4;

/// Whether a file begins as binary schedules do, which no text does.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.first() == MAGIC.first()
}

/// Reads a binary schedule: the lines of each rank, each with its byte in the file.
///
/// # Errors
/// What is cut off or does not agree with itself, a rank or an operation that is not there.
pub(super) fn read(bytes: &[u8], name: &Path) -> Result<Vec<Rank>, WorkloadError> {
    let mut head = Reader { name, bytes, at: 0 };
    if head.take()? != MAGIC {
        let allowed = "7f 10 and six bytes of 0, as txt2bin's schedules begin";
        return head.from(0).wrong("another beginning", allowed);
    }
    let ranks = head.u32()?;
    if !(2..=65_536).contains(&ranks) {
        return head.from(8).wrong(&format!("{ranks} ranks"), "2 to 65,536 ranks");
    }
    let said = [head.u8()?, head.u8()?];
    let mut begin = HEAD + ENTRY * u64::from(ranks);
    let mut highest = [0, 0];
    let mut read = Vec::with_capacity(ranks as usize);
    for rank in 0..ranks {
        let end = head.end_of(rank, begin)?;
        read.push(Section::new(head.from(begin), end, ranks)?.read(&mut highest)?);
        begin = end;
    }
    if begin != bytes.len() as u64 {
        return head.from(begin).wrong("more", "the end of the file, behind the last rank");
    }
    if said != highest {
        let found = format!("{} and {} for the highest cpu and nic", said[0], said[1]);
        let allowed = format!("{} and {}, which the operations have", highest[0], highest[1]);
        return head.from(12).wrong(&found, &allowed);
    }
    Ok(read)
}

/// Bytes that are read from `at` on.
#[derive(Clone, Copy)]
struct Reader<'a> {
    name: &'a Path,
    bytes: &'a [u8],
    at: u64,
}

impl Reader<'_> {
    fn from(self, at: u64) -> Self {
        Reader { at, ..self }
    }

    fn wrong<T>(&self, found: &str, allowed: &str) -> Result<T, WorkloadError> {
        Err(Form::Binary.wrong("", found, allowed, (self.name, self.at)))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], WorkloadError> {
        let rest = usize::try_from(self.at).ok().and_then(|at| self.bytes.get(at..));
        let Some(taken) = rest.and_then(|rest| rest.first_chunk()) else {
            let end = self.from(self.bytes.len() as u64);
            return end.wrong("the end of the file", "all of a schedule, as txt2bin wrote it");
        };
        self.at += N as u64;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, WorkloadError> {
        self.take().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, WorkloadError> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, WorkloadError> {
        self.take().map(u64::from_le_bytes)
    }

    /// Where a rank ends, by the table. It begins where the one before it ends.
    fn end_of(self, rank: u32, begin: u64) -> Result<u64, WorkloadError> {
        let mut entry = self.from(HEAD + ENTRY * u64::from(rank));
        let here = entry;
        let (from, to) = (entry.u64()?, entry.u64()?);
        let all = self.bytes.len() as u64;
        if from != begin - ORIGIN {
            let found = format!("{from} for the beginning of rank {rank}");
            let allowed = format!("{}, where what is before it ends", begin - ORIGIN);
            return here.wrong(&found, &allowed);
        }
        match to.checked_add(ORIGIN) {
            Some(end) if (begin..=all).contains(&end) => Ok(end),
            _ => {
                let found = format!("{to} for the end of rank {rank}");
                let allowed = format!("{from} to {}, where the file ends", all.saturating_sub(8));
                here.from(here.at + 8).wrong(&found, &allowed)
            }
        }
    }

    fn operation(&mut self) -> Result<Operation, WorkloadError> {
        Ok(Operation {
            at: self.at,
            waits_for: self.u32()?,
            kind: self.u8()?,
            peer: self.u32()?,
            size: self.u64()?,
            tag: self.u32()?,
            cpu: self.u8()?,
            nic: self.u8()?,
            after_end: (self.u32()?, self.u32()?),
            after_start: (self.u32()?, self.u32()?),
        })
    }
}

/// An operation as the file has it, and where.
struct Operation {
    at: u64,
    waits_for: u32,
    kind: u8,
    peer: u32,
    size: u64,
    tag: u32,
    cpu: u8,
    nic: u8,
    /// How many in the list wait for its end, and where there the first of them is.
    after_end: (u32, u32),
    /// The same of its start.
    after_start: (u32, u32),
}

/// A rank's part of the file, which has room for all that it is to have.
struct Section<'a> {
    reader: Reader<'a>,
    /// Of the whole file.
    ranks: u32,
    operations: Label,
    /// How many of them wait for none.
    free: u32,
    /// How long the list of those that wait is.
    waits: u64,
}

impl<'a> Section<'a> {
    /// The part from `reader` on, up to `end`, which is in the file.
    fn new(mut reader: Reader<'a>, end: u64, ranks: u32) -> Result<Self, WorkloadError> {
        let begin = reader;
        let (operations, free) = (reader.u32()?, reader.u32()?);
        let fixed = NUMBER * (2 + u64::from(free)) + OPERATION * u64::from(operations);
        let room = end - begin.at;
        match room.checked_sub(fixed) {
            Some(rest) if rest % NUMBER == 0 => {
                Ok(Section { reader, ranks, operations, free, waits: rest / NUMBER })
            }
            _ => {
                let found = format!("{operations} operations, {free} of which wait for none,");
                begin.wrong(&found, &format!("what fills the rank's {room} bytes"))
            }
        }
    }

    /// The operation of this number, which is in the section.
    fn operation(&self, number: Label) -> Result<Operation, WorkloadError> {
        let table = self.reader.at + NUMBER * u64::from(self.free);
        self.reader.from(table + OPERATION * u64::from(number)).operation()
    }

    /// Its lines. The highest processor and network card are those of the file.
    fn read(&self, highest: &mut [u8; 2]) -> Result<Rank, WorkloadError> {
        // As long as the section has room for: it is no longer than the file.
        let mut lines = Vec::with_capacity(self.operations as usize + self.waits as usize);
        let mut waits_for = vec![0; self.operations as usize];
        let mut listed = 0;
        for label in 0..self.operations {
            let operation = self.operation(label)?;
            *highest = [highest[0].max(operation.cpu), highest[1].max(operation.nic)];
            lines.push((operation.at, Line::Is(label, self.statement(&operation)?)));
            for at_start in [false, true] {
                for place in self.waiting(&operation, at_start, listed)? {
                    let waits = self.listed(place)?;
                    waits_for[waits as usize] += 1;
                    let line = Line::Waits { label: waits, of: label, at_start };
                    lines.push((operation.at, line));
                    listed += 1;
                }
            }
        }
        self.agrees(listed, &waits_for)?;
        Ok(Rank { lines, labels: self.operations })
    }

    fn statement(&self, operation: &Operation) -> Result<Statement, WorkloadError> {
        let &Operation { at, kind, peer, size, tag, cpu, nic, .. } = operation;
        let wrong =
            |byte, found: &str, allowed: &str| self.reader.from(at + byte).wrong(found, allowed);
        match kind {
            1 | 2 if peer >= self.ranks => {
                let allowed = format!("0 to {}", self.ranks - 1);
                wrong(5, &format!("a message to or from rank {peer}"), &allowed)
            }
            // The tool writes the same for "tag -1", whatever that is to mean.
            1 | 2 if tag == u32::MAX => {
                wrong(17, "tag 4294967295, which \"tag -1\" becomes, too,", "another tag")
            }
            1 => Ok(Statement::Send { bytes: size, to: peer, tag: u64::from(tag) }),
            2 => Ok(Statement::Receive { bytes: size, from: peer, tag: u64::from(tag) }),
            3 if (peer, tag, nic) != (0, 0, 0) => {
                let found = format!("a computation with peer {peer}, tag {tag} and nic {nic}");
                wrong(5, &found, "0 for all three")
            }
            3 => Ok(Statement::Calculate { time: size, processor: processor(cpu) }),
            _ => wrong(4, &format!("operation kind {kind}"), "1 (send), 2 (recv), 3 (calc)"),
        }
    }

    /// The places in the list of those that wait for an operation. `listed` are those before.
    fn waiting(
        &self,
        operation: &Operation,
        at_start: bool,
        listed: u64,
    ) -> Result<std::ops::Range<u64>, WorkloadError> {
        let (byte, (count, first)) =
            if at_start { (31, operation.after_start) } else { (23, operation.after_end) };
        let end = u64::from(first) + u64::from(count);
        if u64::from(first) != listed || end > self.waits {
            let found = format!("{count} operations that wait, from {first} of the list on,");
            let allowed = format!("up to {} from {listed} on", self.waits - listed);
            return self.reader.from(operation.at + byte).wrong(&found, &allowed);
        }
        Ok(listed..end)
    }

    /// The operation at a place of the list.
    fn listed(&self, place: u64) -> Result<Label, WorkloadError> {
        let list = u64::from(self.free) * NUMBER + u64::from(self.operations) * OPERATION;
        let mut reader = self.reader.from(self.reader.at + list + place * NUMBER);
        let here = reader;
        match reader.u32()? {
            number if number < self.operations => Ok(number),
            number => {
                let found = format!("operation {number} as one that waits");
                here.wrong(&found, &format!("one of the rank's {} operations", self.operations))
            }
        }
    }

    /// Whether what the operations wait for, here counted, is what the file says of it elsewhere.
    fn agrees(&self, listed: u64, waits_for: &[u32]) -> Result<(), WorkloadError> {
        let begin = self.reader.from(self.reader.at - 2 * NUMBER);
        if listed != self.waits {
            let found = format!("a list of {} that wait", self.waits);
            return begin.wrong(&found, &format!("{listed}, as the operations say"));
        }
        let (mut free, mut left) = (self.reader, self.free);
        for (number, count) in (0..).zip(waits_for) {
            let Operation { at, waits_for: said, .. } = self.operation(number)?;
            if said != *count {
                let found = format!("{said} operations that operation {number} waits for");
                let allowed = format!("{count}, as the list of those that wait says");
                return self.reader.from(at).wrong(&found, &allowed);
            }
            if said == 0 {
                let here = free;
                if left == 0 || free.u32()? != number {
                    let found = format!("no operation {number}");
                    return here.wrong(&found, "all that wait for none, in their order");
                }
                left -= 1;
            }
        }
        if left > 0 {
            return free.wrong(&format!("{left} more"), "those that wait for none, each once");
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "binary_tests.rs"]
mod tests;
