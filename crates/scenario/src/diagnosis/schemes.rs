//! What is known of the schemes that a run names.

use super::schemes_of;
use leafspine_schemes::Provenance;
use leafspine_sim::spec::Spec;

/// Schemes that had to be made up from what others say of them.
pub(super) fn reconstructed(spec: &Spec) -> Vec<String> {
    let found = schemes_of(spec).into_iter().filter_map(|(place, scheme)| place.find(&scheme.name));
    found
        .filter(|info| info.provenance == Provenance::Reconstructed)
        .map(|info| {
            format!(
                "{} is reconstructed: only mentions of it were at hand, not the paper that \
                 defines it",
                info.name
            )
        })
        .collect()
}
