//! The lines of a schedule.

use super::super::WorkloadError;
use std::collections::HashMap;
use std::path::Path;

/// A statement of a rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Statement {
    /// So many bytes to a rank, with this tag.
    Send { bytes: u64, to: u32, tag: u64 },
    /// The same from a rank.
    Receive { bytes: u64, from: u32, tag: u64 },
    /// So many units of time, on this processor.
    Calculate { time: u64, processor: u8 },
}

/// A label of a rank, numbered from 0 on as they come in the file.
pub(crate) type Label = u32;

/// A statement with its label, or what one label waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// The statement of a label.
    Is(Label, Statement),
    /// The first begins when the second has ended or, `at_start`, has begun.
    Waits { label: Label, of: Label, at_start: bool },
}

/// A rank's lines, each with its place in the file. Every label up to `labels` is that of one statement.
#[derive(Clone, Default, Debug)]
pub(crate) struct Rank {
    pub(crate) lines: Vec<(u64, Line)>,
    pub(crate) labels: Label,
}

/// Reads a text: the lines of each rank, each with its number.
///
/// # Errors
/// What is no text, a line that is none of a schedule, a rank or a label that is not there or twice.
pub(super) fn read(bytes: Vec<u8>, name: &Path) -> Result<Vec<Rank>, WorkloadError> {
    parse(as_text(bytes, name)?.as_str(), name)
}

/// A processor as schedules number them. The last is that of points at which a host waits.
pub(super) fn processor(number: u8) -> u8 {
    number.min(u8::MAX - 1)
}

/// The text of a file, if it is one.
fn as_text(bytes: Vec<u8>, name: &Path) -> Result<String, WorkloadError> {
    let broken = match std::str::from_utf8(&bytes) {
        Err(error) => Some(error.valid_up_to()),
        Ok(_) => bytes.iter().position(|byte| *byte == 0),
    };
    match broken {
        None => Ok(String::from_utf8(bytes).unwrap_or_default()),
        Some(at) => {
            let found = format!("a file that is not text from byte {at} on, and begins otherwise");
            let allowed = "a schedule's text, or what txt2bin makes of it, which begins with 7f 10";
            Err(WorkloadError { file: Some(name.into()), ..WorkloadError::at("", found, allowed) })
        }
    }
}

/// Where a line is wrong.
struct Reader<'a> {
    name: &'a Path,
    line: u64,
}

impl Reader<'_> {
    fn wrong<T>(&self, key: &str, found: &str, allowed: &str) -> Result<T, WorkloadError> {
        let found = if found.is_empty() { "nothing".to_owned() } else { format!("\"{found}\"") };
        Err(WorkloadError::at(key, found, allowed).in_file(self.name, self.line))
    }

    fn number<T: std::str::FromStr>(&self, key: &str, word: &str) -> Result<T, WorkloadError> {
        word.parse().or_else(|_| self.wrong(key, word, "a whole number"))
    }
}

/// The labels of the rank that is read. A schedule of a million statements has as many, so that they are
/// forgotten with it.
#[derive(Default)]
struct Labels {
    numbers: HashMap<String, Label>,
    /// Whether a statement has it, by number.
    stated: Vec<bool>,
}

impl Labels {
    fn number(&mut self, name: &str) -> Label {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.stated.len() as Label;
        self.numbers.insert(name.to_owned(), number);
        self.stated.push(false);
        number
    }

    /// The label of a statement; `None` if another one has it.
    fn state(&mut self, name: &str) -> Option<Label> {
        let number = self.number(name);
        let stated = &mut self.stated[number as usize];
        (!std::mem::replace(stated, true)).then_some(number)
    }

    /// The rank's end: all labels are there.
    fn close(&self, rank: usize, read: &mut Rank, name: &Path) -> Result<(), WorkloadError> {
        read.labels = self.stated.len() as Label;
        let Some((line, label)) = self.missing(read) else { return Ok(()) };
        let found = format!("the label \"{label}\", which rank {rank} does not have");
        Err(WorkloadError::at("requires", found, "a label of the same rank").in_file(name, line))
    }

    /// One that no statement has, of those that a line waits for.
    fn missing(&self, lines: &Rank) -> Option<(u64, &str)> {
        let lacks = |label: &Label| !self.stated[*label as usize];
        let (line, label) = lines.lines.iter().find_map(|(line, said)| match said {
            Line::Waits { label, of, .. } => {
                Some((*line, *[label, of].into_iter().find(|label| lacks(label))?))
            }
            Line::Is(..) => None,
        })?;
        let name = self.numbers.iter().find(|(_, number)| **number == label)?.0;
        Some((line, name))
    }
}

fn parse(text: &str, name: &Path) -> Result<Vec<Rank>, WorkloadError> {
    let mut reader = Reader { name, line: 0 };
    let mut ranks: Vec<Option<Rank>> = Vec::new();
    let mut now: Option<usize> = None;
    let mut labels = Labels::default();
    let (mut comment, mut seen) = (false, false);
    for line in text.lines() {
        reader.line += 1;
        let line = bare(line, &mut comment);
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), now) {
            ([], _) => {}
            (["num_ranks", count], None) if !seen => {
                let count: usize = reader.number("num_ranks", count)?;
                if !(2..=65_536).contains(&count) {
                    return reader.wrong("num_ranks", &count.to_string(), "2 to 65,536 ranks");
                }
                (seen, ranks) = (true, vec![None; count]);
            }
            (["rank", rank, "{"], None) if seen => {
                let at: usize = reader.number("rank", rank)?;
                match ranks.get_mut(at) {
                    Some(lines @ None) => *lines = Some(Rank::default()),
                    Some(Some(_)) => return reader.wrong("rank", rank, "each rank once"),
                    None => {
                        let last = format!("0 to {}", ranks.len() - 1);
                        return reader.wrong("rank", rank, &last);
                    }
                }
                (now, labels) = (Some(at), Labels::default());
            }
            (["}"], Some(rank)) => {
                labels.close(rank, ranks[rank].get_or_insert_default(), name)?;
                now = None;
            }
            (words, Some(rank)) => {
                let line = reader.statement(words, ranks.len() as u32, &mut labels)?;
                ranks[rank].get_or_insert_default().lines.push((reader.line, line));
            }
            (_, None) => {
                let allowed = if seen { "rank N {" } else { "num_ranks N" };
                return reader.wrong("", line.trim(), allowed);
            }
        }
    }
    if now.is_some() || !seen {
        let allowed = if seen { "} at the end of a rank" } else { "num_ranks N" };
        return reader.wrong("", "", allowed);
    }
    Ok(ranks.into_iter().map(Option::unwrap_or_default).collect())
}

/// A line without its comments: from `//` or `#` on, and between `/*` and `*/`.
fn bare(line: &str, inside: &mut bool) -> String {
    let (mut kept, mut rest) = (String::new(), line);
    loop {
        if *inside {
            let Some(end) = rest.find("*/") else { return kept };
            (*inside, rest) = (false, &rest[end + 2..]);
        }
        let to_end = ["//", "#"].iter().filter_map(|mark| rest.find(mark)).min();
        match (rest.find("/*"), to_end) {
            (Some(start), end) if end.is_none_or(|end| start < end) => {
                kept += &rest[..start];
                kept.push(' ');
                (*inside, rest) = (true, &rest[start + 2..]);
            }
            (_, end) => return kept + &rest[..end.unwrap_or(rest.len())],
        }
    }
}

impl Reader<'_> {
    fn statement(
        &self,
        words: &[&str],
        ranks: u32,
        labels: &mut Labels,
    ) -> Result<Line, WorkloadError> {
        const ALLOWED: &str = "label: send BYTESb to RANK tag N, label: recv BYTESb from RANK tag N, \
                               label: calc N, label requires label, label irequires label, }";
        let (label, statement) = match words {
            [label, how @ ("requires" | "irequires"), of] => {
                let at_start = *how == "irequires";
                return Ok(Line::Waits {
                    label: labels.number(label),
                    of: labels.number(of),
                    at_start,
                });
            }
            [label, "send", bytes, "to", to, rest @ ..] if label.ends_with(':') => {
                let (bytes, to) = (self.bytes(bytes)?, self.peer("to", to, ranks)?);
                (label, Statement::Send { bytes, to, tag: self.options(rest)?.0 })
            }
            [label, "recv", bytes, "from", from, rest @ ..] if label.ends_with(':') => {
                let (bytes, from) = (self.bytes(bytes)?, self.peer("from", from, ranks)?);
                (label, Statement::Receive { bytes, from, tag: self.options(rest)?.0 })
            }
            [label, "calc", time, rest @ ..] if label.ends_with(':') => {
                let time = self.number("calc", time)?;
                (label, Statement::Calculate { time, processor: self.options(rest)?.1 })
            }
            words => return self.wrong("", &words.join(" "), ALLOWED),
        };
        let label = label.trim_end_matches(':');
        match labels.state(label) {
            Some(number) => Ok(Line::Is(number, statement)),
            None => {
                let found = format!("the label \"{label}\" twice in a rank");
                Err(WorkloadError::at("", found, "each label once").in_file(self.name, self.line))
            }
        }
    }

    fn bytes(&self, word: &str) -> Result<u64, WorkloadError> {
        match word.strip_suffix('b').map(str::parse) {
            Some(Ok(bytes)) => Ok(bytes),
            _ => self.wrong("bytes", word, "whole bytes such as 4096b"),
        }
    }

    fn peer(&self, key: &str, word: &str, ranks: u32) -> Result<u32, WorkloadError> {
        match word.parse() {
            Ok(rank) if rank < ranks => Ok(rank),
            _ => self.wrong(key, word, &format!("a rank, 0 to {}", ranks - 1)),
        }
    }

    /// The tag and the processor; a network card is left aside, for a host has one.
    fn options(&self, words: &[&str]) -> Result<(u64, u8), WorkloadError> {
        let (mut tag, mut processor) = (0, 0);
        for pair in words.chunks(2) {
            match pair {
                ["tag", value] => tag = self.number("tag", value)?,
                ["cpu", value] => processor = self::processor(self.number("cpu", value)?),
                ["nic", value] => drop(self.number::<u64>("nic", value)?),
                _ => return self.wrong("", &pair.join(" "), "tag N, cpu N (0 to 255), nic N"),
            }
        }
        Ok((tag, processor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        parse(text, Path::new("a.goal")).err().map_or_else(String::new, |error| error.to_string())
    }

    /// Breaks if a form of the schedules that are about is refused, or read as something else.
    #[test]
    fn schedules_are_read() {
        let text = "/* two\nranks */ num_ranks 2\n\nrank 0 { // first\nl1: calc 100 cpu 1\n\
                    l2: send 10b to 1 tag 5 cpu 0 nic 0\nl2 irequires l1 # soon\n}\nrank 1 {\n\
                    a: recv 10b from 0 tag 5\n}\n";
        let ranks = parse(text, Path::new("a.goal")).expect("a schedule");
        let calculate = Statement::Calculate { time: 100, processor: 1 };
        let send = Statement::Send { bytes: 10, to: 1, tag: 5 };
        let receive = Statement::Receive { bytes: 10, from: 0, tag: 5 };
        let waits = Line::Waits { label: 1, of: 0, at_start: true };
        assert_eq!(
            ranks[0].lines,
            [(5, Line::Is(0, calculate)), (6, Line::Is(1, send)), (7, waits)]
        );
        assert_eq!(ranks[1].lines, [(10, Line::Is(0, receive))]);
        assert_eq!((ranks[0].labels, ranks[1].labels), (2, 1));
    }

    /// Breaks if what is no text is read as one, or its user is not told where it is none.
    #[test]
    fn what_is_no_text_is_refused() {
        let said = |bytes: &[u8]| {
            let error = as_text(bytes.to_vec(), Path::new("a.bin")).err();
            error.map_or_else(String::new, |error| error.to_string())
        };
        assert_eq!(said(b"num_ranks 2\n"), "");
        assert!(
            said(&[4, 0, 0, 0]).starts_with("a.bin: found a file that is not text from byte 1 on")
        );
        assert!(said(&[b'a', b'b', 0xff]).contains("from byte 2 on"));
    }

    /// Breaks if what is no schedule is taken for one, or its place is not told.
    #[test]
    fn what_is_none_is_refused() {
        assert_eq!(said("rank 0 {\n}\n"), "a.goal:1: found \"rank 0 {\"; allowed: num_ranks N");
        assert_eq!(
            said("num_ranks 2\nrank 2 {\n}\n"),
            "a.goal:2: rank: found \"2\"; allowed: 0 to 1"
        );
        assert_eq!(
            said("num_ranks 2\nrank 0 {\nl1: send 10 to 1\n}\n"),
            "a.goal:3: bytes: found \"10\"; allowed: whole bytes such as 4096b"
        );
        assert_eq!(
            said("num_ranks 2\nrank 0 {\nl1: recv 10b from *\n}\n"),
            "a.goal:3: from: found \"*\"; allowed: a rank, 0 to 1"
        );
        assert!(
            said("num_ranks 2\nrank 0 {\nl1: put 10b\n}\n").contains("a.goal:3: found \"l1: put")
        );
        assert_eq!(
            said("num_ranks 2\nrank 0 {\nl1: calc 1\nl1: calc 2\n}\n"),
            "a.goal:4: found the label \"l1\" twice in a rank; allowed: each label once"
        );
        // A label may come before its statement, and is one of its own rank.
        let before = "num_ranks 2\nrank 1 {\nl2 requires l1\nl1: calc 1\nl2: calc 1\n}\nrank 0 {\n";
        assert_eq!(said(&format!("{before}}}\n")), "");
        assert_eq!(
            said(&format!("{before}l3: calc 1\nl3 requires l2\n}}\n")),
            "a.goal:9: requires: found the label \"l2\", which rank 0 does not have; \
             allowed: a label of the same rank"
        );
        assert!(said("num_ranks 2\nrank 0 {\n").contains("allowed: } at the end of a rank"));
        assert!(said("").contains("allowed: num_ranks N"));
    }
}
