// ns-3's DCTCP with a window of at least one segment.
//
// `ns3::TcpDctcp` of 3.37 multiplies the window by 1 - alpha/2 without a lower bound, and its socket
// sends nothing while the window is below a segment: under incast a flow then waits for its timer.
// RFC 3168 §6.1.2 bounds the window by one segment. `control dctcp-stock` is ns-3's own.
#pragma once

#include "ns3/tcp-dctcp.h"
#include "ns3/tcp-socket-state.h"

#include <algorithm>

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
        return std::max(ns3::TcpDctcp::GetSsThresh(state, inFlight), state->m_segmentSize);
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<BoundedDctcp>(this);
    }
};
