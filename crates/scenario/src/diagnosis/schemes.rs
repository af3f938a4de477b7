//! What is known of the schemes that a run names.

use leafspine_schemes::Provenance;
use leafspine_schemes::registry::Place;
use leafspine_sim::spec::{SchemeSpec, Spec};

/// Schemes that had to be made up from what others say of them.
pub(super) fn reconstructed(spec: &Spec) -> Vec<String> {
    let places = [
        (Place::LoadBalancer, Some(&spec.balancer)),
        (Place::Aqm, Some(&spec.aqm)),
        (Place::Hold, spec.hold.as_ref()),
        (Place::HostEdge, spec.edge.as_ref()),
        (Place::Transport, Some(&spec.transport.scheme)),
    ];
    let said = |(place, scheme): (Place, Option<&SchemeSpec>)| {
        let info = place.find(&scheme?.name)?;
        (info.provenance == Provenance::Reconstructed).then(|| {
            format!(
                "{} is reconstructed: only mentions of it were at hand, not the paper that \
                 defines it",
                info.name
            )
        })
    };
    places.into_iter().filter_map(said).collect()
}
