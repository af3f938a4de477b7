//! Decision vectors: what each scheme decides, event by event, in plain text that another
//! implementation can be held to. `docs/decision-vectors.md` defines the format.
//!
//! For a new scheme, or after a wanted change of one, have its vectors written and read the diff:
//!
//! ```sh
//! LEAFSPINE_FILL=letflow cargo test -p leafspine-schemes --test vectors
//! ```

#![allow(unreachable_pub, reason = "modules of one test")]

mod bounds;
mod header;
mod host;
mod line;
mod packet;
mod script;
mod switch;
mod vector;

use leafspine_schemes::registry::Place;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The variable that has vectors written: a scheme's name, or `all`.
const FILL: &str = "LEAFSPINE_FILL";

const PLACES: [Place; 4] = [Place::LoadBalancer, Place::Aqm, Place::Hold, Place::HostEdge];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// The vectors of a place, by file name.
fn files(place: Place) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory().join(place.table())) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths
}

/// `letflow` or `letflow-spine`: the scheme is the longest registered name that it begins with.
fn scheme_of(place: Place, file: &Path) -> Option<&'static str> {
    let stem = file.file_name()?.to_str()?.strip_suffix(".txt")?;
    let begins = |name: &&str| {
        stem.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    place.names().into_iter().filter(begins).max_by_key(|name| name.len())
}

fn short(file: &Path) -> String {
    file.strip_prefix(directory()).unwrap_or(file).display().to_string()
}

/// The scheme that the first header line of a vector names.
fn named_in(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.starts_with("vector "))?;
    line.split(' ').find_map(|word| word.strip_prefix("scheme="))
}

/// The first line in which `found` differs from `expected`, with its number. Of the header only the
/// parameters count: what surrounds the scheme may be described in more or fewer words.
fn first_difference(expected: &str, found: &str) -> Option<String> {
    let counts = |(_, line): &(usize, &str)| {
        line.starts_with(|c: char| c.is_ascii_digit()) || line.starts_with("sent ")
    };
    let params = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("param ")).map(str::to_owned).collect()
    };
    if params(expected) != params(found) {
        let (expected, found) = (params(expected), params(found));
        return Some(format!(": expected the parameters {expected:?}, found {found:?}"));
    }
    let mut left = expected.lines().enumerate().filter(counts);
    let mut right = found.lines().enumerate().filter(counts);
    loop {
        let (left, right) = (left.next(), right.next());
        let (a, b) = (left.map(|(_, line)| line), right.map(|(_, line)| line));
        if a == b {
            a?;
            continue;
        }
        let line = left.map_or("the end".to_owned(), |(index, _)| (index + 1).to_string());
        let show = |line: Option<&str>| line.unwrap_or("nothing").to_owned();
        return Some(format!(":{line}\n  expected {}\n  found    {}", show(a), show(b)));
    }
}

/// What is wrong with a vector; nothing, if it was filled instead.
fn check(file: &Path, name: &str, fill: Option<&str>) -> Option<String> {
    let text = std::fs::read_to_string(file).expect("a readable vector");
    if named_in(&text) != Some(name) {
        return Some(format!("{}: its name and its header differ", short(file)));
    }
    let found = match vector::replay(&text) {
        Ok(found) => found,
        Err((line, why)) => return Some(format!("{}:{line}: {why}", short(file))),
    };
    if fill.is_some_and(|fill| fill == "all" || fill == name) {
        std::fs::write(file, found).expect("a writable vector");
        return None;
    }
    let difference = first_difference(&text, &found)?;
    Some(format!("{}{difference}", short(file)))
}

/// Writes a generic vector for a scheme that has none.
fn begin(place: Place, name: &str) -> Result<(), String> {
    let header = format!("vector place={} scheme={name}\n", place.table());
    let filled =
        vector::replay(&header).map_err(|(line, why)| format!("{name}, line {line}: {why}"))?;
    let directory = directory().join(place.table());
    std::fs::create_dir_all(&directory).expect("a writable directory");
    std::fs::write(directory.join(format!("{name}.txt")), filled).expect("a writable vector");
    Ok(())
}

/// Breaks if any decision of any scheme is another than its vectors say, or if a scheme has none.
#[test]
fn every_vector_is_replayed() {
    let fill = std::env::var(FILL).ok();
    let mut wrong = Vec::new();
    for place in PLACES {
        let files = files(place);
        let mut have = BTreeSet::new();
        for file in &files {
            match scheme_of(place, file) {
                Some(name) => {
                    have.extend(file.file_stem().filter(|stem| *stem == name).map(|_| name));
                    wrong.extend(check(file, name, fill.as_deref()));
                }
                None => wrong.push(format!("{}: no such scheme", short(file))),
            }
        }
        for name in place.names().into_iter().filter(|name| !have.contains(name)) {
            if fill.as_deref().is_some_and(|fill| fill == "all" || fill == name) {
                wrong.extend(begin(place, name).err());
            } else {
                let table = place.table();
                wrong.push(format!("{table} {name} has no vector; make one with {FILL}={name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\nSee docs/decision-vectors.md.", wrong.join("\n"));
}

/// Breaks if what `hardware/p4` replays a vector with is not what the simulator's scheme goes by there.
#[test]
fn control_planes_of_vectors_are_the_simulators() {
    let fill = std::env::var(FILL).ok();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hardware/p4/vectors");
    let mut seen = 0;
    for file in files(Place::LoadBalancer) {
        let text = std::fs::read_to_string(&file).expect("a readable vector");
        let Some(plane) = vector::control_plane(&text) else { continue };
        let path = kept.join(file.file_stem().expect("a name")).with_extension("json");
        if fill.as_deref().is_some_and(|fill| fill == "all" || Some(fill) == named_in(&text)) {
            std::fs::write(&path, &plane).expect("a writable file");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == plane, "{} is not {}'s", path.display(), short(&file));
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} vectors decide as a P4 switch does");
}

/// Breaks if the P4 target's restrictions make another scheme of one: decisions of the same events would agree as
/// often as chance has it, one in four. They agree less than they might since the random streams fall
/// out of step: a P4 program draws for every packet. The counts are in docs/hardware.md:
/// `cargo test -p leafspine-schemes --test vectors arithmetic -- --nocapture` prints them.
#[test]
fn arithmetic_of_p4_decides_much_alike() {
    for file in files(Place::LoadBalancer) {
        let text = std::fs::read_to_string(&file).expect("a readable vector");
        if !text.contains("param arithmetic=p4\n") {
            continue;
        }
        let exact = text.replace("param arithmetic=p4\n", "");
        let exact = vector::replay(&exact).expect("the same events suit the exact scheme");
        let decided = |text: &str| -> Vec<String> {
            let lines =
                text.lines().filter(|line| line.contains(" pick ") || line.contains(" admit "));
            lines.filter_map(first_of_decision).collect()
        };
        let (ours, theirs) = (decided(&text), decided(&exact));
        let same = ours.iter().zip(&theirs).filter(|(a, b)| a == b).count();
        println!("{}: {same} of {} decisions alike", short(&file), ours.len());
        assert!(ours.len() == theirs.len() && ours.len() >= 45, "{}", short(&file));
        assert!(same * 5 > ours.len() * 2, "{}: {same}", short(&file));
    }
}

/// The port or the verdict of a line.
fn first_of_decision(line: &str) -> Option<String> {
    line.split(" -> ").nth(1)?.split(' ').next().map(str::to_owned)
}

const SMALL: &str = "\
vector place=load_balancer scheme=letflow
param gap=500us
0 paths ports=4,5,6,7 capacity=1,1,1,1 delay=0,0,0,0
0 pick to=1 packet=1 src=0 dst=4 sport=1 dport=2 size=1500
500000000 pick to=1 packet=1
1000000001 pick to=1 packet=1
";

/// Breaks if a vector is another after it has been filled twice, or if a packet is not as it was.
#[test]
fn filling_is_stable() {
    let filled = vector::replay(SMALL).unwrap();
    assert_eq!(vector::replay(&filled).unwrap(), filled);
    let draws: Vec<bool> = filled
        .lines()
        .filter(|line| line.contains(" pick "))
        .map(|line| line.contains(" draws="))
        .collect();
    assert_eq!(draws, [true, false, true], "{filled}");
}

/// Breaks if a time far ahead has a scheme that ticks make files of gigabytes.
#[test]
fn not_too_many_ticks() {
    let text = "vector place=host_edge scheme=hermes\n2000000000000000 wait\n";
    let (line, why) = vector::replay(text).expect_err("four million ticks");
    assert_eq!((line, why.as_str()), (2, "more than 50000 ticks until this event"));
}

/// Breaks if ticks alone, which are put in and taken out, count as events: what is written would
/// then read as another vector.
#[test]
fn ticks_are_no_events() {
    let header = "vector place=aqm scheme=droptail\n";
    let ticked = vector::replay(&format!("{header}1000 tick -> next=never\n")).unwrap();
    assert_eq!(ticked, vector::replay(header).unwrap());
    assert_eq!(vector::replay(&ticked).unwrap(), ticked);
}

/// Breaks if a decision, a parameter or a line may differ unseen.
#[test]
fn every_difference_is_found() {
    let filled = vector::replay(SMALL).unwrap();
    let found = |changed: &str| first_difference(changed, &filled);
    assert_eq!(found(&filled), None);
    let line = filled.lines().find(|line| line.contains("500000000 pick")).unwrap();
    for changed in [
        filled.replace(line, &line.replace(" port=", " port=1")),
        filled.replace(line, &format!("{line} header0=1")),
        filled.replace(&format!("{line}\n"), ""),
        filled.replace("gap=500", "gap=400"),
        filled.lines().filter(|line| !line.contains("param gap")).collect::<Vec<_>>().join("\n"),
    ] {
        assert!(found(&changed).is_some(), "{changed}");
    }
}

/// Breaks if a line that means nothing is passed over.
#[test]
fn wrong_lines_are_refused() {
    for (from, to, why) in [
        (" size=1500", " sise=1500", "sise"),
        (" pick to=1 packet=1\n", " pick to=9 packet=1\n", "no paths"),
        (" packet=1\n", " packet=2\n", "not known"),
        ("500000000 pick", "1 pick to=1 packet=1\n0 pick", "backwards"),
        ("0 paths", "0 path", "no event"),
        ("ports=4,5,6,7", "ports=4,5,6", "capacity"),
        ("scheme=letflow", "scheme=letflaw", "letflaw"),
        ("\n0 paths", "\nparam gep=1us\n0 paths", "gep"),
        ("dport=2", "dport=65536", "65536"),
        ("src=0", "src=99", "no host 99"),
        ("ports=4,5,6,7", "ports=4,5,5,7", "ascend"),
        ("ports=4,5,6,7", "ports=3,5,6,7", "lead to switches"),
        (" paths ports", " paths to=4 ports", "to=4; allowed: 0 to 3"),
        ("delay=0,0,0,0", "delay=0,0,0,900000000000000", "delay=900000000000000"),
        ("\n500000000 pick", "\n9000000000000000000 pick", "time=9000000000000000000"),
        ("\n0 paths", "\nswitch weights=1\n0 paths", "one weight"),
        ("\n0 paths", "\nswitch hosts=17\n0 paths", "17"),
        ("500000000 pick", "sent port=1\nnonsense\n500000000 pick", "no event"),
    ] {
        let (_, message) = vector::replay(&SMALL.replacen(from, to, 1)).expect_err(to);
        assert!(message.contains(why), "{to}: {message}");
    }
}
