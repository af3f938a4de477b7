//! What is read of a trace's bytes, and what is refused. Messages are encoded here, field by field.

use super::*;

/// A varint.
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

/// An attribute whose value is the field of this number.
fn attribute(name: &str, field: u64, value: u64) -> Vec<u8> {
    bytes(10, &[bytes(1, name.as_bytes()), number(field, value)].concat())
}

/// Metadata and nodes, each behind its length.
fn file(nodes: &[Vec<u8>]) -> Vec<u8> {
    let metadata = bytes(1, b"0.0.4");
    let parts = std::iter::once(&metadata).chain(nodes);
    parts.flat_map(|part| [varint(part.len() as u64), part.clone()].concat()).collect()
}

fn node(id: u64, kind: u64, more: &[Vec<u8>]) -> Vec<u8> {
    [number(1, id), bytes(2, b"n"), number(3, kind), more.concat()].concat()
}

fn said(bytes: &[u8]) -> String {
    parse(bytes, Path::new("a.0.et")).err().map_or_else(String::new, |error| error.to_string())
}

/// Breaks if a field or an attribute is taken for another, whatever its kind of number, or if one that is not known
/// is not passed over.
#[test]
fn nodes_are_read() {
    let compute = node(1, 4, &[number(7, 250), attribute("is_cpu_op", 27, 1), bytes(8, b"x")]);
    let packed = [varint(1), varint(300)].concat();
    let send = node(
        300,
        5,
        &[
            bytes(4, &packed),
            number(5, 2),
            attribute("comm_size", 13, 1 << 40),
            attribute("comm_dst", 7, 3),
            // sint64: 9 is encoded as 18.
            attribute("comm_tag", 17, 18),
        ],
    );
    let group = bytes(10, &[bytes(1, b"pg_name"), bytes(29, b"tp")].concat());
    let gather = node(5, 7, &[group, attribute("comm_type", 9, 2), attribute("comm_size", 9, 64)]);
    let trace = parse(&file(&[compute, send, gather]), Path::new("a.0.et")).expect("a trace");
    assert_eq!(trace.nodes[0].what, What::Compute { micros: 250, on_cpu: true });
    assert_eq!(trace.nodes[1].what, What::Send { to: 3, bytes: 1 << 40, tag: 9 });
    assert_eq!(trace.nodes[1].after, [1, 300, 2]);
    let what = Collective::AllGather;
    assert_eq!(trace.nodes[2].what, What::Collective { what, bytes: 64, group: "tp".into() });
    assert_eq!(trace.nodes[2].id, 5);
}

/// Breaks if what is no trace is taken for one, or where it is wrong is not told.
#[test]
fn what_is_none_is_refused() {
    let coll = |kind| node(7, 7, &[attribute("comm_type", 9, kind), attribute("comm_size", 9, 8)]);
    for (bytes, part) in [
        (Vec::new(), "a.0.et: found no node (byte 0)"),
        (vec![0x80], "found a number that the file's end cuts off (byte 0)"),
        (vec![9, 1], "found a length beyond the end (byte 1)"),
        (file(&[]), "found no node (byte 8)"),
        (
            [varint(2), number(1, 4), varint(2), number(1, 4)].concat(),
            "found a node where the metadata should be (byte 1)",
        ),
        (file(&[[number(4, 1), vec![0x0b]].concat()]), "found a field of no known kind (byte 11)"),
        (file(&[bytes(1, b"x")]), "found a node's field of another kind (byte 9)"),
        (file(&[node(7, 11, &[])]), "found a node of type 11 (node 7 \"n\", byte 9)"),
        (file(&[node(7, 0, &[])]), "found a node of type 0"),
        (file(&[node(7, 5, &[attribute("comm_size", 9, 8)])]), "found no comm_dst (node 7"),
        (file(&[node(7, 6, &[attribute("comm_src", 9, 0)])]), "found no comm_size (node 7"),
        (file(&[coll(5)]), "found comm_type BROADCAST (node 7 \"n\", byte 9); allowed: ALL_REDUCE"),
        (file(&[coll(77)]), "found comm_type 77"),
        (file(&[node(7, 4, &[attribute("num_ops", 9, 5)])]), "found num_ops without a duration"),
    ] {
        assert!(said(&bytes).contains(part), "{bytes:?}\nsays {}\nwithout {part}", said(&bytes));
    }
}
