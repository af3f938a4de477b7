//! Whether a flow table had an entry for each flow.

use crate::expand::Case;
use leafspine_sim::Output;

/// From this share of flows on, what becomes of a flow depends on another one noticeably often.
const OFTEN: f64 = 0.05;

/// Flows that shared an entry of their leaf's table with another, as seen when flows started.
pub(super) fn shared_entries(case: &Case, output: &Output) -> Option<String> {
    let looked = output.table_use;
    let share = looked.sharing as f64 / looked.flows.max(1) as f64;
    (share >= OFTEN).then(|| {
        format!(
            "{}: {:.0} % of the flows under way share an entry of their switch's flow table with \
             another; have more entries",
            case.spec.balancer.name,
            100.0 * share
        )
    })
}
