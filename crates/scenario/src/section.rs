//! Reads one table of the tree and writes it down again with every default.
//!
//! A key is read, checked, defaulted and written in one call, so that the resolved scenario cannot
//! differ from what is run.

use crate::error::{OVERRIDE, Problem, ScenarioError, nearest};
use crate::path;
use crate::survey::{self, Survey};
use crate::trace::FilesRead;
use crate::tree::{Data, Node, Origin, Table, parse_value};
use leafspine_schemes::scale::{parse_amount, parse_bytes, parse_depth, parse_packets, parse_span};
use leafspine_schemes::units::{UnitError, parse_rate};
use leafspine_schemes::{Kind, Scale, Value};
use std::path::Path;

/// What stands around a scenario: its name for messages, and the folder that paths start from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<'a> {
    pub(crate) file: &'a str,
    pub(crate) base: &'a Path,
    /// What has been found out about traces and fabrics in files.
    pub(crate) files_read: &'a FilesRead,
    /// What `rtt` and `bdp` stand for, once the topology is read.
    pub(crate) scale: Option<Scale>,
    /// Whether the hosts are kernels, once `[hosts]` is read.
    pub(crate) linux: bool,
    /// Whether the file is a resolved scenario, which a version tells.
    pub(crate) resolved: bool,
    /// The option that each override came by.
    pub(crate) options: &'a [String],
    /// The overrides themselves.
    pub(crate) sets: &'a [(String, String)],
    /// Where the readers' questions are noted, if somebody wants to know what they ask for.
    pub(crate) survey: Option<&'a Survey>,
}

impl Around<'_> {
    /// An error at a value that was written at `origin`, or nowhere.
    pub(crate) fn error(
        &self,
        origin: Option<Origin>,
        key: &str,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> ScenarioError {
        let (file, line) = match origin {
            Some(Origin::Line(line)) => (self.file.to_owned(), Some(line)),
            Some(Origin::Override(number)) => (self.option(number, key), None),
            None => (self.file.to_owned(), None),
        };
        Problem {
            file,
            line,
            key: key.to_owned(),
            found: found.into(),
            allowed: allowed.into(),
            nearest: None,
        }
        .into()
    }

    /// The option by which an override came that is to blame for what is wrong at `key`.
    fn option(&self, number: usize, key: &str) -> String {
        option(self.options, self.sets, number, key)
    }

    /// Of two values that do not fit each other, where the first is told of: the one that was given
    /// as an option, since somebody has just done so.
    pub(crate) fn later(told: Option<Origin>, other: Option<Origin>) -> Option<Origin> {
        match (told, other) {
            (Some(Origin::Line(_)), Some(Origin::Override(_))) => other,
            _ => told.or(other),
        }
    }
}

/// The option by which an override came that is to blame for what is wrong at `key`: with the key
/// that was written, if that is another.
pub(crate) fn option(
    options: &[String],
    sets: &[(String, String)],
    number: usize,
    key: &str,
) -> String {
    let option = options.get(number).map_or(OVERRIDE, String::as_str);
    // Where there is one workload its number may be left out.
    let named = |key: &str| -> Vec<String> {
        let is_name = |part: &&str| *part != "sweep" && part.parse::<usize>().is_err();
        let parts = key.split('.').filter(is_name);
        parts.map(|part| part.trim_matches('"').to_owned()).collect()
    };
    let (key, written) = (named(key), sets.get(number).filter(|_| option == OVERRIDE));
    match written.map(|(written, value)| (named(written), written, value)) {
        Some((own, written, value)) if !(own.starts_with(&key) || key.starts_with(&own)) => {
            let value = Some(format!("={value}")).filter(|value| value.len() <= 60);
            format!("{option} {written}{}", value.unwrap_or_default())
        }
        _ => option.to_owned(),
    }
}

/// One table: read key by key, written in the order of reading.
pub(crate) struct Section<'a> {
    pub(crate) place: Around<'a>,
    pub(crate) path: String,
    table: Option<&'a Table>,
    origin: Option<Origin>,
    written: Vec<(String, String)>,
}

/// What others call a key that is here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("file", "path"),
    ("filename", "path"),
    ("bandwidth", "rate"),
    ("capacity", "rate"),
    ("latency", "delay"),
    ("propagation", "delay"),
    ("mtu", "mss"),
    ("algorithm", "scheme"),
    ("name", "scheme"),
];

/// The key that is meant by another name, if the table has it.
fn meant(name: &str, keys: &[&str]) -> Option<String> {
    let name = name.to_lowercase();
    let (_, key) = OTHER_NAMES.iter().find(|(other, key)| *other == name && keys.contains(key))?;
    Some((*key).to_owned())
}

impl<'a> Section<'a> {
    /// The table at `path`; one that is not in the file has only defaults.
    pub(crate) fn open(
        place: Around<'a>,
        path: String,
        node: Option<&'a Node>,
    ) -> Result<Section<'a>, ScenarioError> {
        let origin = node.map(|node| node.origin);
        let table = match node.map(|node| (&node.data, node)) {
            None => None,
            Some((Data::Table(table), _)) => Some(table),
            Some((_, node)) => {
                return Err(place.error(origin, &path, node.shown(), "a table"));
            }
        };
        Ok(Section { place, path, table, origin, written: Vec::new() })
    }

    /// Refuses keys that are not among `keys`. `what` says what such a key is.
    pub(crate) fn allow(&self, keys: &[&str], what: &str) -> Result<(), ScenarioError> {
        if let Some(survey) = self.place.survey {
            survey.allowed(&self.path, keys);
            return Ok(());
        }
        let entries = self.table.map_or(&[][..], |table| &table.0);
        let Some((name, node)) = entries.iter().find(|(name, _)| !keys.contains(&name.as_str()))
        else {
            return Ok(());
        };
        let mut error = self.place.error(Some(node.origin), &self.key(name), what, keys.join(", "));
        error.nearest = nearest(name, keys.iter().copied()).or_else(|| meant(name, keys));
        Err(error)
    }

    /// `key` from the scenario's root.
    pub(crate) fn key(&self, key: &str) -> String {
        path::join(&self.path, key)
    }

    /// Whether the file has this key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// What the file has at `key`.
    pub(crate) fn node(&self, key: &str) -> Option<&'a Node> {
        self.table.and_then(|table| table.get(key))
    }

    /// An error at `key`, or at the table if `key` is not there.
    pub(crate) fn wrong(
        &self,
        key: &str,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> ScenarioError {
        let origin = self.node(key).map(|node| node.origin).or(self.origin);
        self.place.error(origin, &self.key(key), found, allowed)
    }

    /// Notes `key = toml` for the resolved scenario.
    pub(crate) fn write(&mut self, key: &str, toml: impl Into<String>) {
        self.written.push((key.to_owned(), toml.into()));
    }

    /// The value of `key`, or its default; `None` as a default makes it a required key.
    pub(crate) fn value(
        &mut self,
        key: &str,
        kind: Kind,
        default: Option<&str>,
    ) -> Result<Value, ScenarioError> {
        self.note(key, kind, None, default);
        let value = match (self.given(key, kind)?, default) {
            (Some(value), _) => return Ok(value),
            (None, None) if self.place.survey.is_some() => return Ok(survey::stand_in(kind)),
            (None, None) => return Err(self.wrong(key, "nothing", kind.allowed())),
            (None, Some(text)) => {
                let scale = self.place.scale.unwrap_or(Scale::REFERENCE);
                Value::default(&kind, text, &scale)
                    .map_err(|message| self.wrong(key, message, kind.allowed()))?
            }
        };
        self.write(key, value.to_string());
        Ok(value)
    }

    /// As [`Section::value`], but the resolved scenario has no such key.
    pub(crate) fn unwritten(
        &mut self,
        key: &str,
        kind: Kind,
        default: &str,
    ) -> Result<Value, ScenarioError> {
        let value = self.value(key, kind, Some(default))?;
        self.written.pop();
        Ok(value)
    }

    /// As [`Section::value`], for a key that the resolved scenario has only where it is not `plain`.
    pub(crate) fn switch(
        &mut self,
        key: &str,
        kind: Kind,
        default: &str,
        plain: &str,
    ) -> Result<Value, ScenarioError> {
        let value = self.value(key, kind, Some(default))?;
        let scale = self.place.scale.unwrap_or(Scale::REFERENCE);
        if Value::default(&kind, plain, &scale).as_ref() == Ok(&value) {
            self.written.pop();
        }
        Ok(value)
    }

    /// The value of `key`, or `None` if it is the word `off`; `default`, of that kind, if the file has
    /// no such key.
    pub(crate) fn unless_or(
        &mut self,
        key: &str,
        kind: Kind,
        off: &'static str,
        default: Option<&str>,
    ) -> Result<Option<Value>, ScenarioError> {
        self.note(key, kind, Some(off), default);
        match default {
            Some(default) if !self.has(key) => self.value(key, kind, Some(default)).map(Some),
            _ => self.unless(key, kind, off),
        }
    }

    /// As [`Section::value`], but the resolved scenario has the key only where it is not the default.
    pub(crate) fn quiet_value(
        &mut self,
        key: &str,
        kind: Kind,
        default: Option<&str>,
    ) -> Result<Value, ScenarioError> {
        match default {
            Some(default) => self.switch(key, kind, default, default),
            None => self.value(key, kind, None),
        }
    }

    /// Tells the survey, if there is one, what `key` may be.
    fn note(&self, key: &str, kind: Kind, or: Option<&'static str>, default: Option<&str>) {
        if let Some(survey) = self.place.survey {
            survey.asked(&self.path, key, kind, or, default);
        }
    }

    /// The value of `key`, if the file has it.
    pub(crate) fn given(&mut self, key: &str, kind: Kind) -> Result<Option<Value>, ScenarioError> {
        self.note(key, kind, None, None);
        let Some(node) = self.node(key) else {
            return Ok(None);
        };
        let value = decode(self.place, &self.key(key), node, kind)?;
        self.write(key, value.to_string());
        Ok(Some(value))
    }

    /// The value of `key`, or `None` if it is the word `off` (which is also the default).
    pub(crate) fn unless(
        &mut self,
        key: &str,
        kind: Kind,
        off: &'static str,
    ) -> Result<Option<Value>, ScenarioError> {
        self.note(key, kind, Some(off), Some(off));
        if self.node(key).is_none_or(|node| node.text() == Some(off)) {
            self.write(key, format!("\"{off}\""));
            return Ok(None);
        }
        let or_off = |mut error: ScenarioError| {
            error.allowed += &format!(", or \"{off}\"");
            error
        };
        self.given(key, kind).map_err(or_off)
    }

    /// Notes another value of a key that the resolved scenario has.
    pub(crate) fn rewrite(&mut self, key: &str, toml: String) {
        if let Some(written) = self.written.iter_mut().find(|(name, _)| name == key) {
            written.1 = toml;
        }
    }

    /// How many keys the resolved scenario has so far.
    pub(crate) fn written(&self) -> usize {
        self.written.len()
    }

    /// Takes out those beyond the first so many: they will be read again in their turn.
    pub(crate) fn forget(&mut self, written: usize) {
        self.written.truncate(written);
    }

    /// The lines of this table under `[path]` or `[[path]]`.
    pub(crate) fn block(&self, header: &str) -> String {
        let mut text = format!("{header}\n");
        for (key, value) in &self.written {
            text += &format!("{} = {value}\n", crate::tree::quote_key(key));
        }
        text
    }

    /// This table on one line.
    pub(crate) fn inline(&self) -> String {
        let pairs: Vec<String> =
            self.written.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{{ {} }}", pairs.join(", "))
    }
}

/// The value of kind `kind` that stands at a node.
pub(crate) fn decode(
    place: Around<'_>,
    key: &str,
    node: &Node,
    kind: Kind,
) -> Result<Value, ScenarioError> {
    decoded(node, kind, place.scale.as_ref()).map_err(|found| {
        let mut error = place.error(Some(node.origin), key, found, kind.allowed());
        if let (Kind::Word(words), Some(text)) = (kind, node.text()) {
            error.nearest = nearest(text, words.iter().copied());
        }
        error
    })
}

/// The value, or what was found instead.
fn decoded(node: &Node, kind: Kind, scale: Option<&Scale>) -> Result<Value, String> {
    let unit = |error: UnitError| format!("{} ({})", node.shown(), error.why);
    let value = match (kind, &node.data) {
        (Kind::Span(..), Data::Text(text)) => {
            parse_span(text, scale).map(Value::Span).map_err(unit)?
        }
        (Kind::Bytes(..), Data::Text(text)) => {
            parse_bytes(text, scale).map(Value::Bytes).map_err(unit)?
        }
        (Kind::AmountOr(word), Data::Text(text)) if text == word => Value::Word(text.clone()),
        (Kind::Amount | Kind::AmountOr(_), Data::Text(text)) => {
            parse_amount(text, scale).map(Value::Amount).map_err(unit)?
        }
        (Kind::Depth, Data::Text(text)) => parse_depth(text, scale).map_err(unit)?,
        (Kind::Rate, Data::Text(text)) => parse_rate(text).map(Value::Rate).map_err(unit)?,
        (
            Kind::Span(..)
            | Kind::SpanOr(..)
            | Kind::Bytes(..)
            | Kind::Amount
            | Kind::AmountOr(_)
            | Kind::Depth
            | Kind::Rate,
            Data::Int(_) | Data::Float(_),
        ) => return Err(format!("{} (the unit is missing)", node.shown())),
        (Kind::Packets(..), Data::Text(text)) => {
            parse_packets(text, scale).map(Value::Int).map_err(unit)?
        }
        (Kind::Int(..) | Kind::Packets(..), Data::Int(_) | Data::Float(_)) => {
            let whole = node.whole().and_then(|number| u64::try_from(number).ok());
            Value::Int(whole.ok_or_else(|| node.shown())?)
        }
        (Kind::Int(..) | Kind::Float(..), Data::Text(text)) => {
            // A number in quotes is still one.
            let bare = parse_value(text.trim(), 0);
            return match bare.data {
                Data::Int(_) | Data::Float(_) => {
                    decoded(&bare, kind, scale).map_err(|_| node.shown())
                }
                _ => Err(format!("{} (a string)", node.shown())),
            };
        }
        (Kind::Float(..), Data::Float(number)) => Value::Float(*number),
        (Kind::Float(..), Data::Int(number)) => Value::Float(*number as f64),
        (Kind::Bool, Data::Bool(flag)) => Value::Bool(*flag),
        (Kind::Word(_), Data::Text(text)) => Value::Word(text.clone()),
        (Kind::SpanOr(_, _, word), Data::Text(text)) if text == word => Value::Word(text.clone()),
        (Kind::SpanOr(..), Data::Text(text)) => {
            parse_span(text, scale).map(Value::Span).map_err(unit)?
        }
        (Kind::Numbers(_), Data::Array(nodes)) => {
            let number = |node: &Node| match node.data {
                Data::Int(number) => Some(number as f64),
                Data::Float(number) => Some(number),
                _ => None,
            };
            let found: Option<Vec<f64>> = nodes.iter().map(number).collect();
            Value::Numbers(found.ok_or_else(|| node.shown())?)
        }
        (_, data) => return Err(format!("{} ({})", node.shown(), type_name(data))),
    };
    kind.check(&value).map(|()| value).map_err(|_| node.shown())
}

fn type_name(data: &Data) -> &'static str {
    match data {
        Data::Text(_) => "a string",
        Data::Int(_) => "an integer",
        Data::Float(_) => "a float",
        Data::Bool(_) => "a boolean",
        Data::Date(_) => "a date",
        Data::Array(_) => "an array",
        Data::Table(_) => "a table",
    }
}

/// The tables of an array of tables, each with its path; none if the file has none.
pub(crate) fn tables<'a>(
    place: Around<'a>,
    path: &str,
    node: Option<&'a Node>,
) -> Result<Vec<Section<'a>>, ScenarioError> {
    let Some(node) = node else {
        return Ok(Vec::new());
    };
    let Some(nodes) = node.array() else {
        let allowed = format!("an array of tables, [[{path}]]");
        return Err(place.error(Some(node.origin), path, node.shown(), allowed));
    };
    let open = |(i, node)| Section::open(place, format!("{path}.{i}"), Some(node));
    nodes.iter().enumerate().map(open).collect()
}

/// Takes a value's content out; the section has checked that it is of this kind.
macro_rules! content {
    ($value:expr, $variant:ident) => {
        match $value {
            leafspine_schemes::Value::$variant(content) => content,
            other => unreachable!("a checked value changed its kind: {other:?}"),
        }
    };
}
pub(crate) use content;

impl Section<'_> {
    /// A whole number that fits 32 bits.
    pub(crate) fn count(
        &mut self,
        key: &str,
        (low, high): (u32, u32),
        default: Option<&str>,
    ) -> Result<u32, ScenarioError> {
        let kind = Kind::Int(u64::from(low), u64::from(high));
        // `high` bounds it to 32 bits.
        Ok(content!(self.value(key, kind, default)?, Int) as u32)
    }

    /// A length of time.
    pub(crate) fn span(
        &mut self,
        key: &str,
        default: Option<&str>,
    ) -> Result<leafspine_core::Span, ScenarioError> {
        Ok(content!(self.value(key, Kind::Span(0, u64::MAX), default)?, Span))
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, key: &str, default: &str) -> Result<bool, ScenarioError> {
        Ok(content!(self.value(key, Kind::Bool, Some(default))?, Bool))
    }

    /// One of `words`.
    pub(crate) fn word(
        &mut self,
        key: &str,
        words: &'static [&'static str],
        default: Option<&str>,
    ) -> Result<String, ScenarioError> {
        Ok(content!(self.value(key, Kind::Word(words), default)?, Word))
    }
}
