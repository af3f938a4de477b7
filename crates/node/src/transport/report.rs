//! What a sender tells of its flow.

use super::{Sender, TcpConfig};
use leafspine_core::Time;
use leafspine_schemes::cc::{CongestionControl, Control};

impl Sender {
    /// The congestion window in bytes, at most `max_cwnd`. Without RFC 6582's inflation.
    #[inline]
    #[must_use]
    pub fn window(&self, cfg: &TcpConfig) -> u32 {
        self.control.window().min(cfg.max_cwnd)
    }

    /// The time-weighted mean of the congestion window in bytes, from when data could first be
    /// sent until `until`; the window itself if no time has passed.
    #[must_use]
    pub fn mean_window(&self, cfg: &TcpConfig, until: Time) -> f64 {
        let window = f64::from(self.window(cfg));
        let span = until.since(self.window_from).0 as f64;
        if span == 0.0 {
            return window;
        }
        (self.window_area + window * until.since(self.window_since).0 as f64) / span
    }

    /// The flow's congestion control.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// The oldest segment not acknowledged.
    #[must_use]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// Segments sent at least once; also the next new one.
    #[must_use]
    pub fn sent(&self) -> u32 {
        self.high
    }

    /// Segments of the flow.
    #[must_use]
    pub fn segments(&self) -> u32 {
        self.total
    }

    /// Bytes of payload sent at least once.
    #[must_use]
    pub fn bytes_sent(&self, cfg: &TcpConfig) -> u64 {
        let full = u64::from(self.high) * u64::from(cfg.mss);
        if self.high == self.total && self.total > 0 {
            full - u64::from(cfg.mss) + u64::from(self.last_payload)
        } else {
            full
        }
    }

    /// Data segments sent again.
    #[must_use]
    pub fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// Times that the retransmission timer fired, for the SYN too.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Reductions of the window that were undone.
    #[must_use]
    pub fn undos(&self) -> u32 {
        self.extra.as_ref().map_or(0, |extra| extra.undos)
    }

    /// Tail loss probes.
    #[must_use]
    pub fn probes(&self) -> u32 {
        self.extra.as_ref().map_or(0, |extra| extra.probes)
    }

    /// ACKs that acknowledged nothing new while data was outstanding.
    #[must_use]
    pub fn dup_acks(&self) -> u32 {
        self.dup_acks
    }
}
