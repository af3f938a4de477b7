//! Jobs that a file describes, whatever its form.

use super::WorkloadError;
use super::dag::Template;
use super::{chakra, goal, simai};
use crate::spec::{ChakraSpec, GoalSpec, JobKind, SimaiSpec};
use leafspine_core::HostId;

/// What was read, with what the scenario says of it.
pub(crate) enum Schedule<'a> {
    Goal(&'a GoalSpec, goal::File),
    Simai(&'a SimaiSpec, simai::Step),
    Chakra(&'a ChakraSpec, Vec<chakra::Trace>),
}

impl Schedule<'_> {
    /// Reads a job's file; `None` of a job that has none.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of its kind.
    pub(crate) fn read(what: &JobKind) -> Result<Option<Schedule<'_>>, WorkloadError> {
        Ok(match what {
            JobKind::Collective(_) | JobKind::Pipeline(_) => None,
            JobKind::Goal(spec) => Some(Schedule::Goal(spec, goal::read(&spec.file, &spec.file)?)),
            JobKind::Simai(spec) => Some(Schedule::Simai(spec, simai::read(&spec.file)?)),
            JobKind::Chakra(spec) => Some(Schedule::Chakra(spec, chakra::read(&spec.files)?)),
        })
    }

    /// How many ranks it has; `None` if as many as there are hosts.
    pub(crate) fn ranks(&self) -> Option<u32> {
        match self {
            Schedule::Goal(_, file) => Some(file.ranks.len() as u32),
            Schedule::Simai(_, step) => step.ranks(),
            Schedule::Chakra(_, traces) => Some(traces.len() as u32),
        }
    }

    /// An iteration on these hosts.
    ///
    /// # Errors
    /// What the file says cannot be done.
    pub(crate) fn template(&self, hosts: &[HostId]) -> Result<Template, WorkloadError> {
        match self {
            Schedule::Goal(spec, file) => goal::template(file, hosts, spec.unit, &spec.file),
            Schedule::Simai(spec, step) => simai::template(step, hosts, spec),
            Schedule::Chakra(spec, traces) => chakra::template(traces, hosts, spec),
        }
    }
}

/// Reads a job's file and makes an iteration of it on as many hosts as it wants, or `hosts`: how many operations
/// that has. For tests that feed readers with anything.
///
/// # Errors
/// What is wrong with the file, and where.
pub fn read_schedule(what: &JobKind, hosts: u16) -> Result<Option<usize>, WorkloadError> {
    let Some(schedule) = Schedule::read(what)? else { return Ok(None) };
    let ranks = schedule.ranks().unwrap_or(u32::from(hosts)).min(u32::from(u16::MAX));
    let hosts: Vec<HostId> = (0..ranks as u16).map(HostId).collect();
    schedule.template(&hosts).map(|template| Some(template.operations()))
}
