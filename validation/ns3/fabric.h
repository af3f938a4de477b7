// The fabric: nodes, links with a counting queue at both ends, addresses and static routes.
//
// ns-3 3.37 has no per-flow choice among equal routes, so a path is an address: host h of leaf l has
// one address 10.p.l.h for each path p (the number of the spine), and a leaf sends what goes to
// 10.p.0.0/16 by spine p. A host answers from the address of the same p, as source selection takes
// the one in the destination's network, so ACKs take the spine of the same number back.
#pragma once

#include "jitter_device.h"
#include "port_queue.h"
#include "spec.h"

#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/ipv4.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-channel.h"

#include <utility>
#include <vector>

class Fabric
{
  public:
    struct Port
    {
        std::string name;
        ns3::Ptr<PortQueue> queue;
    };

    explicit Fabric(const Spec& spec);

    ns3::Ptr<ns3::Node> Host(uint32_t host) const { return m_hosts.Get(host); }
    ns3::Ipv4Address Address(uint32_t host, uint32_t path) const;
    // The host with an address.
    uint32_t Owner(ns3::Ipv4Address address) const;
    const std::vector<Port>& Ports() const { return m_ports; }

  private:
    struct Ends
    {
        uint32_t a; // interface numbers
        uint32_t b;
    };

    Ends Link(ns3::Ptr<ns3::Node> a,
              ns3::Ptr<ns3::Node> b,
              const std::string& from,
              const std::string& to,
              uint64_t rate,
              int64_t delay);
    ns3::Ptr<ns3::PointToPointNetDevice> Device(ns3::Ptr<ns3::Node> node,
                                                const std::string& name,
                                                uint64_t rate);
    uint32_t Interface(ns3::Ptr<ns3::Node> node, ns3::Ptr<ns3::NetDevice> device);
    void LinkHosts();
    void LinkSpines();

    const Spec& m_spec;
    ns3::NodeContainer m_hosts;
    ns3::NodeContainer m_leaves;
    ns3::NodeContainer m_spines;
    std::vector<Port> m_ports;
    uint32_t m_interfaces = 0;
};

inline ns3::Ptr<ns3::Ipv4StaticRouting>
RoutesOf(ns3::Ptr<ns3::Node> node)
{
    return ns3::Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<ns3::Ipv4>());
}

inline ns3::Ipv4Address
Dotted(uint32_t path, uint32_t leaf, uint32_t host)
{
    return ns3::Ipv4Address((10u << 24) | (path << 16) | (leaf << 8) | host);
}

inline Fabric::Fabric(const Spec& spec)
    : m_spec(spec)
{
    // An address has eight bits for each; 0 and 255 mean something else as a host's number.
    if (spec.paths() > 256 || spec.leaves > 256 || spec.hostsPerLeaf > 254)
        throw std::runtime_error("at most 256 spines, 256 leaves, 254 hosts a leaf");
    m_hosts.Create(spec.hosts());
    m_leaves.Create(spec.leaves);
    m_spines.Create(spec.spines);
    ns3::InternetStackHelper stack;
    ns3::Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();
    LinkHosts();
    LinkSpines();
}

inline ns3::Ipv4Address
Fabric::Address(uint32_t host, uint32_t path) const
{
    return Dotted(path, host / m_spec.hostsPerLeaf, host % m_spec.hostsPerLeaf + 1);
}

inline uint32_t
Fabric::Owner(ns3::Ipv4Address address) const
{
    const uint32_t bits = address.Get();
    return ((bits >> 8) & 255) * m_spec.hostsPerLeaf + (bits & 255) - 1;
}

inline void
Fabric::LinkHosts()
{
    for (uint32_t host = 0; host < m_spec.hosts(); host++)
    {
        const uint32_t leaf = host / m_spec.hostsPerLeaf;
        const std::string above = (m_spec.star() ? "switch" : "leaf") + std::to_string(leaf);
        const Ends ends = Link(m_hosts.Get(host),
                               m_leaves.Get(leaf),
                               "host" + std::to_string(host),
                               above,
                               m_spec.hostRate,
                               m_spec.hostDelay);
        auto ipv4 = m_hosts.Get(host)->GetObject<ns3::Ipv4>();
        for (uint32_t path = 0; path < m_spec.paths(); path++)
        {
            const ns3::Ipv4Address address = Address(host, path);
            ipv4->AddAddress(ends.a, ns3::Ipv4InterfaceAddress(address, ns3::Ipv4Mask("/16")));
            RoutesOf(m_leaves.Get(leaf))->AddHostRouteTo(address, ends.b);
        }
        RoutesOf(m_hosts.Get(host))->SetDefaultRoute(ns3::Ipv4Address("0.0.0.0"), ends.a);
    }
}

inline void
Fabric::LinkSpines()
{
    for (uint32_t leaf = 0; leaf < m_spec.leaves; leaf++)
    {
        for (uint32_t spine = 0; spine < m_spec.spines; spine++)
        {
            const std::string from = "leaf" + std::to_string(leaf);
            const std::string to = "spine" + std::to_string(spine);
            const auto slow = m_spec.slowLinks.find(from + "-" + to);
            const uint64_t rate =
                slow == m_spec.slowLinks.end() ? m_spec.fabricRate : slow->second;
            const Ends ends = Link(m_leaves.Get(leaf),
                                   m_spines.Get(spine),
                                   from,
                                   to,
                                   rate,
                                   m_spec.fabricDelay);
            RoutesOf(m_leaves.Get(leaf))
                ->AddNetworkRouteTo(Dotted(spine, 0, 0), ns3::Ipv4Mask("/16"), ends.a);
            RoutesOf(m_spines.Get(spine))
                ->AddNetworkRouteTo(Dotted(spine, leaf, 0), ns3::Ipv4Mask("/24"), ends.b);
        }
    }
}

inline Fabric::Ends
Fabric::Link(ns3::Ptr<ns3::Node> a,
             ns3::Ptr<ns3::Node> b,
             const std::string& from,
             const std::string& to,
             uint64_t rate,
             int64_t delay)
{
    auto channel = ns3::CreateObject<ns3::PointToPointChannel>();
    channel->SetAttribute("Delay", ns3::TimeValue(ns3::PicoSeconds(delay)));
    auto first = Device(a, from + "-" + to, rate);
    auto second = Device(b, to + "-" + from, rate);
    first->Attach(channel);
    second->Attach(channel);
    return {Interface(a, first), Interface(b, second)};
}

inline ns3::Ptr<ns3::PointToPointNetDevice>
Fabric::Device(ns3::Ptr<ns3::Node> node, const std::string& name, uint64_t rate)
{
    auto queue = ns3::CreateObject<PortQueue>();
    queue->SetMaxSize(ns3::QueueSize(m_spec.buffer));
    queue->Measure(m_spec.markFrom, m_spec.windowStart, m_spec.windowEnd);
    auto device = ns3::CreateObject<JitterDevice>();
    device->SetJitter(name.rfind("host", 0) == 0 ? m_spec.hostJitter : 0);
    device->SetAddress(ns3::Mac48Address::Allocate());
    device->SetDataRate(ns3::DataRate(rate));
    device->SetQueue(queue);
    node->AddDevice(device);
    m_ports.push_back({name, queue});
    return device;
}

inline uint32_t
Fabric::Interface(ns3::Ptr<ns3::Node> node, ns3::Ptr<ns3::NetDevice> device)
{
    auto ipv4 = node->GetObject<ns3::Ipv4>();
    const uint32_t number = ipv4->AddInterface(device);
    // Its own address, which no flow uses: ns-3 asks for the source address of forwarded packets, too.
    const ns3::Ipv4Address own((172u << 24) | (16u << 16) | m_interfaces++);
    ipv4->AddAddress(number, ns3::Ipv4InterfaceAddress(own, ns3::Ipv4Mask::GetOnes()));
    ipv4->SetUp(number);
    return number;
}
