//! When a timer fires: at once when its time has come, or as a kernel's does, which counts in ticks
//! of a millisecond; and what its timestamps tell, which count them, too.

use super::TcpConfig;
use leafspine_core::{Span, Time};

const TICK: u64 = Span::from_millis(1).0;
/// Longer timers are counted by eights of the ticks of the shorter ones: from so many ticks on.
const FIRST_LEVEL: u64 = 63;
const LEVEL_BITS: u32 = 3;
/// Levels of Linux's wheel of timers.
const LEVELS: u32 = 9;

/// When a timer fires that is set at `now` for `span`. Under `kernel_timers` never early: the span
/// is counted in whole ticks, and the one under way does not count; and from 63, 504, 4032 .. ticks
/// on only every 8th, 64th, 512th .. tick looks for timers.
pub(super) fn fires(cfg: &TcpConfig, span: Span, now: Time) -> Time {
    if !cfg.stack.kernel_timers || span.0 > Time::MAX.0 / 2 {
        return now + span;
    }
    let ticks = span.0.div_ceil(TICK);
    let due = now.0 / TICK + ticks;
    let mut level = 0;
    while level + 1 < LEVELS && ticks >= FIRST_LEVEL << (LEVEL_BITS * level) {
        level += 1;
    }
    let shift = LEVEL_BITS * level;
    Time((((due >> shift) + 1) << shift) * TICK)
}

const MICRO: u64 = Span::from_micros(1).0;

/// What a kernel's clock, which counts in microseconds, makes of a span.
pub(super) fn in_micros(span: Span) -> Span {
    Span(span.0 - span.0 % MICRO)
}

/// From one time to another by that clock.
pub(super) fn micros_between(from: Time, to: Time) -> Span {
    Span((to.0 / MICRO - from.0 / MICRO) * MICRO)
}

/// A round trip from `sent` to `now` as timestamps tell it, which count in ticks: one at least
/// (Linux: `tcp_rtt_tsopt_us`).
pub(super) fn in_ticks(sent: Time, now: Time) -> Span {
    Span((now.0 / TICK - sent.0 / TICK).max(1) * TICK)
}
