//! What of a trace was not used.

use crate::expand::Case;
use leafspine_core::Time;
use leafspine_sim::spec::WorkloadKind;
use leafspine_sim::workload::{Fabric, Trace};

/// Columns that mean nothing here: one that was to mean something may be misspelt.
pub(super) fn unused_columns(case: &Case) -> Vec<String> {
    let of = |kind: &WorkloadKind| {
        let WorkloadKind::Trace(trace) = kind else { return None };
        // Only its header is read.
        let open = Trace::open(trace, &Fabric::of_hosts(0), Time::ZERO).ok()?;
        let unused = open.unused_columns();
        let names = || unused.join(", ");
        let file = trace.name.file_name()?.display().to_string();
        match unused.len() {
            0 => None,
            1 => Some(format!("{file}: the column {} is not used", names())),
            _ => Some(format!("{file}: the columns {} are not used", names())),
        }
    };
    case.spec.workloads.iter().filter_map(|workload| of(&workload.kind)).collect()
}
