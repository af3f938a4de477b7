//! AQ-CAR's stages, as its host edge, its balancer and its queue manager read them from one place.
//!
//! `switch.stage_queues = [0, 1, 1, 1, 1, 2]` is the service queue of each stage that a host may
//! write: the first is small flows' stage, then the medium ones, then large flows'. The number of
//! ones is the number S of medium stages (AQ-CAR §II-A and §II-B1).

use crate::ParamError;

/// The service queue of small flows.
pub(crate) const SMALL: u8 = 0;
/// The service queue of medium flows.
pub(crate) const MEDIUM: u8 = 1;
/// The service queue of large flows.
pub(crate) const LARGE: u8 = 2;

/// Which flow class a stage belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlowClass {
    /// Up to the lower threshold.
    Small,
    /// Between the two: stage 1 to S.
    Medium(u8),
    /// Beyond the upper threshold.
    Large,
}

impl FlowClass {
    /// The service queue of the class.
    #[inline]
    pub(crate) fn queue(self) -> u8 {
        match self {
            FlowClass::Small => SMALL,
            FlowClass::Medium(_) => MEDIUM,
            FlowClass::Large => LARGE,
        }
    }
}

/// The stages of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stages {
    /// The number of medium stages, S.
    pub(crate) medium: u8,
}

impl Stages {
    /// The stages that a run's `stage_queues` stand for.
    pub(crate) fn of(queues: &[u8]) -> Result<Stages, ParamError> {
        let medium = queues.iter().filter(|queue| **queue == MEDIUM).count();
        let expected =
            [SMALL].into_iter().chain(std::iter::repeat_n(MEDIUM, medium)).chain([LARGE]);
        if medium == 0 || !queues.iter().copied().eq(expected) {
            return Err(ParamError::new(
                "scheme",
                format!("switch.stage_queues = {queues:?}"),
                "beside switch.classifier = \"stage\", 0, then a 1 for each medium stage, then 2, \
                 as [0, 1, 1, 1, 1, 2]",
            ));
        }
        // At most as many stages as six bits of DSCP tell apart; beyond, the last is the last.
        Ok(Stages { medium: medium.min(usize::from(u8::MAX - 1)) as u8 })
    }

    /// The class of a packet with this tag. Tags beyond the last stage are of the last.
    #[inline]
    pub(crate) fn class(self, tag: u8) -> FlowClass {
        match tag {
            0 => FlowClass::Small,
            stage if stage <= self.medium => FlowClass::Medium(stage),
            _ => FlowClass::Large,
        }
    }

    /// The first medium stage of the upper half.
    pub(crate) fn upper_half(self) -> u8 {
        self.medium / 2 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a stage is put into another class than its queue says.
    #[test]
    fn stages_follow_their_queues() {
        let queues = [0, 1, 1, 1, 1, 2];
        let stages = Stages::of(&queues).unwrap();
        assert_eq!(stages.medium, 4);
        for (tag, queue) in queues.into_iter().enumerate() {
            assert_eq!(stages.class(tag as u8).queue(), queue, "stage {tag}");
        }
        assert_eq!([stages.class(3), stages.class(9)], [FlowClass::Medium(3), FlowClass::Large]);
    }

    /// Breaks if the upper half of four stages is not 3 and 4, of three 2 and 3, of one that one.
    #[test]
    fn the_upper_half_of_the_medium_stages() {
        let first = |medium: u8| Stages { medium }.upper_half();
        assert_eq!([first(4), first(3), first(1), first(254)], [3, 2, 1, 128]);
    }

    /// Breaks if stages that are not small, medium, large in turn are taken, or refused in silence.
    #[test]
    fn other_orders_are_refused() {
        for queues in [&[][..], &[0, 2], &[0, 1], &[1, 2], &[0, 1, 0, 2], &[0, 1, 2, 2]] {
            let message = Stages::of(queues).unwrap_err().to_string();
            assert!(message.starts_with("scheme: found switch.stage_queues = ["), "{message}");
            assert!(message.contains(", then a 1 for each medium stage"), "{message}");
        }
    }
}
