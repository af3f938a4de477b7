//! Hosts that are kernels: what the run does with them besides driving them.

use super::{RunError, SetupError, Simulation};
use crate::drive::Driver;
use crate::output::ProgramRow;
use crate::progress::Progress;
use leafspine_core::{FiveTuple, Time};
use leafspine_linux::{CONGESTION, LinuxError};
use leafspine_node::Address;
use leafspine_schemes::ParamError;

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

    /// Whether hosts run programs.
    pub(super) fn has_programs(&self) -> bool {
        matches!(&self.driver, Driver::Linux(driver) if driver.has_programs())
    }

    /// Where there are no flows the window opens when the first program starts.
    pub(super) fn start_programs(&mut self) {
        let Driver::Linux(driver) = &self.driver else { return };
        let Some(start) = driver.first_program().filter(|_| self.flows.next_at().is_none()) else {
            return;
        };
        self.first_flow(start);
        self.now = Time::ZERO;
    }

    /// What programs have done, in a number that grows, and whether the run waits for one.
    pub(super) fn programs_done(&self) -> (u64, bool) {
        match &self.driver {
            Driver::Linux(driver) => (driver.programs_done(), driver.awaits_programs()),
            _ => (0, false),
        }
    }

    /// The run got nowhere with its programs.
    pub(super) fn waits_for_programs(&self, events: u64) -> RunError {
        let awaited = match &self.driver {
            Driver::Linux(driver) => driver.awaited_programs(),
            _ => Vec::new(),
        };
        let why = format!(
            "no program has written or sent anything any more, and the run waits for the end of {} \
             (background = true: it does not wait; run.until: it ends then)",
            awaited.join(", ")
        );
        self.stuck(events, why)
    }

    /// Frees what connections of programs had that are over.
    pub(super) fn free_connections(&mut self) {
        let layout = &self.layout;
        if let Some(driver) = self.driver.linux() {
            driver.free_connections(layout);
        }
    }

    /// What programs leave behind.
    pub(super) fn take_programs(&mut self) -> Vec<ProgramRow> {
        self.driver.linux().map(crate::drive::LinuxDriver::take_programs).unwrap_or_default()
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
        LinuxError::Refused { name, key, value, what } => {
            let (own, found) = match key == CONGESTION {
                true => ("congestion", format!("\"{value}\"")),
                false => ("sysctl", format!("\"{key}\" = \"{value}\"")),
            };
            let allowed = format!("what the kernel of {name} takes, which says: {what}");
            let error = ParamError::new(own, found, allowed);
            RunError::Setup(Box::new(SetupError::Scheme { section: "hosts", error }))
        }
        error => RunError::Linux(Box::new(error)),
    }
}
