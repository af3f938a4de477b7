//! Captures of a run's ports.

use super::{RunError, Simulation};
use crate::capture::{Capture, CaptureError, FlowFacts};
use leafspine_core::Flags;
use leafspine_node::{Address, Tapped};
use std::path::Path;

impl Simulation {
    /// The same run, with what leaves by ports written into files: one for each port that one of
    /// `patterns` names (`leaf0-spine1`, `leaf0-*`), in `folder`, which is there; and one for each host,
    /// `host3` or `host*`, with both directions of its link.
    ///
    /// # Errors
    /// No such port or host; a file that cannot be made.
    pub fn capturing(
        mut self,
        patterns: &[String],
        folder: &Path,
    ) -> Result<Simulation, CaptureError> {
        let capture = Capture::new(patterns, folder, &self.graph, &self.net, self.seed)?;
        for at in capture.ports() {
            let port = self.driver.port_mut(&self.layout, at);
            (port.tapped, port.special) = (true, true);
        }
        self.capture = Some(Box::new(capture));
        Ok(self)
    }

    /// Takes what captured ports have sent. Flows have their numbers now; their slots may be others'
    /// later.
    pub(super) fn note_tapped(&mut self, tapped: &mut Vec<Tapped>) {
        let Some(capture) = &mut self.capture else { return };
        let frames = self.driver.linux().map(crate::drive::LinuxDriver::take_tapped);
        let mut frames = frames.into_iter().flatten();
        for tapped in tapped.drain(..) {
            let packet = &tapped.packet;
            let flow = (!packet.flags.has(Flags::PROBE)).then(|| {
                let sender = Address::of_sender(packet);
                let number = self.driver.sending(&self.layout, sender).number;
                let (table, row) = self.flows.row_of(number);
                FlowFacts { number, bytes: table.bytes[row] }
            });
            capture.take(&tapped, flow, frames.next());
        }
    }

    /// Writes what is complete. Whatever begins now or later is told of by events from now on.
    pub(super) fn write_captures(&mut self) -> Result<(), RunError> {
        let now = self.now;
        Ok(self.capture.as_mut().map_or(Ok(()), |capture| capture.write_before(now))?)
    }

    /// Writes the rest.
    pub(super) fn finish_captures(&mut self) -> Result<(), RunError> {
        let now = self.now;
        Ok(self.capture.as_mut().map_or(Ok(()), |capture| capture.finish(now))?)
    }
}
