//! A balancer that acts in more than one place of its switch.

use crate::aqm::Aqm;
use crate::hold::IngressHold;

/// The roles that a balancer's object has at its switch besides choosing ports.
///
/// A system whose queue manager or ingress hold reads what its balancer knows (TAM) is one object that
/// implements several traits; this says which.
pub enum Roles<'a> {
    /// It only chooses ports.
    None,
    /// It also manages the queues of all ports of the switch.
    Aqm(&'a mut dyn Aqm),
    /// It also holds packets back at the switch's ingress.
    Hold(&'a mut dyn IngressHold),
    /// It does both.
    AqmAndHold(&'a mut dyn AqmAndHold),
}

/// A queue manager that is an ingress hold, too.
pub trait AqmAndHold: Aqm + IngressHold {}

impl<T: Aqm + IngressHold> AqmAndHold for T {}

impl<'a> Roles<'a> {
    /// The queue manager, if the object is one.
    #[inline]
    #[must_use]
    pub fn aqm(self) -> Option<&'a mut dyn Aqm> {
        match self {
            Roles::Aqm(aqm) => Some(aqm),
            Roles::AqmAndHold(both) => Some(both),
            Roles::None | Roles::Hold(_) => None,
        }
    }

    /// The ingress hold, if the object is one.
    #[inline]
    #[must_use]
    pub fn hold(self) -> Option<&'a mut dyn IngressHold> {
        match self {
            Roles::Hold(hold) => Some(hold),
            Roles::AqmAndHold(both) => Some(both),
            Roles::None | Roles::Aqm(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueView;
    use crate::aqm::Admit;
    use crate::hold::{self, Held, Ingress};
    use leafspine_core::{PacketMeta, PortId, Rng, Time};

    /// Drops everything, holds nothing.
    struct Both;

    impl Aqm for Both {
        fn admit(&mut self, _: &PacketMeta, _: &QueueView, _: Time, _: &mut Rng) -> Admit {
            Admit::Drop
        }
    }

    impl IngressHold for Both {
        fn needs(&self) -> hold::Needs {
            hold::Needs { capacity: 3, ..hold::Needs::default() }
        }

        fn arrived(&mut self, _: &PacketMeta, _: PortId, _: u32, _: Time) -> Ingress {
            Ingress::Pass
        }

        fn backlog_changed(&mut self, _: PortId, _: u32, _: Time) -> Held {
            Held::Keep
        }
    }

    /// Breaks if an object is given a role that it did not name, or one that it named is lost.
    #[test]
    fn roles_are_those_that_were_named() {
        let mut both = Both;
        let mut named = |wrap: fn(&mut Both) -> Roles<'_>| {
            (wrap(&mut both).aqm().is_some(), wrap(&mut both).hold().is_some())
        };
        assert_eq!(named(|_| Roles::None), (false, false));
        assert_eq!(named(|both| Roles::Aqm(both)), (true, false));
        assert_eq!(named(|both| Roles::Hold(both)), (false, true));
        assert_eq!(named(|both| Roles::AqmAndHold(both)), (true, true));
    }

    /// Breaks if an object with both roles is not itself in each.
    #[test]
    fn both_roles_are_one_object() {
        let mut both = Both;
        let hold = Roles::AqmAndHold(&mut both).hold().expect("it holds");
        assert_eq!(hold.needs().capacity, 3);
        let aqm = Roles::AqmAndHold(&mut both).aqm().expect("it manages");
        let (packet, queue) =
            (crate::testing::data(0, 9, 1, 0), crate::testing::queue_view(0, true));
        let mut rng = Rng::new(1, leafspine_core::Role::Aqm, 0);
        assert_eq!(aqm.admit(&packet, &queue, Time::ZERO, &mut rng), Admit::Drop);
    }
}
