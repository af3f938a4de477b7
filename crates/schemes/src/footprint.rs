//! What a scheme keeps: the memory that a switch, a port or a host would have to give it.

/// The state of one object of a scheme, in bytes as this implementation keeps them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// All of it.
    pub bytes: u64,
    /// Of which one entry of the flow table takes; 0 without a flow table.
    pub per_flow: u32,
    /// Of which each port takes (at a port's manager: all of it).
    pub per_port: u32,
    /// Slots of the flow table.
    pub slots: u32,
    /// Slots in use: taken by a flow, and not aged out.
    pub occupied: u32,
}
