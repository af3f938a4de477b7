//! Whether anything tells flows' classes apart.

use super::schemes_of;
use crate::expand::Case;
use leafspine_schemes::registry::Place;
use leafspine_sim::spec::SchemeSpec;

/// Classes of workloads where switches have one service queue. Schemes from elsewhere may read them;
/// those that come with leafspine and do so need several queues.
pub(super) fn nobody_looks(case: &Case) -> Option<String> {
    let spec = &case.spec;
    let given = spec.workloads.iter().any(|workload| workload.class.is_some());
    let known = |(place, scheme): (Place, &SchemeSpec)| {
        place == Place::Transport || place.find(&scheme.name).is_some()
    };
    let known = schemes_of(spec).into_iter().all(known);
    (given && spec.switch.queues == 1 && known).then(|| {
        "workload.class changes nothing but what packet captures show: switches have one service \
         queue (switch.queues)"
            .to_owned()
    })
}
