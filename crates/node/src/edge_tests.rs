//! What an edge's connections keep.

use super::*;
use crate::program::FIRST_MESSAGE;
use leafspine_core::{FiveTuple, HostId, Role};
use leafspine_schemes::edge::Needs;

/// Counts what each connection sends in its second word, and says so in the packet.
struct Counts;

impl HostEdge for Counts {
    fn needs(&self) -> Needs {
        Needs { memory: 2, ..Needs::default() }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        flow.memory[1] += 1;
        packet.tag = flow.memory[1] as u16;
    }
}

/// Breaks if two messages of a connection do not share their memory, if two connections or two
/// flows do, if a new flow finds what another has left, or if a receiving side has some.
#[test]
fn connections_keep_their_memory() {
    let mut edge = EdgeState::new(Box::new(Counts), Rng::new(1, Role::Edge, 0));
    let open = |edge: &mut EdgeState, slot: u16, number: u32, port: u16| {
        let tuple = FiveTuple::new(HostId(0), HostId(1), port, 5001);
        edge.open_sending(
            slot,
            &Opening { number, tuple, bytes: 1, path: 0, ack_path: 0, class: None },
        );
    };
    let sends = |edge: &mut EdgeState, slot| {
        let mut packet = PacketMeta::default();
        edge.call_sending(slot, Time(0), |edge, flow, cx| edge.sending(&mut packet, flow, cx));
        packet.tag
    };
    open(&mut edge, 0, FIRST_MESSAGE, 1);
    open(&mut edge, 1, FIRST_MESSAGE + 1, 2);
    open(&mut edge, 2, FIRST_MESSAGE + 2, 1);
    open(&mut edge, 3, 0, 1);
    assert_eq!([0, 2, 1, 0, 3].map(|slot| sends(&mut edge, slot)), [1, 2, 1, 3, 1]);
    edge.close_sending(3);
    open(&mut edge, 3, 1, 1);
    open(&mut edge, 4, 2, 1);
    assert_eq!([3, 4, 4, 2].map(|slot| sends(&mut edge, slot)), [1, 1, 2, 4]);
    edge.open_receiving(0, 1);
    assert!(edge.call_receiving(0, 0, Time(0), |_, flow, _| flow.memory.is_empty()));
}
