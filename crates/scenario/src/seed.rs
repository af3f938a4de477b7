//! The seed of a file, before its sweep.

use crate::error::ScenarioError;
use crate::expand::{Source, overrides};
use crate::layer;
use crate::path;
use crate::run::SEED;
use crate::section::{Around, content, decode};
use crate::trace::FilesRead;
use crate::tree::{self, Table};

/// The seed that the file and its overrides give, from which sweeps over seeds count: `run.seed`, or
/// 1. A variant's own seed does not count.
///
/// # Errors
/// If the text is no TOML, an override is no key, or the seed is no whole number.
pub fn first_seed(source: &Source<'_>) -> Result<u64, ScenarioError> {
    let files_read = FilesRead::default();
    let Source { file, base, sets, options, .. } = *source;
    let place = Around {
        file,
        base,
        files_read: &files_read,
        options,
        sets,
        scale: None,
        linux: false,
        resolved: false,
        survey: None,
    };
    let mut root = tree::parse(source.text, file)?;
    let sets = overrides(place, &mut root, source.sets)?;
    // All others may be for what a variant adds.
    let sets: Vec<_> = sets.into_iter().filter(|set| set.path[0] == "run").collect();
    let mut run = Table::default();
    if let Some(node) = root.remove("run") {
        run.insert("run", node);
    }
    layer::apply(place, &mut run, &sets)?;
    match path::get(&run, &["run".to_owned(), "seed".to_owned()]) {
        None => Ok(1),
        Some(node) => Ok(content!(decode(place, "run.seed", node, SEED)?, Int)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn of(text: &str, sets: &[(&str, &str)]) -> Result<u64, String> {
        let sets: Vec<_> = sets.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let base = Path::new(".");
        let source = Source { text, file: "f.toml", base, sets: &sets, options: &[] };
        first_seed(&source).map_err(|error| error.to_string())
    }

    /// Breaks if a sweep over seeds counts from another seed than the scenario's.
    #[test]
    fn the_seed_is_the_overrides_or_the_files_or_one() {
        assert_eq!(of("", &[]), Ok(1));
        assert_eq!(of("run.seed = 1e3", &[]), Ok(1000));
        assert_eq!(of("[run]\nseed = 5", &[("aqm.threshold", "9pkt")]), Ok(5));
        assert_eq!(of("[run]\nseed = 5", &[("run.seed", "7"), ("run.seed", "\"8\"")]), Ok(8));
        assert_eq!(of("", &[("topology.change.0.rate", "1Gbps")]), Ok(1));
    }

    /// Breaks if a seed that is none is taken for 1.
    #[test]
    fn a_seed_that_is_none_is_refused_where_it_is() {
        let refused = of("\n[run]\nseed = -1", &[]).unwrap_err();
        assert!(refused.starts_with("f.toml:3: run.seed: found -1; allowed: "), "{refused}");
        let refused = of("", &[("run.seed", "often")]).unwrap_err();
        assert!(refused.starts_with("--set run.seed: found \"often\""), "{refused}");
        assert!(of("run = 3", &[]).is_ok());
        assert!(of("run = ", &[]).is_err());
    }
}
