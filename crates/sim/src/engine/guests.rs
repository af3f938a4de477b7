//! Hosts that are kernels: what the run does with them besides driving them.

use super::{RunError, Simulation};
use crate::progress::Progress;
use leafspine_core::FiveTuple;
use leafspine_linux::LinuxError;
use leafspine_node::Address;

impl Simulation {
    /// Boots the guests, if the hosts are such.
    pub(super) fn boot(&mut self, progress: &Progress) -> Result<(), RunError> {
        let Some(driver) = self.driver.linux() else { return Ok(()) };
        driver.boot(&progress.flag()).map_err(failed)
    }

    /// Ends the run with the error of a guest.
    pub(super) fn fail_with_guests(&mut self) -> Result<(), RunError> {
        match self.driver.linux().and_then(crate::drive::LinuxDriver::take_error) {
            Some(error) => Err(failed(error)),
            None => Ok(()),
        }
    }

    /// The run has ended: what kernels say of the flows that have not.
    pub(super) fn ask_guests(&mut self) {
        let (now, layout, net) = (self.now, &self.layout, &self.net);
        if let Some(driver) = self.driver.linux() {
            driver.ask_all(layout, net, now);
        }
    }

    /// A flow is opened.
    pub(super) fn open_at_guests(&mut self, number: u32, sender: Address, bytes: u64) {
        let tuple = self.tuple_of(sender);
        if let Some(driver) = self.driver.linux() {
            driver.open(number, sender, bytes, tuple);
        }
    }

    /// A flow's row is written, and it is closed.
    pub(super) fn close_at_guests(&mut self, number: u32, sender: Address) {
        let tuple = self.tuple_of(sender);
        if let Some(driver) = self.driver.linux() {
            driver.close(number, tuple);
        }
    }

    fn tuple_of(&self, sender: Address) -> FiveTuple {
        self.driver.sending(&self.layout, sender).tuple
    }

    /// Gives the probes what kernels have answered.
    pub(super) fn note_samples(&mut self) {
        let Some(driver) = self.driver.linux() else { return };
        for sample in driver.take_samples() {
            self.probes[sample.probe as usize].answered(&sample);
        }
    }
}

fn failed(error: LinuxError) -> RunError {
    match error {
        LinuxError::Cancelled => RunError::Cancelled,
        error => RunError::Linux(Box::new(error)),
    }
}
