//! The mean age of the reports that a balancer has had.

use leafspine_core::{Span, Time};

/// The mean age at `now` of reports of these times, rounded down; `None` without any.
pub(super) fn mean_age(times: impl Iterator<Item = Time>, now: Time) -> Option<Span> {
    let (sum, count) = times
        .map(|time| now.since(time).0)
        .fold((0u128, 0u128), |(sum, count), age| (sum + u128::from(age), count + 1));
    Some(Span(u64::try_from(sum.checked_div(count)?).expect("a mean of spans is a span")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if the age is not the mean one, or if a mean of nothing is a number.
    #[test]
    fn ages_are_averaged() {
        let times = [100, 250, 400].map(Time);
        assert_eq!(mean_age(times.into_iter(), Time(1000)), Some(Span(750)));
        assert_eq!(mean_age(std::iter::empty(), Time(1000)), None);
    }
}
