// The flows: one TCP connection each, opened at its time; what each of them went through.
//
// A connection is not closed, as leafspine has no teardown: its completion time runs from the SYN
// until the receiving application has the last byte.
#pragma once

#include "fabric.h"

#include "ns3/inet-socket-address.h"
#include "ns3/socket.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket-factory.h"

#include <map>
#include <vector>

struct Flow
{
    int64_t start = 0;
    uint32_t source = 0;
    uint32_t destination = 0;
    uint64_t bytes = 0;
    uint32_t path = 0;

    int64_t fct = -1; // -1: not complete
    uint64_t received = 0;
    uint32_t retransmits = 0;
    uint32_t timeouts = 0;
    ns3::SequenceNumber32 highest{0};
    ns3::Ptr<ns3::Socket> sender;
};

class Traffic
{
  public:
    Traffic(const Fabric& fabric, uint32_t hosts, std::vector<Flow> flows);

    const std::vector<Flow>& Flows() const { return m_flows; }

  private:
    static constexpr uint16_t PORT = 5001;
    static constexpr uint16_t FIRST_SOURCE_PORT = 10000;

    void Listen(uint32_t host);
    void Open(uint32_t number);
    void Accept(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from);
    void Receive(uint32_t number, ns3::Ptr<ns3::Socket> socket);
    void Sent(uint32_t number,
              ns3::Ptr<const ns3::Packet> packet,
              const ns3::TcpHeader& header,
              ns3::Ptr<const ns3::TcpSocketBase> socket);
    void Timeout(uint32_t number, ns3::Time before, ns3::Time after);

    const Fabric& m_fabric;
    std::vector<Flow> m_flows;
    std::vector<uint16_t> m_nextPort; // by source host
    std::map<std::pair<uint32_t, uint16_t>, uint32_t> m_byPort;
    std::size_t m_open = 0;
};

inline Traffic::Traffic(const Fabric& fabric, uint32_t hosts, std::vector<Flow> flows)
    : m_fabric(fabric),
      m_flows(std::move(flows)),
      m_nextPort(hosts, FIRST_SOURCE_PORT),
      m_open(m_flows.size())
{
    for (uint32_t host = 0; host < hosts; host++)
        Listen(host);
    for (uint32_t number = 0; number < m_flows.size(); number++)
    {
        ns3::Simulator::Schedule(ns3::PicoSeconds(m_flows[number].start),
                                 &Traffic::Open,
                                 this,
                                 number);
    }
}

inline void
Traffic::Listen(uint32_t host)
{
    auto socket =
        ns3::Socket::CreateSocket(m_fabric.Host(host), ns3::TcpSocketFactory::GetTypeId());
    socket->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), PORT));
    socket->Listen();
    socket->SetAcceptCallback(ns3::MakeNullCallback<bool, ns3::Ptr<ns3::Socket>, const ns3::Address&>(),
                              ns3::MakeCallback(&Traffic::Accept, this));
}

inline void
Traffic::Open(uint32_t number)
{
    Flow& flow = m_flows[number];
    const uint16_t port = m_nextPort[flow.source]++;
    m_byPort[{flow.source, port}] = number;
    flow.sender =
        ns3::Socket::CreateSocket(m_fabric.Host(flow.source), ns3::TcpSocketFactory::GetTypeId());
    flow.sender->TraceConnectWithoutContext(
        "Tx",
        ns3::Callback<void,
                      ns3::Ptr<const ns3::Packet>,
                      const ns3::TcpHeader&,
                      ns3::Ptr<const ns3::TcpSocketBase>>(&Traffic::Sent, this, number));
    flow.sender->TraceConnectWithoutContext(
        "RTO",
        ns3::Callback<void, ns3::Time, ns3::Time>(&Traffic::Timeout, this, number));
    flow.sender->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), port));
    const auto address = m_fabric.Address(flow.destination, flow.path);
    flow.sender->Connect(ns3::InetSocketAddress(address, PORT));
    // All at once: the send buffer is larger than any flow, and waits for the handshake.
    if (flow.sender->Send(ns3::Create<ns3::Packet>(flow.bytes)) != static_cast<int>(flow.bytes))
        throw std::runtime_error("the send buffer does not hold a flow");
}

inline void
Traffic::Accept(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from)
{
    const auto peer = ns3::InetSocketAddress::ConvertFrom(from);
    const uint32_t number = m_byPort.at({m_fabric.Owner(peer.GetIpv4()), peer.GetPort()});
    socket->SetRecvCallback(
        ns3::Callback<void, ns3::Ptr<ns3::Socket>>(&Traffic::Receive, this, number));
}

inline void
Traffic::Receive(uint32_t number, ns3::Ptr<ns3::Socket> socket)
{
    Flow& flow = m_flows[number];
    while (auto packet = socket->Recv())
        flow.received += packet->GetSize();
    if (flow.fct < 0 && flow.received == flow.bytes)
    {
        flow.fct = ns3::Simulator::Now().GetPicoSeconds() - flow.start;
        if (--m_open == 0)
            ns3::Simulator::Stop();
    }
}

inline void
Traffic::Sent(uint32_t number,
              ns3::Ptr<const ns3::Packet> packet,
              const ns3::TcpHeader& header,
              ns3::Ptr<const ns3::TcpSocketBase>)
{
    if (packet->GetSize() == 0)
        return;
    Flow& flow = m_flows[number];
    const auto end = header.GetSequenceNumber() + packet->GetSize();
    if (end > flow.highest)
        flow.highest = end;
    else
        flow.retransmits++;
}

// The timer has fired if and only if the timeout is exactly twice what it was.
inline void
Traffic::Timeout(uint32_t number, ns3::Time before, ns3::Time after)
{
    m_flows[number].timeouts += before.IsStrictlyPositive() && after == before + before;
}
