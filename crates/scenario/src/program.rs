//! `[[workload]] kind = "program"`: a command that hosts run, which are kernels.
//!
//! As with traces, a result belongs to what made it: the resolved scenario has the folder that programs start in, and a
//! checksum of the command's program and of every file that an argument names.

use crate::error::ScenarioError;
use crate::hosts::host_set;
use crate::section::Section;
use crate::trace::of_text;
use crate::tree::{Data, Table, quote, quote_key};
use leafspine_core::{Bytes, Time};
use leafspine_fabric::TopologyKind;
use leafspine_sim::spec::{HostSet, Pattern, ProgramSpec, SizeSpec, WorkloadKind, WorkloadSpec};
use std::path::{Path, PathBuf};

/// Besides `kind` and `start`.
pub(crate) const KEYS: [&str; 6] =
    ["hosts", "command", "environment", "background", "folder", "checksum"];

/// Where commands without a folder are looked for: as programs have it in their environment.
const FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// What a kernel takes as arguments and environment in all.
const MOST: usize = 100_000;

/// A workload of a program.
pub(crate) fn program(
    section: &mut Section<'_>,
    graph: &TopologyKind,
) -> Result<WorkloadSpec, ScenarioError> {
    let hosts = host_set(section, "hosts", graph)?;
    if hosts == HostSet::Rest {
        let found = "\"the rest\" of a program, which has one set of hosts";
        return Err(section.wrong("hosts", found, "the hosts themselves"));
    }
    let command = command(section)?;
    let environment = environment(section)?;
    let background = section.flag("background", "false")?;
    let folder = folder(section)?;
    let surveyed = section.place.survey.is_some();
    if !surveyed {
        checksum(section, &command, &environment, &folder)?;
    }
    let program = ProgramSpec { command, environment, folder, background };
    Ok(WorkloadSpec {
        kind: WorkloadKind::Program(Box::new(program)),
        sizes: SizeSpec::Fixed(Bytes(1)),
        senders: hosts,
        receivers: HostSet::All,
        pattern: Pattern::Any,
        start: Time::ZERO,
        class: None,
    })
}

/// Its words, of which none has a zero.
fn command(section: &mut Section<'_>) -> Result<Vec<String>, ScenarioError> {
    let allowed = "a list of words: [\"python3\", \"server.py\"]";
    let Some(node) = section.node("command") else {
        if section.place.survey.is_some() {
            return Ok(vec![String::new()]);
        }
        return Err(section.wrong("command", "nothing", allowed));
    };
    let words = node.array().unwrap_or_default().iter().map(|node| node.text().map(str::to_owned));
    let words: Option<Vec<String>> = words.collect();
    let plain = |words: &Vec<String>| {
        words.first().is_some_and(|word| !word.is_empty())
            && words.iter().all(|word| !word.contains('\0'))
            && words.iter().map(|word| word.len() + 1).sum::<usize>() <= MOST
    };
    let Some(words) = words.filter(plain) else {
        return Err(section.wrong("command", node.shown(), allowed));
    };
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    section.write("command", format!("[{}]", quoted.join(", ")));
    Ok(words)
}

/// What is added to its environment, in the order of the file.
fn environment(section: &mut Section<'_>) -> Result<Vec<(String, String)>, ScenarioError> {
    let Some(node) = section.node("environment") else { return Ok(Vec::new()) };
    let allowed = "a table of names and texts: { SERVER = \"host0\", COUNT = 3 }";
    let wrong = |found: String| section.wrong("environment", found, allowed);
    let Some(Table(entries)) = node.table() else { return Err(wrong(node.shown())) };
    let mut all = Vec::new();
    for (key, value) in entries {
        let text = match &value.data {
            Data::Text(text) if !text.contains('\0') => text.clone(),
            Data::Int(number) => number.to_string(),
            Data::Float(number) => number.to_string(),
            Data::Bool(flag) => flag.to_string(),
            _ => return Err(wrong(format!("{key} = {}", value.shown()))),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if key.is_empty() || !key.chars().all(plain) {
            return Err(wrong(quote(key)));
        }
        all.push((key.clone(), text));
    }
    if all.iter().map(|(key, text)| key.len() + text.len() + 2).sum::<usize>() > MOST {
        return Err(wrong("more than 100,000 bytes".to_owned()));
    }
    let entry = |(key, text): &(String, String)| format!("{} = {}", quote_key(key), quote(text));
    let entries: Vec<String> = all.iter().map(entry).collect();
    section.write("environment", format!("{{ {} }}", entries.join(", ")));
    Ok(all)
}

/// Where it starts: the scenario's folder, or one from there.
fn folder(section: &mut Section<'_>) -> Result<PathBuf, ScenarioError> {
    let name = match section.node("folder") {
        None => "",
        Some(node) => match node.text() {
            Some(text) => text,
            None => return Err(section.wrong("folder", node.shown(), "a folder's path")),
        },
    };
    if section.place.survey.is_some() {
        return Ok(PathBuf::new());
    }
    let path = std::path::absolute(section.place.base.join(name)).unwrap_or_default();
    let path: PathBuf = path.components().collect();
    if !path.is_dir() || path.to_str().is_none_or(|path| path.len() > 4000 || path.contains(',')) {
        let found = quote(&path.display().to_string());
        return Err(section.wrong(
            "folder",
            found,
            "a folder that is there, without commas in its path",
        ));
    }
    section.write("folder", quote(&path.display().to_string()));
    Ok(path)
}

/// Where on this machine a path of the program is: it starts in `folder`, which is `/scenario` for it.
fn here(path: &str, folder: &Path) -> PathBuf {
    match Path::new(path).strip_prefix("/scenario") {
        Ok(rest) => folder.join(rest),
        Err(_) => folder.join(path),
    }
}

/// The file that a word of a command names.
fn file_of(word: &str, folder: &Path) -> Option<PathBuf> {
    Some(here(word, folder)).filter(|path| path.is_file())
}

fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|is| is.is_file() && is.permissions().mode() & 0o111 != 0)
}

/// Where the command is.
fn found(word: &str, path: Option<&str>, folder: &Path) -> Option<PathBuf> {
    if word.contains('/') {
        return file_of(word, folder).filter(|path| executable(path));
    }
    let given = path.into_iter().flat_map(|path| path.split(':'));
    let usual = FOLDERS.iter().copied().filter(|_| path.is_none());
    given.chain(usual).map(|place| here(place, folder).join(word)).find(|path| executable(path))
}

/// The checksum of what it is made of.
fn checksum(
    section: &mut Section<'_>,
    command: &[String],
    environment: &[(String, String)],
    folder: &Path,
) -> Result<(), ScenarioError> {
    let path = environment.iter().find(|(key, _)| key == "PATH").map(|(_, path)| &**path);
    let Some(program) = found(&command[0], path, folder) else {
        let shown = quote(&command[0]);
        let allowed = if command[0].contains('/') {
            "a program that can be run, from the scenario's folder (what is in /tmp and /run hosts do not see)".to_owned()
        } else {
            format!("a program of this machine, in {}", path.unwrap_or(&FOLDERS.join(":")))
        };
        return Err(section.wrong("command", format!("{shown}, which is not there"), allowed));
    };
    let files = command[1..].iter().filter_map(|word| file_of(word, folder));
    let mut sums = String::new();
    for file in std::iter::once(program).chain(files) {
        let sum = section.place.files_read.of(&file).map_err(|error| {
            let shown = format!("{} ({})", quote(&file.display().to_string()), error.kind());
            section.wrong("command", shown, "files that can be read")
        })?;
        sums += &sum;
    }
    let sum = of_text(&sums);
    if let Some(node) = section.node("checksum")
        && node.text() != Some(&sum)
    {
        let allowed =
            format!("{} (a file of the command has changed since), or no checksum", quote(&sum));
        return Err(section.wrong("checksum", node.shown(), allowed));
    }
    section.write("checksum", quote(&sum));
    Ok(())
}
