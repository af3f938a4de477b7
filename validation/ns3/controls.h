// ns-3's congestion controls where they leave the RFCs, mended; `newreno-stock` and `dctcp-stock` are
// ns-3's own. What they leave was read in the sources of ns-3.37 and seen in the comparison.
#pragma once

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-dctcp.h"
#include "ns3/tcp-socket-state.h"

#include <algorithm>

// RFC 5681 §3.1 eq. 4: half of FlightSize, which is all that is not cumulatively acknowledged (§2).
// ns-3 halves what it takes to be in the network, without what is reported lost or selectively
// acknowledged, so a burst of losses cuts deeper. The window bounds it as limited transmit may be under way.
inline uint32_t
HalfOfFlight(ns3::Ptr<const ns3::TcpSocketState> state)
{
    const uint32_t outstanding = state->m_highTxMark.Get() - state->m_lastAckedSeq;
    const uint32_t flight = std::min(outstanding, state->m_cWnd.Get());
    return std::max(flight / 2, 2 * state->m_segmentSize);
}

class FlightNewReno : public ns3::TcpNewReno
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("leafspine::FlightNewReno")
                                     .SetParent<ns3::TcpNewReno>()
                                     .AddConstructor<FlightNewReno>();
        return tid;
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state, uint32_t) override
    {
        return HalfOfFlight(state);
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<FlightNewReno>(this);
    }
};

// Two things. RFC 3168 §6.1.2 bounds the window by one segment: ns-3 multiplies it by 1 - alpha/2 without
// a bound, and its socket sends nothing below a segment until its timer fires. And RFC 8257 §3.5: on a loss
// the window is halved as TCP's is; ns-3 cuts it by alpha/2 then, too. (Its ssthresh after a timeout is cut
// by alpha/2 here as well: the socket does not say what it asks for.)
class BoundedDctcp : public ns3::TcpDctcp
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("leafspine::BoundedDctcp")
                                     .SetParent<ns3::TcpDctcp>()
                                     .AddConstructor<BoundedDctcp>();
        return tid;
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state, uint32_t inFlight) override
    {
        if (state->m_congState == ns3::TcpSocketState::CA_RECOVERY)
            return HalfOfFlight(state);
        return std::max(ns3::TcpDctcp::GetSsThresh(state, inFlight), state->m_segmentSize);
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<BoundedDctcp>(this);
    }
};
