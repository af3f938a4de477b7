//! Captures: packets as they leave by ports, in files that Wireshark and tshark read.
//!
//! Ports tell of each packet that begins its transmission; here it becomes bytes, in the order of the
//! transmissions, and goes to the disk while the run goes on. Nothing here changes what packets do, and
//! a port that is not captured knows nothing of it.

mod frame;
mod pcapng;
mod roce;
#[cfg(test)]
mod tests;

pub(crate) use frame::FlowFacts;
use frame::Headers;
use leafspine_core::{HostId, Time};
use leafspine_fabric::{Graph, TopologyError, TopologySpec};
use leafspine_node::Network;
use leafspine_node::Tapped;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Packets that are kept until they are put in order and written.
const KEPT: usize = 1 << 13;

/// Why packets cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// There is no such port.
    #[error(transparent)]
    Port(#[from] TopologyError),
    /// A file cannot be written.
    #[error("{}: {error}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// What is captured of a run.
pub(crate) struct Capture {
    files: Vec<Output>,
    /// The files that a port's packets go to, and the interface's number there.
    places: HashMap<u32, Vec<(usize, u32)>>,
    headers: Headers,
    kept: usize,
}

/// A file that is being written.
struct Output {
    path: PathBuf,
    out: BufWriter<File>,
    /// What may still be overtaken.
    pending: Vec<Pending>,
    block: Vec<u8>,
}

/// A packet that is to be written.
struct Pending {
    interface: u32,
    tapped: Tapped,
    flow: Option<FlowFacts>,
    /// Its bytes, where a kernel sent it.
    frame: Option<Arc<[u8]>>,
}

/// A file that is to be written: its name, and ports by their global number.
struct Wanted {
    name: String,
    ports: Vec<u32>,
}

impl Capture {
    /// A file in `folder`, which is there, for each port that one of `patterns` names: `leaf0-spine1`,
    /// `leaf0-*`; and for each host, `host3` or `host*`: both directions of its link.
    pub(crate) fn new(
        patterns: &[String],
        folder: &Path,
        graph: &Graph,
        net: &Network,
        seed: u64,
    ) -> Result<Capture, CaptureError> {
        let wanted = wanted(patterns, graph)?;
        let mut places: HashMap<u32, Vec<(usize, u32)>> = HashMap::new();
        let mut files = Vec::with_capacity(wanted.len());
        for (at, Wanted { name, ports }) in wanted.iter().enumerate() {
            let path = folder.join(format!("{name}.pcapng"));
            let mut block = pcapng::section();
            for (interface, port) in (0..).zip(ports) {
                let (name, rate) = (graph.port_name(*port), graph.ports[*port as usize].rate);
                block.extend(pcapng::interface(&name, rate));
                places.entry(*port).or_default().push((at, interface));
            }
            let create = File::create(&path).and_then(|file| {
                let mut out = BufWriter::new(file);
                out.write_all(&block).map(|()| out)
            });
            let out = create.map_err(|error| CaptureError::Write { path: path.clone(), error })?;
            files.push(Output { path, out, pending: Vec::new(), block });
        }
        Ok(Capture { files, places, headers: Headers::new(net, seed), kept: 0 })
    }

    /// The ports that are captured.
    pub(crate) fn ports(&self) -> impl Iterator<Item = u32> {
        self.places.keys().copied()
    }

    /// A packet begins, or will begin, its transmission; `flow` is that of a transport's packet, and
    /// `frame` that of a kernel's.
    pub(crate) fn take(
        &mut self,
        tapped: &Tapped,
        flow: Option<FlowFacts>,
        frame: Option<Arc<[u8]>>,
    ) {
        let frame = frame.filter(|_| flow.is_some());
        for (file, interface) in &self.places[&tapped.port] {
            let (interface, tapped, frame) = (*interface, *tapped, frame.clone());
            self.files[*file].pending.push(Pending { interface, tapped, flow, frame });
            self.kept += 1;
        }
    }

    /// Writes what nothing can overtake any more, if that is much: all of which began before `now`.
    pub(crate) fn write_before(&mut self, now: Time) -> Result<(), CaptureError> {
        if self.kept < KEPT {
            return Ok(());
        }
        self.write(|start| start < now)
    }

    /// Writes the rest of a run that has ended at `end`. What would have begun later did not.
    pub(crate) fn finish(&mut self, end: Time) -> Result<(), CaptureError> {
        self.write(|start| start <= end)?;
        for Output { path, out, .. } in &mut self.files {
            out.flush().map_err(|error| CaptureError::Write { path: path.clone(), error })?;
        }
        Ok(())
    }

    fn write(&mut self, is_due: impl Fn(Time) -> bool) -> Result<(), CaptureError> {
        self.kept = 0;
        for file in &mut self.files {
            file.write(&self.headers, &is_due)
                .map_err(|error| CaptureError::Write { path: file.path.clone(), error })?;
            self.kept += file.pending.len();
        }
        Ok(())
    }
}

impl Output {
    fn write(&mut self, headers: &Headers, is_due: impl Fn(Time) -> bool) -> io::Result<()> {
        // A port begins one transmission at a time: no two have the same key.
        self.pending.sort_unstable_by_key(|one| (one.tapped.start, one.interface));
        let due = self.pending.partition_point(|one| is_due(one.tapped.start));
        for Pending { interface, tapped, flow, frame } in self.pending.drain(..due) {
            self.block.clear();
            pcapng::packet(&mut self.block, interface, tapped.start, |out| match frame {
                Some(frame) => frame::of_a_kernel(&frame, &tapped.packet, out),
                None => headers.frame(&tapped, flow, out),
            });
            self.out.write_all(&self.block)?;
        }
        Ok(())
    }
}

/// Whether a fabric has all that `patterns` name, without a run.
///
/// # Errors
/// The first that it has not, or a fabric that cannot be built.
pub fn check_captures(topology: &TopologySpec, patterns: &[String]) -> Result<(), TopologyError> {
    wanted(patterns, &Graph::build(topology)?).map(|_| ())
}

/// All files, each once.
fn wanted(patterns: &[String], graph: &Graph) -> Result<Vec<Wanted>, TopologyError> {
    let mut all: Vec<Wanted> = Vec::new();
    for pattern in patterns {
        for found in of_pattern(pattern, graph)? {
            if all.iter().all(|other| other.name != found.name) {
                all.push(found);
            }
        }
    }
    Ok(all)
}

/// The files that a pattern asks for.
fn of_pattern(pattern: &str, graph: &Graph) -> Result<Vec<Wanted>, TopologyError> {
    if pattern.contains('-') || pattern == "*" {
        let found = graph.ports_matching(pattern)?;
        let file = |port: u32| Wanted { name: graph.port_name(port), ports: vec![port] };
        return Ok(found.into_iter().map(file).collect());
    }
    // A host's name and any switch: its own port.
    let found = graph.ports_matching(&format!("{pattern}-*")).map_err(|error| match error {
        TopologyError::UnknownPort { nearest, allowed, .. } => {
            TopologyError::UnknownPort { pattern: pattern.to_owned(), nearest, allowed }
        }
        other => other,
    })?;
    let host = |port: u32| {
        let leafspine_fabric::Owner::Host(host) = graph.ports[port as usize].owner else {
            // All ports of a switch are a pattern of their own.
            return Err(TopologyError::UnknownPort {
                pattern: pattern.to_owned(),
                nearest: format!("{pattern}-*"),
                allowed: format!("hosts, host0 to host{}, and ports", graph.hosts() - 1),
            });
        };
        let HostId(number) = host;
        Ok(Wanted {
            name: format!("host{number}"),
            ports: vec![port, graph.ports[port as usize].peer],
        })
    };
    found.into_iter().map(host).collect()
}
