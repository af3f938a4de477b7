// The queue of a port: ns-3's drop-tail queue, which counts, and marks data from a threshold on.
//
// It is the queue of the device itself, without a queue discipline above it, so that "what waits"
// is all but the packet in transmission, as in leafspine, and no second packet hides in the device.
// Marking is DCTCP's (RFC 8257 §3.1): data that finds the threshold waiting is marked. SYNs and pure
// ACKs never are, although ns-3's DCTCP sends them as ECN-capable (RFC 3168 §6.1.1 and §6.1.4 do not).
#pragma once

#include "ns3/drop-tail-queue.h"
#include "ns3/ipv4-header.h"
#include "ns3/packet.h"
#include "ns3/ppp-header.h"
#include "ns3/simulator.h"
#include "ns3/tcp-header.h"

#include <algorithm>

class PortQueue : public ns3::DropTailQueue<ns3::Packet>
{
  public:
    // What happened, in the measurement window and in the whole run.
    struct Counts
    {
        uint64_t packets = 0;
        uint64_t drops = 0;
        uint64_t marks = 0;
    };

    static ns3::TypeId GetTypeId();

    void Measure(uint32_t markFrom, int64_t from, int64_t until);
    bool Enqueue(ns3::Ptr<ns3::Packet> packet) override;
    ns3::Ptr<ns3::Packet> Dequeue() override;

    const Counts& InWindow() const { return m_window; }
    const Counts& InAll() const { return m_all; }
    // Packets that wait, mean over the window.
    double Mean();

  private:
    bool Mark(ns3::Ptr<ns3::Packet> packet);
    // Adds the time since the last change, as far as it lies in the window.
    void Account();

    Counts m_window;
    Counts m_all;
    uint32_t m_markFrom = 0;
    int64_t m_from = 0;
    int64_t m_until = 0;
    int64_t m_since = 0;
    double m_area = 0; // packet-picoseconds
};

inline ns3::TypeId
PortQueue::GetTypeId()
{
    static ns3::TypeId tid = ns3::TypeId("leafspine::PortQueue")
                                 .SetParent<ns3::DropTailQueue<ns3::Packet>>()
                                 .AddConstructor<PortQueue>();
    return tid;
}

inline void
PortQueue::Measure(uint32_t markFrom, int64_t from, int64_t until)
{
    m_markFrom = markFrom;
    m_from = from;
    m_until = until;
}

inline bool
PortQueue::Enqueue(ns3::Ptr<ns3::Packet> packet)
{
    Account();
    const int64_t now = ns3::Simulator::Now().GetPicoSeconds();
    const bool inside = now >= m_from && now <= m_until;
    const bool marks = m_markFrom > 0 && GetNPackets() >= m_markFrom && Mark(packet);
    const bool taken = ns3::DropTailQueue<ns3::Packet>::Enqueue(packet);
    for (Counts* counts : {&m_all, inside ? &m_window : nullptr})
    {
        if (!counts)
            continue;
        counts->packets += taken;
        counts->drops += !taken;
        counts->marks += taken && marks;
    }
    return taken;
}

inline ns3::Ptr<ns3::Packet>
PortQueue::Dequeue()
{
    Account();
    return ns3::DropTailQueue<ns3::Packet>::Dequeue();
}

inline double
PortQueue::Mean()
{
    Account();
    return m_until > m_from ? m_area / static_cast<double>(m_until - m_from) : 0.0;
}

inline bool
PortQueue::Mark(ns3::Ptr<ns3::Packet> packet)
{
    ns3::PppHeader ppp;
    ns3::Ipv4Header ip;
    ns3::TcpHeader tcp;
    packet->RemoveHeader(ppp);
    packet->RemoveHeader(ip);
    packet->PeekHeader(tcp);
    const bool data = packet->GetSize() > tcp.GetSerializedSize();
    const bool marks = data && ip.GetEcn() != ns3::Ipv4Header::ECN_NotECT;
    if (marks)
        ip.SetEcn(ns3::Ipv4Header::ECN_CE);
    packet->AddHeader(ip);
    packet->AddHeader(ppp);
    return marks;
}

inline void
PortQueue::Account()
{
    const int64_t now = ns3::Simulator::Now().GetPicoSeconds();
    const int64_t from = std::max(m_since, m_from);
    const int64_t until = std::min(now, m_until);
    if (until > from)
        m_area += static_cast<double>(until - from) * GetNPackets();
    m_since = now;
}
