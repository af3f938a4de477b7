//! What runs with other seeds have in common, as one text.

use crate::error::ScenarioError;
use crate::expand::Case;
use crate::tree::{self, Data, Node, Table};
use std::fmt::Write;

impl Case {
    /// All that decides the run but its seed and the version, as JSON on one line with sorted keys.
    /// Two cases have the same text if they differ in nothing else.
    ///
    /// Directories of comparisons are named by a hash over it, so it may never change: it is what
    /// Python's `json.dumps(..., sort_keys=True)` makes of the resolved scenario.
    ///
    /// # Errors
    /// None for a case that [`crate::expand`] made: its resolved scenario is TOML.
    pub fn family(&self) -> Result<String, ScenarioError> {
        let mut root = tree::parse(&self.toml, self.file())?;
        root.remove("version");
        if let Some(Data::Table(run)) = root.get_mut("run").map(|node| &mut node.data) {
            run.remove("seed");
        }
        let mut out = String::new();
        table(&root, &mut out);
        Ok(out)
    }
}

fn table(table: &Table, out: &mut String) {
    let mut entries: Vec<&(String, Node)> = table.0.iter().collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    out.push('{');
    for (number, (key, node)) in entries.into_iter().enumerate() {
        out.push_str(if number > 0 { ", " } else { "" });
        text(key, out);
        out.push_str(": ");
        value(&node.data, out);
    }
    out.push('}');
}

fn value(data: &Data, out: &mut String) {
    match data {
        Data::Text(found) | Data::Date(found) => text(found, out),
        Data::Int(number) => _ = write!(out, "{number}"),
        Data::Float(number) => float(*number, out),
        Data::Bool(flag) => _ = write!(out, "{flag}"),
        Data::Array(nodes) => {
            out.push('[');
            for (number, node) in nodes.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                value(&node.data, out);
            }
            out.push(']');
        }
        Data::Table(inner) => table(inner, out),
    }
}

/// A string in ASCII: anything else is escaped as UTF-16.
fn text(found: &str, out: &mut String) {
    out.push('"');
    for c in found.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// The shortest digits that give the number back, with an exponent of two digits or more where it
/// is below -4 or above 15.
fn float(number: f64, out: &mut String) {
    if !number.is_finite() {
        let word = if number.is_nan() { "NaN" } else { "Infinity" };
        out.push_str(if number < 0.0 { "-" } else { "" });
        out.push_str(word);
        return;
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        // Debug writes these without an exponent, and whole numbers with a fraction.
        let plain = format!("{number}");
        let whole = if plain.contains('.') { "" } else { ".0" };
        _ = write!(out, "{plain}{whole}");
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        _ = write!(out, "{digits}e{sign}{:02}", exponent.abs());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a number is written otherwise than Python writes it: directories of comparisons
    /// would get other names.
    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (number, written) in [
            (0.5, "0.5"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e-4, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e300, "1.25e+300"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            let mut out = String::new();
            float(number, &mut out);
            assert_eq!(out, written);
        }
    }

    /// Breaks if a name that is not ASCII is hashed otherwise than before.
    #[test]
    fn texts_are_escaped_to_ascii() {
        let mut out = String::new();
        text("a\"\\\n\u{1}\u{7f}µ\u{1f600}", &mut out);
        assert_eq!(out, r#""a\"\\\n\u0001\u007f\u00b5\ud83d\ude00""#);
    }

    /// Breaks if the seed or the version tells runs apart, or anything else does not.
    #[test]
    fn runs_that_differ_in_their_seeds_are_of_one_family() {
        let link = "{ rate = \"10Gbps\", delay = \"2us\" }";
        let base = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
             host_link = {link}\nfabric_link = {link}\n[[workload]]\nkind = \"poisson\"\n\
             sizes = \"web-search\"\nload = 0.5\nflows = 9\n"
        );
        let of = |more: &str| {
            let text = format!("{base}{more}");
            let case = crate::single(&text, "f.toml", std::path::Path::new(".")).unwrap();
            case.family().unwrap()
        };
        assert_eq!(of(""), of("[run]\nseed = 7\n"));
        assert_ne!(of(""), of("[switch]\nbuffer = \"100pkt\"\n"));
        assert!(of("").starts_with("{\"aqm\": {"));
        assert!(!of("").contains("seed\""));
    }
}
