//! What a control plane writes into a P4 program: entries of tables, and registers.

use leafspine_core::{PortId, Span};
use std::fmt::Write;

/// An entry of a table, or, without keys, its default action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableEntry {
    /// The table.
    pub table: String,
    /// From and to of each key; the same number twice unless the table matches by range.
    pub keys: Vec<(u64, u64)>,
    /// The action.
    pub action: String,
    /// Its parameters.
    pub data: Vec<u64>,
}

/// A register's word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Register {
    /// The register.
    pub name: String,
    /// Which of its words.
    pub index: u32,
    /// What it is at first.
    pub value: u64,
}

/// All of it for one switch. What is not named is 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ControlPlane {
    /// The program, a file of `hardware/p4/` without its ending.
    pub program: &'static str,
    /// Constants of the program that are given to the compiler.
    pub defines: Vec<(&'static str, u64)>,
    /// Ports by which there is a choice, in the program's order.
    pub uplinks: Vec<u16>,
    /// Tables.
    pub tables: Vec<TableEntry>,
    /// Registers.
    pub registers: Vec<Register>,
}

impl ControlPlane {
    /// The default action of a table: settings of the program.
    pub(crate) fn settings(
        &mut self,
        table: impl Into<String>,
        action: impl Into<String>,
        data: &[u64],
    ) {
        self.entry(table, &[], action, data);
    }

    /// An entry of a table that matches exactly.
    pub(crate) fn entry(
        &mut self,
        table: impl Into<String>,
        keys: &[u64],
        action: impl Into<String>,
        data: &[u64],
    ) {
        let keys = keys.iter().map(|key| (*key, *key)).collect();
        self.push(table.into(), keys, action.into(), data);
    }

    /// An entry of a table that matches what lies between the two, both included.
    pub(crate) fn range(
        &mut self,
        table: impl Into<String>,
        (from, to): (u64, u64),
        action: impl Into<String>,
        data: &[u64],
    ) {
        let keys = vec![(from, to)];
        self.push(table.into(), keys, action.into(), data);
    }

    fn push(&mut self, table: String, keys: Vec<(u64, u64)>, action: String, data: &[u64]) {
        self.tables.push(TableEntry { table, keys, action, data: data.to_vec() });
    }

    /// How the hosts are reached: those below by a port, the others by uplinks that are live (a bit each), with
    /// what the way beyond each takes.
    pub fn host_below(&mut self, host: u16, port: u16) {
        self.entry("hosts", &[super::address(host)], "set_host", &[port.into()]);
    }

    /// See [`ControlPlane::host_below`]: ports, and delays beside them, as the balancer is offered them.
    pub fn host_beyond(&mut self, host: u16, ports: &[PortId], delays: &[Span]) {
        let room = self.defines.iter().find(|(name, _)| *name == "UPLINKS").map_or(0, |d| d.1);
        let mut data = vec![0; 1 + room as usize];
        for (port, delay) in ports.iter().zip(delays) {
            if let Some(uplink) = self.uplinks.iter().position(|own| *own == port.0) {
                data[0] |= 1 << uplink;
                data[1 + uplink] = super::fine_span(*delay);
            }
        }
        self.entry("paths", &[super::address(host)], "set_paths", &data);
    }

    /// A word of a register.
    pub(crate) fn register(&mut self, name: impl Into<String>, index: u32, value: u64) {
        self.registers.push(Register { name: name.into(), index, value });
    }

    /// As JSON, an entry a line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let defines = self.defines.iter().map(|(name, value)| format!("\"{name}\": {value}"));
        let defines = defines.collect::<Vec<_>>().join(", ");
        let tables = self.tables.iter().map(TableEntry::to_json).collect::<Vec<_>>();
        let registers = self.registers.iter().map(Register::to_json).collect::<Vec<_>>();
        let mut text = String::from("{\n");
        let _ = writeln!(text, "  \"program\": \"{}\",", self.program);
        let _ = writeln!(text, "  \"defines\": {{{defines}}},");
        let _ = writeln!(text, "  \"uplinks\": {:?},", self.uplinks);
        let _ = writeln!(text, "  \"tables\": [\n{}\n  ],", tables.join(",\n"));
        match registers.is_empty() {
            true => text += "  \"registers\": []\n}",
            false => {
                let _ = write!(text, "  \"registers\": [\n{}\n  ]\n}}", registers.join(",\n"));
            }
        }
        text.push('\n');
        text
    }
}

impl TableEntry {
    fn to_json(&self) -> String {
        let keys = self.keys.iter().map(|(from, to)| match from == to {
            true => from.to_string(),
            false => format!("[{from}, {to}]"),
        });
        let keys = keys.collect::<Vec<_>>().join(", ");
        let (table, action, data) = (&self.table, &self.action, &self.data);
        format!(
            "    {{\"table\": \"{table}\", \"match\": [{keys}], \"action\": \"{action}\", \"data\": {data:?}}}"
        )
    }
}

impl Register {
    fn to_json(&self) -> String {
        let (name, index, value) = (&self.name, self.index, self.value);
        format!("    {{\"register\": \"{name}\", \"index\": {index}, \"value\": {value}}}")
    }
}
