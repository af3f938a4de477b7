//! Variants times sweep: one file to many cases.

use crate::classes::SizeClass;
use crate::error::ScenarioError;
use crate::layer::{self, Setting};
use crate::path;
use crate::resolve::{Resolved, resolve};
use crate::section::{self, Around, tables};
use crate::skip;
use crate::trace::{Converter, FilesRead};
use crate::tree::{self, Data, Node, Origin, Table};
use leafspine_core::Span;
use leafspine_schemes::Scale;
use leafspine_sim::spec::Spec;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A file's text and what it is read with.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file's contents.
    pub text: &'a str,
    /// The file's name, for messages.
    pub file: &'a str,
    /// The folder that paths in the file start from.
    pub base: &'a Path,
    /// Overrides, `(key, value)` as `--set key=value` has them, in their order.
    pub sets: &'a [(String, String)],
    /// The option that each came by, for messages; `--set` for those beyond the list's end.
    pub options: &'a [String],
}

/// A value of the sweep.
#[derive(Clone, PartialEq, Debug)]
pub enum PointValue {
    /// A string.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
}

impl fmt::Display for PointValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PointValue::Text(text) => f.write_str(text),
            PointValue::Int(number) => write!(f, "{number}"),
            PointValue::Float(number) => write!(f, "{number:?}"),
            PointValue::Bool(flag) => write!(f, "{flag}"),
        }
    }
}

/// One run: a variant at a point of the sweep.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file's `name`, empty if it has none.
    pub name: String,
    /// The file's `title`, empty if it has none.
    pub title: String,
    /// The variant's name; empty if the file has no variants.
    pub variant: String,
    /// The sweep's keys and their values here, in the file's order.
    pub point: Vec<(String, PointValue)>,
    /// Seed of the run.
    pub seed: u64,
    /// What the engine runs.
    pub spec: Spec,
    /// The resolved scenario: every default written out, in an order of its own. Parsed again it
    /// gives itself, so that it can be the key of a result.
    pub toml: String,
    /// Flow classes for the tables, in the file's order.
    pub classes: Vec<SizeClass>,
    /// What `rtt` and `bdp` stand for.
    pub scale: Scale,
    /// The round trip of a packet that finds every buffer on its way full.
    pub full_round_trip: Span,
    /// Overrides that other variants have a use for and this one's schemes have not: they were left out.
    pub skipped: Vec<Skipped>,
    tree: Table,
    file: String,
    given: Arc<Given>,
}

/// Overrides, and the option that each came by.
#[derive(Debug)]
struct Given {
    sets: Vec<(String, String)>,
    options: Vec<String>,
}

impl Case {
    /// The file's name, for messages.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Whether somebody wrote `key`, in the file or as an option.
    pub(crate) fn has(&self, key: &str) -> bool {
        path::parts(key).is_some_and(|parts| path::get(&self.tree, &parts).is_some())
    }

    /// The option that gave what stands at `key`, or what is above it, as a message has it; `None`
    /// if it is not from one.
    pub(crate) fn option(&self, key: &str) -> Option<String> {
        match path::origin(&self.tree, &path::parts(key)?)? {
            Origin::Override(number) => {
                Some(section::option(&self.given.options, &self.given.sets, number, key))
            }
            Origin::Line(_) => None,
        }
    }

    /// The line of the file where `key` (`topology.change.0.link`) was written; if it was not, that
    /// of the nearest table above it. `None` if it came from the command line or a default.
    #[must_use]
    pub fn locate(&self, key: &str) -> Option<usize> {
        path::locate(&self.tree, &path::parts(key)?)
    }
}

/// An override of a parameter that a scheme does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// The parameter's key: `load_balancer.gap`.
    pub key: String,
    /// The scheme.
    pub scheme: String,
}

/// The most cases that a file may describe.
const CASES: usize = 100_000;

/// A file's cases: its variants in their order, and for each the points of the sweep, the last key
/// changing fastest.
///
/// Later settings replace earlier ones: the file's own bundle (`scheme`), the file, the variant's
/// bundle, the variant's `set`, the point of the sweep, the overrides. An override of a key that is
/// swept takes the place of the sweep over it.
///
/// # Errors
/// The first thing that is wrong. Nothing is run, nothing is written.
pub fn expand(source: &Source<'_>) -> Result<Vec<Case>, ScenarioError> {
    expand_with(source, None)
}

/// The same with traces in Parquet's format, which `converter` makes CSV files of.
///
/// # Errors
/// As [`expand`].
pub fn expand_with(
    source: &Source<'_>,
    converter: Option<Converter>,
) -> Result<Vec<Case>, ScenarioError> {
    let files_read = FilesRead::new(converter);
    let place = Around {
        file: source.file,
        base: source.base,
        files_read: &files_read,
        options: source.options,
        sets: source.sets,
        scale: None,
        linux: false,
        resolved: false,
        survey: None,
    };
    let mut root = tree::parse(source.text, source.file)?;
    let overrides = overrides(place, &mut root, source.sets)?;
    let (name, title) = (label(place, &mut root, "name")?, label(place, &mut root, "title")?);
    let (given, sweep) = (root.remove("variant"), root.remove("sweep"));
    let variants = variants(place, &root, given.as_ref())?;
    let axes = axes(place, &root, sweep.as_ref(), &overrides)?;
    let points = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()));
    let count = points.and_then(|points| points.checked_mul(variants.len()));
    if count.is_none_or(|count| count > CASES) {
        let origin = axes.first().map(|axis| axis.origin);
        let found =
            count.map_or("more cases than can be counted".to_owned(), |n| format!("{n} cases"));
        return Err(place.error(origin, "sweep", found, format!("at most {CASES} cases")));
    }
    layer::apply_under(place, &mut root)?;
    let (mut trees, mut labels) = (Vec::new(), Vec::new());
    for variant in &variants {
        let mut tree = root.clone();
        layer::apply(place, &mut tree, &variant.set)?;
        for number in 0..points.unwrap_or(0) {
            let chosen = choose(&axes, number);
            let mut tree = tree.clone();
            layer::apply(place, &mut tree, &settings_of(&chosen))?;
            layer::apply(place, &mut tree, &overrides)?;
            trees.push(tree);
            labels.push((variant, chosen));
        }
    }
    let given = Arc::new(Given { sets: source.sets.to_vec(), options: source.options.to_vec() });
    let skipped = skip::leave_out(place, &mut trees, &overrides)?;
    let mut cases = Vec::with_capacity(trees.len());
    for ((tree, skipped), (variant, chosen)) in trees.into_iter().zip(skipped).zip(labels) {
        let Resolved { spec, classes, toml, scale, full_round_trip } = resolve(place, &tree)?;
        let point = chosen.iter().map(|(axis, node)| (axis.key.clone(), value(node))).collect();
        let (name, title, variant) = (name.clone(), title.clone(), variant.name.clone());
        let (seed, file) = (spec.run.seed, source.file.to_owned());
        let case = Case {
            name,
            title,
            variant,
            point,
            seed,
            spec,
            toml,
            classes,
            scale,
            full_round_trip,
            skipped,
            tree,
            file,
            given: Arc::clone(&given),
        };
        cases.push(case);
    }
    crate::linux::check_unread(place, cases.iter().map(|case| &case.tree))?;
    Ok(cases)
}

/// The one case of a resolved scenario.
///
/// # Errors
/// As [`expand`], and if the text describes more than one case.
pub fn single(text: &str, file: &str, base: &Path) -> Result<Case, ScenarioError> {
    single_with(text, file, base, None)
}

/// The same with traces in Parquet's format, which `converter` makes CSV files of.
///
/// # Errors
/// As [`single`].
pub fn single_with(
    text: &str,
    file: &str,
    base: &Path,
    converter: Option<Converter>,
) -> Result<Case, ScenarioError> {
    let mut cases = expand_with(&Source { text, file, base, sets: &[], options: &[] }, converter)?;
    match (cases.pop(), cases.len()) {
        (Some(case), 0) => Ok(case),
        (_, others) => {
            let found = format!("{} cases", others + 1);
            let files_read = FilesRead::default();
            let place = Around {
                file,
                base,
                files_read: &files_read,
                options: &[],
                sets: &[],
                scale: None,
                linux: false,
                resolved: false,
                survey: None,
            };
            Err(place.error(None, "sweep", found, "one case"))
        }
    }
}

/// The overrides that are laid over each case. Those of what a file says once (variants, sweep,
/// name, title) change the file itself.
pub(crate) fn overrides(
    place: Around<'_>,
    root: &mut Table,
    sets: &[(String, String)],
) -> Result<Vec<Setting>, ScenarioError> {
    let mut out = Vec::new();
    for (number, (key, value)) in sets.iter().enumerate() {
        let mut path = path::split(place, key, Origin::Override(number))?;
        let node = tree::parse_value(value, number);
        match path.first().map(String::as_str) {
            Some("sweep") if path.len() > 2 => {
                // The sweep's keys are paths themselves.
                let key = path::numbered(root, path[1..].to_vec());
                path = vec!["sweep".to_owned(), path::text(&key)];
                path::set(place, root, &path, node)?;
            }
            Some("variant" | "sweep" | "name" | "title") => path::set(place, root, &path, node)?,
            _ => out.push(Setting { path: path::numbered(root, path), node }),
        }
    }
    Ok(out)
}

fn label(place: Around<'_>, root: &mut Table, key: &str) -> Result<String, ScenarioError> {
    match root.remove(key).map(|node| (node.text().map(str::to_owned), node)) {
        None => Ok(String::new()),
        Some((Some(text), _)) => Ok(text),
        Some((None, node)) => {
            Err(place.error(Some(node.origin), key, node.shown(), "a text in quotes"))
        }
    }
}

pub(crate) struct Variant {
    name: String,
    set: Vec<Setting>,
}

/// The file's variants; one without a name and without settings if it has none.
pub(crate) fn variants(
    place: Around<'_>,
    root: &Table,
    node: Option<&Node>,
) -> Result<Vec<Variant>, ScenarioError> {
    let mut variants: Vec<Variant> = Vec::new();
    for section in tables(place, "variant", node)? {
        section.allow(&["name", "set"], "an unknown key")?;
        let Some(node) = section.node("name") else {
            return Err(section.wrong("name", "nothing", "a name"));
        };
        let Some(name) = node.text().filter(|name| !name.is_empty()) else {
            return Err(section.wrong("name", node.shown(), "a name"));
        };
        if variants.iter().any(|variant| variant.name == name) {
            let found = format!("{} a second time", node.shown());
            return Err(section.wrong("name", found, "a name of its own for each variant"));
        }
        let set = match section.node("set").map(|node| (node.table(), node)) {
            None => Vec::new(),
            Some((Some(table), _)) => layer::settings(place, table)?,
            Some((None, node)) => {
                let allowed = "a table such as { \"load_balancer.scheme\" = \"ecmp\" }";
                return Err(section.wrong("set", node.shown(), allowed));
            }
        };
        set.iter().try_for_each(|setting| may_vary(place, &setting.path, setting.node.origin))?;
        let numbered = |Setting { path, node }| Setting { path: path::numbered(root, path), node };
        let set = set.into_iter().map(numbered).collect();
        variants.push(Variant { name: name.to_owned(), set });
    }
    if variants.is_empty() {
        variants.push(Variant { name: String::new(), set: Vec::new() });
    }
    Ok(variants)
}

/// Refuses to vary what a file says once.
fn may_vary(place: Around<'_>, path: &[String], origin: Origin) -> Result<(), ScenarioError> {
    match path.first().map(String::as_str) {
        Some("variant" | "sweep" | "name" | "title" | "version") => {
            let found = "a key that does not vary";
            let allowed = "a key of the scenario such as load_balancer.scheme";
            Err(place.error(Some(origin), &path::text(path), found, allowed))
        }
        _ => Ok(()),
    }
}

/// A key of the sweep and its values.
struct Axis<'a> {
    key: String,
    path: Vec<String>,
    values: &'a [Node],
    origin: Origin,
}

/// The keys of the sweep in the file's order, without those that are overridden.
fn axes<'a>(
    place: Around<'_>,
    root: &Table,
    node: Option<&'a Node>,
    overrides: &[Setting],
) -> Result<Vec<Axis<'a>>, ScenarioError> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let Some(table) = node.table() else {
        let allowed = "a table of keys and their values";
        return Err(place.error(Some(node.origin), "sweep", node.shown(), allowed));
    };
    let mut found = Vec::new();
    collect_axes(place, &[], table, &mut found)?;
    let mut axes: Vec<Axis<'a>> = Vec::new();
    for axis in found {
        let path = path::numbered(root, axis.path);
        let axis = Axis { key: path::text(&path), path, ..axis };
        // A key has two spellings, and so may be there twice: the later one counts, as everywhere.
        match axes.iter_mut().find(|other| other.path == axis.path) {
            Some(other) => *other = axis,
            None => axes.push(axis),
        }
    }
    axes.retain(|axis| !overrides.iter().any(|set| set.path == axis.path));
    Ok(axes)
}

/// Keys may be quoted whole (`"run.seed" = [1, 2]`) or be tables (`run.seed = [1, 2]`).
fn collect_axes<'a>(
    place: Around<'_>,
    above: &[String],
    table: &'a Table,
    found: &mut Vec<Axis<'a>>,
) -> Result<(), ScenarioError> {
    for (key, node) in &table.0 {
        let mut path = above.to_vec();
        path.extend(path::split(place, key, node.origin)?);
        let key = path::text(&path);
        match &node.data {
            Data::Table(inner) => collect_axes(place, &path, inner, found)?,
            Data::Array(values) if !values.is_empty() => {
                may_vary(place, &path, node.origin)?;
                found.push(Axis { key, path, values, origin: node.origin });
            }
            _ => {
                let allowed = "a list of values, at least one";
                return Err(place.error(Some(node.origin), &key, node.shown(), allowed));
            }
        }
    }
    Ok(())
}

/// Point `number` of the sweep: the last axis changes fastest.
fn choose<'a, 'b>(axes: &'b [Axis<'a>], mut number: usize) -> Vec<(&'b Axis<'a>, &'a Node)> {
    let mut chosen: Vec<_> = axes
        .iter()
        .rev()
        .map(|axis| {
            let node = &axis.values[number % axis.values.len()];
            number /= axis.values.len();
            (axis, node)
        })
        .collect();
    chosen.reverse();
    chosen
}

fn settings_of(chosen: &[(&Axis<'_>, &Node)]) -> Vec<Setting> {
    chosen
        .iter()
        .map(|(axis, node)| Setting { path: axis.path.clone(), node: (*node).clone() })
        .collect()
}

fn value(node: &Node) -> PointValue {
    match &node.data {
        Data::Text(text) => PointValue::Text(text.clone()),
        Data::Int(number) => PointValue::Int(*number),
        Data::Float(number) => PointValue::Float(*number),
        Data::Bool(flag) => PointValue::Bool(*flag),
        Data::Date(_) | Data::Array(_) | Data::Table(_) => PointValue::Text(node.shown()),
    }
}
