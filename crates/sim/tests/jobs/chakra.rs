//! Execution traces of Chakra, by hand and to the picosecond. The files are encoded here, as `et_def.proto` has it.

use super::*;
use std::path::PathBuf;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

const COMPUTE: u64 = 4;
const SEND: u64 = 5;
const RECEIVE: u64 = 6;
const COLLECTIVE: u64 = 7;

/// A node after others, with its attributes of 64 bits.
fn node(id: u64, kind: u64, after: &[u64], micros: u64, attributes: &[(&str, u64)]) -> Vec<u8> {
    let after = after.iter().flat_map(|id| number(5, *id));
    let attributes = attributes.iter().flat_map(|(name, value)| {
        bytes(10, &[bytes(1, name.as_bytes()), number(9, *value)].concat())
    });
    let name = bytes(2, format!("n{id}").as_bytes());
    let fields = [number(1, id), name, number(3, kind), number(7, micros)].concat();
    fields.into_iter().chain(after).chain(attributes).collect()
}

/// Traces of as many ranks, in files of their own.
fn traces(name: &str, ranks: &[Vec<Vec<u8>>]) -> Spec {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let files = ranks.iter().enumerate().map(|(rank, nodes)| {
        let file = folder.join(format!("{name}.{rank}.et"));
        let parts = std::iter::once(bytes(1, b"0.0.4")).chain(nodes.iter().cloned());
        let all: Vec<u8> =
            parts.flat_map(|part| [varint(part.len() as u64), part].concat()).collect();
        std::fs::write(&file, all).expect("a writable directory for tests");
        file
    });
    let files = files.collect();
    star(3, JobSpec::once(JobKind::Chakra(ChakraSpec { files, how: RING })))
}

const US: u64 = 1_000_000;

/// Breaks if a node begins before all that it depends on has ended, or later.
#[test]
fn a_trace_by_hand() {
    let message = [("comm_size", 8960), ("comm_tag", 3), ("comm_src", 0), ("comm_dst", 1)];
    let sum = [("comm_type", 0), ("comm_size", 17_920)];
    let ranks = [
        vec![
            node(1, COMPUTE, &[], 1, &[]),
            node(2, SEND, &[1], 0, &message),
            node(3, COLLECTIVE, &[1], 0, &sum),
        ],
        vec![
            node(7, RECEIVE, &[], 0, &message),
            node(8, COMPUTE, &[7], 2, &[]),
            node(9, COLLECTIVE, &[8], 0, &sum),
            node(10, COMPUTE, &[9], 5, &[]),
        ],
    ];
    let spec = traces("hand", &ranks);
    let output = run(&spec);
    let hop = alone(&spec, 8960);
    // Rank 0's part of the sum has come long since when rank 1 has computed: so that sends both of its messages at
    // once, 9,000 bytes each.
    let first = US + hop + 2 * US;
    assert_eq!(output.flows.len(), 5);
    let jobs = output.jobs.as_ref().expect("jobs");
    assert_eq!(jobs.ranks[0].end, Some(Time(first + hop + 720_000)));
    assert_eq!(jobs.ranks[1].compute, Span(7 * US));
}

/// Breaks if traces that do not fit together run, or the file and node are not named.
#[test]
fn what_does_not_fit_is_refused() {
    let message = [("comm_size", 8960), ("comm_tag", 3), ("comm_src", 0), ("comm_dst", 1)];
    let sum = [("comm_type", 0), ("comm_size", 64)];
    let other = [("comm_type", 2), ("comm_size", 64)];
    for (name, ranks, part) in [
        (
            "send",
            [vec![node(1, SEND, &[], 0, &message)], vec![node(1, COMPUTE, &[], 1, &[])]],
            "send.0.et: found a message to 1 with tag 3 that nobody receives (node 1 \"n1\", byte 9)",
        ),
        (
            "receive",
            [vec![node(1, COMPUTE, &[], 1, &[])], vec![node(1, RECEIVE, &[], 0, &message)]],
            "receive.1.et: found a receive of what nobody sends (node 1",
        ),
        (
            "absent",
            [vec![node(1, COLLECTIVE, &[], 0, &sum)], vec![node(1, COMPUTE, &[], 1, &[])]],
            "absent.0.et: found collective 0 of group \"\", which rank 1 does not have",
        ),
        (
            "unlike",
            [vec![node(1, COLLECTIVE, &[], 0, &sum)], vec![node(1, COLLECTIVE, &[], 0, &other)]],
            "unlike.1.et: found Collective { what: AllGather",
        ),
        (
            "unknown",
            [vec![node(1, COMPUTE, &[4], 1, &[])], vec![node(1, COMPUTE, &[], 1, &[])]],
            "unknown.0.et: found a dependency on node 4, which is not there",
        ),
        (
            "twice",
            [
                vec![node(1, COMPUTE, &[], 1, &[]), node(1, COMPUTE, &[], 1, &[])],
                vec![node(1, COMPUTE, &[], 1, &[])],
            ],
            "twice.0.et: found a node's id for the second time",
        ),
        (
            "ring",
            [
                vec![node(1, COMPUTE, &[2], 1, &[]), node(2, COMPUTE, &[1], 1, &[])],
                vec![node(1, COMPUTE, &[], 1, &[])],
            ],
            "operations that wait for each other in a ring",
        ),
    ] {
        let error = leafspine_sim::Simulation::new(&traces(name, &ranks)).err();
        let said = error.map_or_else(String::new, |error| error.to_string());
        assert!(said.contains(part), "{name}: {said}\nwithout {part}");
    }
}

/// Breaks if a group has ranks that do not name it, or a gather's size is not what each rank gives.
#[test]
fn groups_are_those_that_name_them() {
    let gather = |id, group: &[u8]| {
        let name = bytes(10, &[bytes(1, b"pg_name"), bytes(29, group)].concat());
        let size = [("comm_type", 2), ("comm_size", 8960)];
        [node(id, COLLECTIVE, &[], 0, &size), name].concat()
    };
    let ranks = [vec![gather(1, b"a")], vec![node(1, COMPUTE, &[], 1, &[])], vec![gather(1, b"a")]];
    let spec = traces("groups", &ranks);
    let output = run(&spec);
    assert_eq!(output.flows.len(), 2);
    assert!(output.flows.src.iter().all(|src| *src != 1));
    assert_eq!(output.flows.bytes, [8960, 8960]);
    assert_eq!(all_done(&output), alone(&spec, 8960).max(US));
}
