// A host's device whose packets join its queue a random time late, in order, as leafspine's
// `topology.host_jitter` has it: it takes the phase effects out of symmetric set-ups.
#pragma once

#include "ns3/point-to-point-net-device.h"
#include "ns3/random-variable-stream.h"
#include "ns3/simulator.h"

#include <algorithm>

class JitterDevice : public ns3::PointToPointNetDevice
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("leafspine::JitterDevice")
                                     .SetParent<ns3::PointToPointNetDevice>()
                                     .AddConstructor<JitterDevice>();
        return tid;
    }

    // Uniform from 0 to this, picoseconds; 0: none.
    void SetJitter(int64_t most) { m_most = most; }

    bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address& to, uint16_t protocol) override
    {
        if (m_most == 0)
            return ns3::PointToPointNetDevice::Send(packet, to, protocol);
        const int64_t now = ns3::Simulator::Now().GetPicoSeconds();
        const auto late = static_cast<int64_t>(m_random->GetValue(0, static_cast<double>(m_most)));
        // Events of one instant happen in the order of their scheduling, so none overtakes another.
        m_last = std::max(m_last, now + late);
        ns3::Simulator::Schedule(ns3::PicoSeconds(m_last - now),
                                 &JitterDevice::SendNow,
                                 this,
                                 packet,
                                 to,
                                 protocol);
        return true;
    }

  private:
    void SendNow(ns3::Ptr<ns3::Packet> packet, ns3::Address to, uint16_t protocol)
    {
        ns3::PointToPointNetDevice::Send(packet, to, protocol);
    }

    int64_t m_most = 0;
    int64_t m_last = 0;
    ns3::Ptr<ns3::UniformRandomVariable> m_random =
        ns3::CreateObject<ns3::UniformRandomVariable>();
};
