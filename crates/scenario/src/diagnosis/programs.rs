//! Programs that did not end as they should.

use leafspine_sim::{Output, ProgramRow};

/// Of how many programs one can tell apart in a warning.
const NAMED: usize = 3;

/// Programs that failed, and those of which not all output is kept.
pub(super) fn warnings(output: &Output) -> impl Iterator<Item = String> {
    let failed = |row: &&ProgramRow| row.status.is_some_and(|status| status != 0);
    let of = |chosen: Vec<&ProgramRow>, what: &dyn Fn(&ProgramRow) -> String| {
        let named: Vec<String> = chosen.iter().take(NAMED).map(|row| what(row)).collect();
        let more = chosen.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!chosen.is_empty()).then(|| format!("{}{more}", named.join(", ")))
    };
    let name = |row: &ProgramRow| format!("{} on host{}", row.command.join(" "), row.host);
    let how = |row: &ProgramRow| match (row.exit_code(), row.signal()) {
        (Some(code), _) => format!("{} with exit code {code}", name(row)),
        (None, signal) => format!("{} by signal {}", name(row), signal.unwrap_or_default()),
    };
    let ended = of(output.programs.iter().filter(failed).collect(), &how);
    let cut = of(output.programs.iter().filter(|row| row.cut).collect(), &name);
    let ended = ended.map(|all| {
        format!("programs have failed: {all}; what they wrote is in the files program*.stderr")
    });
    let cut =
        cut.map(|all| format!("of what programs wrote 16 MiB a stream are kept, not all: {all}"));
    ended.into_iter().chain(cut)
}
