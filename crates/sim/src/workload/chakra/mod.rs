//! Execution traces of Chakra (Sridharan et al., 2023; the schema `et_def.proto` of MLCommons): one file a rank, with
//! a graph of nodes, each a computation, a message or a collective, and what each depends on.
//!
//! A file is a row of messages in Protocol Buffers' encoding, each behind its length as a varint: first the
//! metadata of the whole trace, then a node each. Fields that are not known are passed over, as that
//! encoding has it.

mod graph;
mod nodes;
mod wire;

pub(crate) use graph::template;
pub(crate) use nodes::{Trace, read};
