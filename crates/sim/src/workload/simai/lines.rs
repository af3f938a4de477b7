//! The lines of a workload text.

use super::{Comm, Parallel, Pass, Row, Shape, Step};
use crate::spec::Collective;
use crate::workload::WorkloadError;
use std::path::Path;

/// Passes forward and back, and rows that stand for themselves.
const KINDS: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER, MICRO";
const COMMS: &str = "NONE, or ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, each alone or with _DP, _EP or _DP_EP";
const COLUMNS: &str = "12 columns: a name, -1, three times a time, what is communicated and bytes, and the \
                       time of an update";
/// Ranks that can be numbered.
const RANKS: u64 = 65_536;
/// Each has up to three collectives, which are counted in 16 bits.
const ROWS: u64 = 20_000;

/// Reads a step.
///
/// # Errors
/// A file that cannot be read, a header or a row that is none.
pub(crate) fn read(path: &Path) -> Result<Step, WorkloadError> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let found = format!("{} ({})", path.display(), error.kind());
        WorkloadError::at("path", found, "SimAI's workload text that can be read")
    })?;
    parse(&text, path)
}

struct Reader<'a> {
    name: &'a Path,
    line: u64,
}

fn parse(text: &str, name: &Path) -> Result<Step, WorkloadError> {
    let mut reader = Reader { name, line: 0 };
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let mut next = |reader: &mut Reader<'_>| {
        let (line, text) = lines.next()?;
        reader.line = line;
        Some(text.split_whitespace().collect::<Vec<_>>())
    };
    let Some(words) = next(&mut reader) else { return reader.wrong("", "", KINDS) };
    let shape = match words.as_slice() {
        ["MICRO"] => None,
        ["HYBRID_TRANSFORMER_FWD_IN_BCKWD" | "HYBRID_TRANSFORMER", keys @ ..] => {
            Some(reader.header(keys)?)
        }
        words => return reader.wrong("", words[0], KINDS),
    };
    let rows = match next(&mut reader).as_deref() {
        Some([count]) => reader.number("rows", count)?,
        other => {
            return reader.wrong("rows", &other.unwrap_or(&[]).join(" "), "how many rows follow");
        }
    };
    if rows == 0 || rows > ROWS {
        return reader.wrong("rows", &rows.to_string(), "1 to 20,000 rows");
    }
    let mut step = Step { file: name.to_owned(), shape, rows: Vec::new() };
    while let Some(words) = next(&mut reader) {
        if step.rows.len() as u64 == rows {
            let allowed = format!("the end of the file after {rows} rows");
            return reader.wrong("", &words.join(" "), &allowed);
        }
        step.rows.push(reader.row(&words, shape.is_none())?);
    }
    if (step.rows.len() as u64) < rows {
        let found = step.rows.len().to_string();
        return reader.wrong("rows", &found, &format!("{rows} rows, as line 2 says"));
    }
    Ok(step)
}

impl Reader<'_> {
    fn wrong<T>(&self, key: &str, found: &str, allowed: &str) -> Result<T, WorkloadError> {
        let found = if found.is_empty() { "nothing".to_owned() } else { format!("\"{found}\"") };
        Err(WorkloadError::at(key, found, allowed).in_file(self.name, self.line))
    }

    fn number(&self, key: &str, word: &str) -> Result<u64, WorkloadError> {
        // Generators that divide write "1048576.0".
        let whole = word.strip_suffix(".0").unwrap_or(word);
        whole.parse().or_else(|_| self.wrong(key, word, "a whole number"))
    }

    /// The first line: words that end in a colon (`pp_comm` may lack it) with their numbers.
    fn header(&self, words: &[&str]) -> Result<Shape, WorkloadError> {
        let mut shape =
            Shape { tensor: 1, expert: 1, pipeline: 1, ranks: 0, stage_bytes: 0, microbatches: 1 };
        for pair in words.chunks(2) {
            let [key, value] = pair else {
                return self.wrong(pair[0], "", "a number behind it");
            };
            let key = key.trim_end_matches(':');
            let value = self.number(key, value)?;
            let at_least_one = |field: &mut u64| match value {
                0 => self.wrong(key, "0", "1 or more"),
                value => {
                    *field = value;
                    Ok(())
                }
            };
            match key {
                "model_parallel_NPU_group" => at_least_one(&mut shape.tensor)?,
                "ep" => at_least_one(&mut shape.expert)?,
                "pp" => at_least_one(&mut shape.pipeline)?,
                "ga" => at_least_one(&mut shape.microbatches)?,
                "all_gpus" => at_least_one(&mut shape.ranks)?,
                "pp_comm" => shape.stage_bytes = value,
                // Layers of a virtual stage: the rows are all of them.
                "vpp" => {}
                "checkpoints" | "checkpoint_initiates" if value == 0 => {}
                "checkpoints" | "checkpoint_initiates" => {
                    let allowed =
                        "0: layers that are computed again in the backward pass are not read";
                    return self.wrong(key, &value.to_string(), allowed);
                }
                _ => {
                    let allowed = "model_parallel_NPU_group:, ep:, pp:, vpp:, ga:, all_gpus:, \
                                   checkpoints:, checkpoint_initiates:, pp_comm:";
                    return self.wrong("", key, allowed);
                }
            }
        }
        self.divides(shape)
    }

    /// Ranks must fall into groups of one size.
    fn divides(&self, shape: Shape) -> Result<Shape, WorkloadError> {
        if !(2..=RANKS).contains(&shape.ranks) {
            return self.wrong("all_gpus", &shape.ranks.to_string(), "2 to 65,536 ranks");
        }
        let parts = [shape.expert, shape.pipeline]
            .into_iter()
            .try_fold(shape.tensor, u64::checked_mul)
            .filter(|parts| shape.ranks.is_multiple_of(*parts));
        match parts {
            Some(_) => Ok(shape),
            None => {
                let allowed = "a multiple of model_parallel_NPU_group x ep x pp";
                self.wrong("all_gpus", &shape.ranks.to_string(), allowed)
            }
        }
    }

    fn row(&self, words: &[&str], alone: bool) -> Result<Row, WorkloadError> {
        let [name, _unused, rest @ ..] = words else {
            return self.wrong("", &words.join(" "), COLUMNS);
        };
        // A thirteenth column says how a layer is parallel, where layers differ.
        let [f, fc, fb, i, ic, ib, w, wc, wb, update] = rest else {
            return self.wrong("", &words.join(" "), COLUMNS);
        };
        let pass = |key: &str, time: &str, comm: &str, bytes: &str, weights: bool| {
            let others = match (alone, weights) {
                (true, _) => Parallel::All,
                (false, true) => Parallel::Data,
                (false, false) => Parallel::Tensor,
            };
            let bytes = self.number(&format!("{key} bytes"), bytes)?;
            let time = self.number(&format!("{key} time"), time)?;
            let comm = self.comm(key, comm, (others, alone))?;
            let comm = comm.filter(|_| bytes > 0);
            let comm = comm.map(|(collective, among)| Comm { collective, among, bytes });
            Ok(Pass { time, comm })
        };
        Ok(Row {
            line: self.line,
            name: (*name).to_owned(),
            forward: pass("forward", f, fc, fb, false)?,
            input: pass("input gradient", i, ic, ib, false)?,
            weight: pass("weight gradient", w, wc, wb, true)?,
            update: self.number("update", update)?,
        })
    }

    /// `ALLGATHER_DP_EP`: what, and among whom.
    fn comm(
        &self,
        key: &str,
        word: &str,
        (others, alone): (Parallel, bool),
    ) -> Result<Option<(Collective, Parallel)>, WorkloadError> {
        if word == "NONE" {
            return Ok(None);
        }
        let (what, among) = match word.split_once('_') {
            None => (word, others),
            Some((what, "EP")) => (what, Parallel::Expert),
            Some((what, "DP")) => (what, Parallel::Data),
            Some((what, "DP_EP")) => (what, Parallel::DataOfExperts),
            Some(_) => return self.wrong(&format!("{key} communication"), word, COMMS),
        };
        let collective = match what {
            "ALLREDUCE" => Collective::AllReduce,
            "ALLGATHER" => Collective::AllGather,
            "REDUCESCATTER" => Collective::ReduceScatter,
            "ALLTOALL" => Collective::AllToAll,
            _ => return self.wrong(&format!("{key} communication"), word, COMMS),
        };
        Ok(Some((collective, if alone { Parallel::All } else { among })))
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
