//! `hardware/p4/include/arithmetic.p4`, from the operations.

use super::OPERATIONS;
use std::fmt::Write;

/// What the operations are made of. P4 and Rust write these three differently.
const PRIMITIVES: &str = "\
bit<64> word(in bit<64> number) {
    return number;
}

bit<64> smaller(in bit<64> a, in bit<64> b) {
    return a < b ? a : b;
}

bit<64> above(in bit<64> a, in bit<64> b) {
    return a |-| b;
}
";

/// The file.
#[must_use]
pub fn arithmetic() -> String {
    let mut text = String::from(
        "// The arithmetic of the programs, written by LEAFSPINE_FILL=p4 cargo test -p leafspine-schemes p4.\n\
         // crates/schemes/src/p4/operations.rs has the same expressions; change them there.\n\n",
    );
    text += PRIMITIVES;
    for operation in OPERATIONS {
        text.push('\n');
        for line in operation.doc {
            let _ = writeln!(text, "//{line}");
        }
        let parameters = operation.parameters.iter().map(|name| format!("in bit<64> {name}"));
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        let body = operation.body.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = operation.name;
        let _ = writeln!(text, "bit<64> {name}({parameters}) {{\n    return {body};\n}}");
    }
    text
}
