//! Schemes from outside this crate: registered once, before anything is looked up.
//!
//! A program (or the Python module of a crate that is no part of leafspine) hands its entries to
//! [`register`] when it starts. From then on they stand in the registry behind the built-in ones and
//! are no different from them. The catalogue never changes once it has been looked at: it is data of
//! the program, like the built-in lists, and no state that two simulations could share.

use crate::bundle::{self, Bundle};
use crate::registry::Place;
use crate::{Kind, Param, Scale, SchemeInfo, Value, aqm, cc, edge, hold, lb};
use std::sync::OnceLock;

/// Words of scenario files that are not schemes' names.
const RESERVED: [&str; 3] = ["none", "balancer", "scheme"];

/// What a crate from outside adds to the registry.
#[derive(Clone, Copy)]
pub struct Extension {
    /// Whose it is, for messages and the catalogue: name and version of the crate.
    pub from: &'static str,
    /// Load balancers.
    pub balancers: &'static [lb::Entry],
    /// Queue managers.
    pub managers: &'static [aqm::Entry],
    /// Ingress holds.
    pub holds: &'static [hold::Entry],
    /// Host edges.
    pub edges: &'static [edge::Entry],
    /// Congestion controls.
    pub controls: &'static [cc::Entry],
    /// Systems of several of these.
    pub bundles: &'static [Bundle],
}

/// Why an extension is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{from}: {message}")]
pub struct ExtensionError {
    /// Whose extension.
    pub from: &'static str,
    /// What is wrong with it, and what is allowed.
    pub message: String,
}

static CURRENT: OnceLock<Extension> = OnceLock::new();

/// What was registered; the first look-up closes the registry.
pub(crate) fn current() -> &'static Extension {
    CURRENT.get_or_init(|| Extension::EMPTY)
}

/// Puts an extension's entries behind the built-in ones, for the rest of the process.
///
/// # Errors
/// If the entries contradict themselves or those that there are (see [`Extension::check`]), if an
/// extension has been registered before, or if something has been looked up already.
pub fn register(extension: Extension) -> Result<(), ExtensionError> {
    extension.check()?;
    let late = "found a registry in use; allowed: one registration, before the first look-up";
    CURRENT.set(extension).map_err(|_| extension.error(late))
}

impl Extension {
    /// No entries: the rest of an extension that has only some lists.
    pub const EMPTY: Extension = Extension {
        from: "",
        balancers: &[],
        managers: &[],
        holds: &[],
        edges: &[],
        controls: &[],
        bundles: &[],
    };

    pub(crate) fn is_empty(&self) -> bool {
        self.from.is_empty() && self.schemes().next().is_none() && self.bundles.is_empty()
    }

    /// Whether the scheme of this name is one of these.
    #[must_use]
    pub fn has(&self, place: Place, name: &str) -> bool {
        self.schemes().any(|(own, info)| own == place && info.name == name)
    }

    fn schemes(&self) -> impl Iterator<Item = (Place, &'static SchemeInfo)> {
        let balancers = self.balancers.iter().map(|entry| (Place::LoadBalancer, &entry.info));
        let managers = self.managers.iter().map(|entry| (Place::Aqm, &entry.info));
        let holds = self.holds.iter().map(|entry| (Place::Hold, &entry.info));
        let edges = self.edges.iter().map(|entry| (Place::HostEdge, &entry.info));
        let controls = self.controls.iter().map(|entry| (Place::Transport, &entry.info));
        balancers.chain(managers).chain(holds).chain(edges).chain(controls)
    }

    /// Whether the registry can take these entries: names and keys that a scenario file can say and
    /// that are not taken, defaults that are of their kind, and no word about schemes that are not
    /// there.
    ///
    /// # Errors
    /// Says what is wrong with the first entry that does not fit.
    pub fn check(&self) -> Result<(), ExtensionError> {
        let mut taken: Vec<(Place, &SchemeInfo)> = built_in().schemes().collect();
        for (place, info) in self.schemes() {
            let wrong = |message: String| {
                self.error(&format!("{} scheme \"{}\": {message}", place.table(), info.name))
            };
            flaw(place, info).map_or(Ok(()), |message| Err(wrong(message)))?;
            if taken.iter().any(|(other, there)| *other == place && there.name == info.name) {
                return Err(wrong("the name is taken; choose another".to_owned()));
            }
            taken.push((place, info));
        }
        let there = |place, name: &str| {
            taken.iter().any(|(other, info)| *other == place && info.name == name)
        };
        self.check_companions(there)?;
        self.check_bundles(there)
    }

    fn check_companions(&self, there: impl Fn(Place, &str) -> bool) -> Result<(), ExtensionError> {
        let edge = |entry: &'static lb::Entry| {
            entry.edge.map(|edge| (Place::LoadBalancer, entry.info.name, Place::HostEdge, edge))
        };
        let balancers = |entry: &'static edge::Entry| {
            let name = entry.info.name;
            let named = entry.balancers.iter();
            named.map(move |other| (Place::HostEdge, name, Place::LoadBalancer, *other))
        };
        let mut named = self.balancers.iter().filter_map(edge);
        let missing = |(_, _, place, name): &(Place, &str, Place, &str)| !there(*place, name);
        let found = named.find(missing);
        let found = found.or_else(|| self.edges.iter().flat_map(balancers).find(missing));
        found.map_or(Ok(()), |(own, name, place, other)| {
            let (own, table) = (own.table(), place.table());
            let message = format!("{own} scheme \"{name}\": no {table} scheme \"{other}\"");
            Err(self.error(&message))
        })
    }

    fn check_bundles(&self, there: impl Fn(Place, &str) -> bool) -> Result<(), ExtensionError> {
        let mut taken: Vec<&str> = bundle::ALL.iter().map(|bundle| bundle.name).collect();
        for bundle in self.bundles {
            let wrong = |m: &str| self.error(&format!("bundle \"{}\": {m}", bundle.name));
            if !is_plain(bundle.name) {
                return Err(wrong(PLAIN));
            }
            if taken.contains(&bundle.name) {
                return Err(wrong("the name is taken; choose another"));
            }
            taken.push(bundle.name);
            for (key, value) in bundle.keys {
                let Some(table) = key.strip_suffix(".scheme") else { continue };
                let name = value.trim_matches('"');
                let place = Place::ALL.into_iter().find(|place| place.table() == table);
                if !place.is_some_and(|place| RESERVED.contains(&name) || there(place, name)) {
                    return Err(wrong(&format!("no scheme for {key} = {value}")));
                }
            }
        }
        Ok(())
    }

    fn error(&self, message: &str) -> ExtensionError {
        ExtensionError { from: self.from, message: message.to_owned() }
    }
}

/// The built-in lists in an extension's shape.
fn built_in() -> Extension {
    Extension {
        from: "leafspine",
        balancers: lb::ALL,
        managers: aqm::ALL,
        holds: hold::ALL,
        edges: edge::ALL,
        controls: cc::ALL,
        bundles: bundle::ALL,
    }
}

const PLAIN: &str = "allowed: a name of small letters, digits and hyphens";

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(plain)
}

/// What keeps a scheme from being named in a scenario file with its parameters, if anything does.
pub(crate) fn flaw(place: Place, info: &SchemeInfo) -> Option<String> {
    if RESERVED.contains(&info.name) {
        return Some("the name is reserved; choose another".to_owned());
    }
    if !is_plain(info.name) {
        return Some(PLAIN.to_owned());
    }
    let mut seen = Vec::new();
    info.params.iter().find_map(|param| {
        let found = param_flaw(place, param, &seen).or_else(|| meaning_flaw(info.params, param));
        seen.push(param.name);
        found.map(|message| format!("parameter \"{}\": {message}", param.name))
    })
}

fn param_flaw(place: Place, param: &Param, seen: &[&str]) -> Option<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if param.name.is_empty() || !param.name.chars().all(plain) {
        return Some("allowed: a name of small letters, digits and underscores".to_owned());
    }
    if place.keys().contains(&param.name) {
        return Some(format!("the key is one of [{}] itself; choose another", place.table()));
    }
    if seen.contains(&param.name) {
        return Some("declared twice".to_owned());
    }
    let default = param.default?;
    Value::default(&param.kind, default, &Scale::REFERENCE)
        .err()
        .map(|message| format!("its default: {message}"))
}

/// What a parameter is about must be of its kind, and what it goes with be there.
fn meaning_flaw(all: &[Param], param: &Param) -> Option<String> {
    if let Some(meaning) = param.meaning.filter(|meaning| !meaning.fits(&param.kind)) {
        return Some(format!("its kind is no {}", meaning.is()));
    }
    let (key, words) = param.only?;
    let of = |other: &&Param| other.name == key;
    match all.iter().find(of).map(|other| other.kind) {
        Some(Kind::Word(known)) => words
            .iter()
            .find(|word| !known.contains(word))
            .map(|word| format!("\"{key}\" has no word \"{word}\"")),
        _ => Some(format!("\"{key}\" is no parameter that has words")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Demands, Meaning, Provenance};

    const INFO: SchemeInfo = SchemeInfo {
        name: "mine",
        summary: "Mine.",
        source: "none",
        provenance: Provenance::Own,
        unspecified: &[],
        params: &[],
        demands: Demands::NONE,
    };
    const LB: lb::Entry = lb::Entry { info: INFO, ..lb::ALL[0] };
    const GAP: Param = Param { name: "gap", ..Param::new(Kind::Span(1, u64::MAX), "1us", "Gap.") };

    fn said(balancers: &'static [lb::Entry]) -> String {
        let extension = Extension { from: "my-crate 1.0", balancers, ..Extension::EMPTY };
        extension.check().map_or_else(|error| error.to_string(), |()| "taken".to_owned())
    }

    macro_rules! with {
        ($($field:ident: $value:expr),*) => {
            said(&[lb::Entry { info: SchemeInfo { $($field: $value,)* ..INFO }, ..LB }])
        };
    }

    /// Breaks if an extension is taken that no scenario file could name, or that hides a scheme.
    #[test]
    fn names_are_free_and_plain() {
        assert_eq!(with!(name: "mine-2"), "taken");
        let head = "my-crate 1.0: load_balancer scheme";
        let taken = "the name is taken; choose another";
        assert_eq!(with!(name: "ecmp"), format!("{head} \"ecmp\": {taken}"));
        assert_eq!(said(&[LB, LB]), format!("{head} \"mine\": {taken}"));
        // The same name in another place is another scheme: presto is both.
        let other = aqm::Entry { info: INFO, ..aqm::ALL[0] };
        let both = Extension {
            balancers: &[LB],
            managers: Box::leak(Box::new([other])),
            ..Extension::EMPTY
        };
        assert_eq!(both.check(), Ok(()));
        let reserved = "the name is reserved; choose another";
        assert_eq!(with!(name: "none"), format!("{head} \"none\": {reserved}"));
        assert_eq!(with!(name: "My Own"), format!("{head} \"My Own\": {PLAIN}"));
    }

    /// Breaks if a parameter is taken that the table means otherwise, or that has a default which
    /// the first user would be blamed for.
    #[test]
    fn parameters_can_be_read() {
        let head = "my-crate 1.0: load_balancer scheme \"mine\": parameter";
        assert_eq!(with!(params: &[GAP]), "taken");
        assert_eq!(with!(params: &[GAP, GAP]), format!("{head} \"gap\": declared twice"));
        assert_eq!(
            with!(params: &[Param { default: Some("1"), ..GAP }]),
            format!(
                "{head} \"gap\": its default: found \"1\" (the unit is missing); \
                 allowed: a time such as \"12.5us\" (ps, ns, us, ms, s, rtt)"
            )
        );
        assert_eq!(
            with!(params: &[Param { name: "scheme", ..GAP }]),
            format!("{head} \"scheme\": the key is one of [load_balancer] itself; choose another")
        );
        let info = SchemeInfo { params: &[Param { name: "mss", ..GAP }], ..INFO };
        assert!(flaw(Place::Transport, &info).is_some());
        assert!(flaw(Place::Aqm, &info).is_none());
    }

    /// Breaks if a parameter is taken that never is what it is said to be about, or goes with what is not there.
    #[test]
    fn what_parameters_are_about_is_of_their_kind() {
        const BY: Param = Param { name: "by", ..Param::new(Kind::Word(&["a", "b"]), "a", "By.") };
        const PERIOD: Param = GAP.means(Meaning::Period);
        const BACKLOG: Param = GAP.means(Meaning::Backlog);
        const WITH_B: Param = GAP.only_with("by", &["b"]);
        const WITH_C: Param = GAP.only_with("by", &["c"]);
        let head = "my-crate 1.0: load_balancer scheme \"mine\": parameter \"gap\":";
        assert_eq!(with!(params: &[PERIOD]), "taken");
        let found = with!(params: &[BACKLOG]);
        assert_eq!(found, format!("{head} its kind is no number of packets or bytes"));
        assert_eq!(with!(params: &[BY, WITH_B]), "taken");
        let found = with!(params: &[BY, WITH_C]);
        assert_eq!(found, format!("{head} \"by\" has no word \"c\""));
        let found = with!(params: &[WITH_B]);
        assert_eq!(found, format!("{head} \"by\" is no parameter that has words"));
    }

    /// Breaks if an extension may point at what is not there.
    #[test]
    fn edges_and_bundles_name_schemes() {
        const EDGED: lb::Entry = lb::Entry { edge: Some("nowhere"), ..LB };
        assert!(said(&[EDGED]).ends_with("\"mine\": no host_edge scheme \"nowhere\""));
        assert_eq!(said(&[lb::Entry { edge: Some("presto"), ..LB }]), "taken");
        const PICKY: edge::Entry = edge::Entry { balancers: &["mine", "yours"], ..edge::ALL[0] };
        let info = SchemeInfo { name: "picky", ..INFO };
        let edges: &[edge::Entry] = Box::leak(Box::new([edge::Entry { info, ..PICKY }]));
        let error = Extension { balancers: &[LB], edges, ..Extension::EMPTY }.check().unwrap_err();
        assert!(error.message.ends_with("\"picky\": no load_balancer scheme \"yours\""));
        let bundled = |name, keys| {
            let bundles: &[Bundle] = Box::leak(Box::new([Bundle { name, doc: "Mine.", keys }]));
            let extension = Extension { balancers: &[LB], bundles, ..Extension::EMPTY };
            extension.check().map_err(|error| error.message)
        };
        let mine = &[("load_balancer.scheme", "\"mine\""), ("aqm.scheme", "\"balancer\"")];
        assert_eq!(bundled("mine", mine), Ok(()));
        let taken = "bundle \"presto\": the name is taken; choose another";
        assert_eq!(bundled("presto", mine), Err(taken.to_owned()));
        let none = "bundle \"mine\": no scheme for aqm.scheme = \"mine\"";
        assert_eq!(bundled("mine", &[("aqm.scheme", "\"mine\"")]), Err(none.to_owned()));
    }
}
