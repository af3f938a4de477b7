//! The retransmission timeout of RFC 6298, with a clock granularity of zero.

use super::TcpConfig;
use leafspine_core::Span;

/// Smoothed round-trip time, its variation, and the timeout that follows.
#[derive(Clone, Debug, Default)]
pub(super) struct RttEstimator {
    /// SRTT; zero before the first sample.
    srtt: Span,
    rttvar: Span,
    /// RTO, backed off.
    rto: Span,
    /// Timeouts since the last sample.
    backoffs: u32,
}

impl RttEstimator {
    pub(super) fn reset(&mut self, cfg: &TcpConfig) {
        *self = RttEstimator { rto: cfg.initial_rto, ..RttEstimator::default() };
    }

    /// RFC 6298 §2.2 and §2.3: alpha = 1/8, beta = 1/4, K = 4.
    ///
    /// Karn's algorithm (§3) is not needed: timestamps tell which transmission was acknowledged.
    /// A sample ends the back-off (§5, below 5.7).
    #[inline]
    pub(super) fn sample(&mut self, cfg: &TcpConfig, rtt: Span) {
        let rtt = rtt.0.max(1);
        if self.srtt == Span::ZERO {
            self.srtt = Span(rtt);
            self.rttvar = Span(rtt / 2);
        } else {
            let error = self.srtt.0.abs_diff(rtt);
            self.rttvar = Span(self.rttvar.0 - (self.rttvar.0 >> 2) + (error >> 2));
            self.srtt = Span(self.srtt.0 - (self.srtt.0 >> 3) + (rtt >> 3));
        }
        self.rto = if cfg.stack.kernel_timers {
            // Linux bounds the variation, and not the sum.
            Span(self.srtt.0 + (4 * self.rttvar.0).max(cfg.min_rto.0)).min(cfg.max_rto)
        } else {
            Span(self.srtt.0 + 4 * self.rttvar.0).clamp(cfg.min_rto, cfg.max_rto)
        };
        self.backoffs = 0;
    }

    /// RFC 6298 §5.7: the SYN was lost, and its answer measures nothing (§3).
    pub(super) fn after_lost_syn(&mut self, cfg: &TcpConfig) {
        self.rto = Span::from_millis(3000).clamp(cfg.min_rto, cfg.max_rto);
        self.backoffs = 0;
    }

    /// RFC 6298 §5.5: the timer has fired; twice the timeout, up to the maximum (§2.5).
    pub(super) fn back_off(&mut self, cfg: &TcpConfig) {
        self.rto = Span(self.rto.0.saturating_mul(2)).min(cfg.max_rto);
        self.backoffs += 1;
    }

    #[inline]
    pub(super) fn rto(&self) -> Span {
        self.rto
    }

    #[inline]
    pub(super) fn srtt(&self) -> Span {
        self.srtt
    }

    /// Whether the timer has fired since the last sample.
    pub(super) fn backed_off(&self) -> bool {
        self.backoffs > 0
    }
}
