//! Training steps in the workload text that SimAI reads and AICB writes (Wang et al., SimAI, NSDI 2025; its
//! documentation's "Workload Files" has header and columns).
//!
//! ```text
//! HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 32 ...
//! 2
//! embedding -1 556000 ALLREDUCE 16777216 1 NONE 0 1 NONE 0 1
//! attention -1 820000 NONE 0 810000 ALLREDUCE 33554432 1 REDUCESCATTER 67108864 100
//! ```
//!
//! A row has a layer's name, a number that is not used, for the forward pass, the gradient of its input and
//! that of its weights each a time, what is communicated and how many bytes, and the time of an update.

mod lines;
mod step;

pub(crate) use lines::read;
pub(crate) use step::template;

use crate::spec::Collective;
use std::path::PathBuf;

/// Which ranks communicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parallel {
    /// Those that share a layer.
    Tensor,
    /// Those that have the same part of the same layers.
    Data,
    /// Those of the former that share experts' tokens.
    Expert,
    /// Those that have the same part of the same experts.
    DataOfExperts,
    /// All of them.
    All,
}

/// What is communicated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Comm {
    pub(crate) collective: Collective,
    pub(crate) among: Parallel,
    pub(crate) bytes: u64,
}

/// One of a row's three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pass {
    /// What is computed first.
    pub(crate) time: u64,
    pub(crate) comm: Option<Comm>,
}

/// A layer, or what comes before or after all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) name: String,
    pub(crate) forward: Pass,
    pub(crate) input: Pass,
    pub(crate) weight: Pass,
    /// After the communication of the weights' gradient.
    pub(crate) update: u64,
}

/// A step, as the file has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) file: PathBuf,
    /// `None` of rows that stand for themselves: all ranks communicate, one row after the other.
    pub(crate) shape: Option<Shape>,
    pub(crate) rows: Vec<Row>,
}

/// How many ranks share what. They are numbered as Megatron-LM does by default: tensor first, then expert,
/// data and pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) tensor: u64,
    pub(crate) expert: u64,
    pub(crate) pipeline: u64,
    pub(crate) ranks: u64,
    /// What goes to the next stage and back for each of so many microbatches.
    pub(crate) stage_bytes: u64,
    pub(crate) microbatches: u64,
}

impl Step {
    /// How many ranks the file wants, if it says so.
    pub(crate) fn ranks(&self) -> Option<u32> {
        self.shape.map(|shape| shape.ranks as u32) // At most 65,536.
    }
}

impl Shape {
    /// Ranks of a stage.
    pub(crate) fn stage(&self) -> u64 {
        self.ranks / self.pipeline
    }

    /// All groups of one kind, each with its ranks.
    pub(crate) fn groups(&self, among: Parallel) -> Vec<Vec<usize>> {
        let key = |rank: u64| {
            let (stage, within) = (rank / self.stage(), rank % self.stage());
            let (tensor, data) = (within % self.tensor, within / self.tensor);
            match among {
                Parallel::All => 0,
                Parallel::Tensor => rank / self.tensor,
                Parallel::Data => stage * self.tensor + tensor,
                Parallel::Expert => (rank / (self.tensor * self.expert)) * self.tensor + tensor,
                Parallel::DataOfExperts => {
                    (stage * self.expert + data % self.expert) * self.tensor + tensor
                }
            }
        };
        let mut groups = std::collections::BTreeMap::<u64, Vec<usize>>::new();
        for rank in 0..self.ranks {
            groups.entry(key(rank)).or_default().push(rank as usize);
        }
        groups.into_values().collect()
    }
}
