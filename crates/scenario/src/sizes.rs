//! Flow sizes: a named distribution, a CSV file, an inline table, a law, or a mix.

use crate::error::{Problem, ScenarioError, nearest, quoted};
use crate::section::{Around, Section, content};
use crate::trace::endless;
use crate::tree::{Data, Node, quote};
use leafspine_core::Bytes;
use leafspine_schemes::Kind;
use leafspine_schemes::units::parse_bytes;
use leafspine_sim::spec::SizeSpec;
use leafspine_sim::workload::{self, WorkloadError};
use std::fs::File;
use std::path::Path;

const KINDS: &[&str] = &["fixed", "uniform", "pareto", "table"];
const ALLOWED: &str = "a named distribution, a CSV path or an inline table";
const INLINE: &str = "points [bytes, cumulative probability], or parts { weight, sizes }";
/// What names of files with a table of sizes end in; others have a slash.
const FILES: &[&str] = &[".csv", ".txt", ".cdf", ".dat", ".tsv"];
const SIZE: Kind = Kind::Bytes(1, u64::MAX);

/// The sizes that stand at `key` of a workload, and how they are written.
pub(crate) fn sizes(section: &mut Section<'_>, key: &str) -> Result<SizeSpec, ScenarioError> {
    let Some(node) = section.node(key) else {
        return Err(section.wrong(key, "nothing", ALLOWED));
    };
    let path = section.key(key);
    let (spec, text) = read(section.place, &path, node)?;
    // What makes a distribution is the engine's to say.
    workload::Sizes::new(&spec).map_err(|error| refused(section.place, &path, node, &error))?;
    section.write(key, text);
    Ok(spec)
}

/// An error of the engine about the sizes at `path`; its key begins with `sizes`.
fn refused(place: Around<'_>, path: &str, node: &Node, error: &WorkloadError) -> ScenarioError {
    let inner = error.key.strip_prefix("sizes").unwrap_or_default();
    place.error(Some(node.origin), &format!("{path}{inner}"), &error.found, &error.allowed)
}

fn read(place: Around<'_>, path: &str, node: &Node) -> Result<(SizeSpec, String), ScenarioError> {
    match &node.data {
        Data::Text(name) => named(place, path, node, name),
        Data::Table(_) => law(place, path, node),
        Data::Array(parts) if parts.first().is_some_and(|part| part.table().is_some()) => {
            mix(place, path, parts)
        }
        Data::Array(rows) if rows.is_empty() => {
            Err(place.error(Some(node.origin), path, "[]", INLINE))
        }
        Data::Array(rows) => Ok(written_table("inline", points(place, path, rows)?)),
        _ => Err(place.error(Some(node.origin), path, node.shown(), ALLOWED)),
    }
}

/// A name, or else the path of a CSV file.
fn named(
    place: Around<'_>,
    path: &str,
    node: &Node,
    name: &str,
) -> Result<(SizeSpec, String), ScenarioError> {
    if let Some(spec) = workload::named(name) {
        return Ok((spec, quote(name)));
    }
    // A compressed one, too: the file is opened, and what it is is said.
    let named = |ending: &&str| name.ends_with(*ending) || name.contains(&format!("{ending}."));
    if name.contains(['/', '\\']) || FILES.iter().any(named) {
        return csv(place, path, node, name);
    }
    let mut allowed = format!("{}, a CSV path or an inline table", quoted(workload::names()));
    if parse_bytes(name).is_ok() {
        allowed +=
            &format!("; all flows of one size are {{ kind = \"fixed\", bytes = {} }}", quote(name));
    }
    let mut error = place.error(Some(node.origin), path, node.shown(), allowed);
    error.nearest = nearest(name, workload::names());
    Err(error)
}

/// A CSV file's points. They are written out: the resolved scenario needs the file no more.
fn csv(
    place: Around<'_>,
    path: &str,
    node: &Node,
    name: &str,
) -> Result<(SizeSpec, String), ScenarioError> {
    let file = place.base.join(name);
    if endless(&file) {
        let found = format!("{}, which is not a regular file", node.shown());
        return Err(place.error(Some(node.origin), path, found, "a CSV file"));
    }
    let open = File::open(&file).map_err(|error| {
        let found = format!("{} ({})", node.shown(), error.kind());
        place.error(Some(node.origin), path, found, "a CSV file that can be read")
    })?;
    let points = workload::read_points(open, Path::new(name)).map_err(|error| Problem {
        file: error.file.map_or_else(|| name.to_owned(), |file| file.display().to_string()),
        line: error.line.and_then(|line| usize::try_from(line).ok()),
        key: error.key,
        found: error.found,
        allowed: error.allowed,
        nearest: error.nearest.map(Into::into),
    })?;
    let stem = Path::new(name).file_stem().map_or_else(String::new, |s| s.display().to_string());
    Ok(written_table(&stem, points.to_vec()))
}

fn law(place: Around<'_>, path: &str, node: &Node) -> Result<(SizeSpec, String), ScenarioError> {
    let mut section = Section::open(place, path.to_owned(), Some(node))?;
    let kind = section.word("kind", KINDS, None)?;
    let keys: &[&str] = match kind.as_str() {
        "fixed" => &["kind", "bytes"],
        "uniform" => &["kind", "low", "high"],
        "pareto" => &["kind", "mean", "shape", "max"],
        _ => &["kind", "name", "points"],
    };
    section.allow(keys, &format!("a key that {kind} sizes do not have"))?;
    let size = |section: &mut Section<'_>, key: &str| {
        Ok::<Bytes, ScenarioError>(content!(section.value(key, SIZE, None)?, Bytes))
    };
    let spec = match kind.as_str() {
        "fixed" => SizeSpec::Fixed(size(&mut section, "bytes")?),
        "uniform" => SizeSpec::Uniform(size(&mut section, "low")?, size(&mut section, "high")?),
        "pareto" => {
            let mean = size(&mut section, "mean")?;
            let shape = Kind::Float(f64::NEG_INFINITY, f64::INFINITY);
            let shape = content!(section.value("shape", shape, None)?, Float);
            let max = section.unless("max", SIZE, "none")?;
            SizeSpec::Pareto { mean, shape, max: max.map(|max| content!(max, Bytes)) }
        }
        _ => return table(&section),
    };
    Ok((spec, section.inline()))
}

/// `{ kind = "table", name = "...", points = [...] }`: how tables are written out.
fn table(section: &Section<'_>) -> Result<(SizeSpec, String), ScenarioError> {
    let name = match section.node("name").map(|node| (node.text(), node)) {
        None => "inline",
        Some((Some(name), _)) => name,
        Some((None, node)) => return Err(section.wrong("name", node.shown(), "a name")),
    };
    let Some(rows) = section.node("points").and_then(Node::array) else {
        let found = section.node("points").map_or("nothing".to_owned(), Node::shown);
        return Err(section.wrong("points", found, "a list of [bytes, cumulative probability]"));
    };
    let points = points(section.place, &section.key("points"), rows)?;
    Ok(written_table(name, points))
}

fn points(place: Around<'_>, path: &str, rows: &[Node]) -> Result<Vec<(f64, f64)>, ScenarioError> {
    let number = |node: &Node| match &node.data {
        Data::Int(number) => Some(*number as f64),
        Data::Float(number) => Some(*number),
        Data::Text(text) => parse_bytes(text).ok().map(|bytes| bytes.0 as f64),
        _ => None,
    };
    let point = |(i, row): (usize, &Node)| {
        match row.array() {
            Some([bytes, probability]) => number(bytes).zip(number(probability)),
            _ => None,
        }
        .ok_or_else(|| place.error(Some(row.origin), &format!("{path}.{i}"), row.shown(), INLINE))
    };
    rows.iter().enumerate().map(point).collect()
}

fn written_table(name: &str, points: Vec<(f64, f64)>) -> (SizeSpec, String) {
    let rows: Vec<String> =
        points.iter().map(|(bytes, probability)| format!("[{bytes:?}, {probability:?}]")).collect();
    let name = name.to_owned();
    let text =
        format!("{{ kind = \"table\", name = {}, points = [{}] }}", quote(&name), rows.join(", "));
    (SizeSpec::Table { name, points: points.into() }, text)
}

fn mix(place: Around<'_>, path: &str, parts: &[Node]) -> Result<(SizeSpec, String), ScenarioError> {
    let (mut mix, mut texts) = (Vec::new(), Vec::new());
    for (i, part) in parts.iter().enumerate() {
        let mut section = Section::open(place, format!("{path}.{i}"), Some(part))?;
        section.allow(&["weight", "sizes"], "an unknown key")?;
        let Some(node) = section.node("sizes") else {
            return Err(section.wrong("sizes", "nothing", ALLOWED));
        };
        let weight = Kind::Float(f64::MIN_POSITIVE, f64::MAX);
        let weight = content!(section.value("weight", weight, Some("1"))?, Float);
        let (spec, text) = read(place, &section.key("sizes"), node)?;
        section.write("sizes", text);
        mix.push((weight, spec));
        texts.push(section.inline());
    }
    Ok((SizeSpec::Mix(mix), format!("[{}]", texts.join(", "))))
}
