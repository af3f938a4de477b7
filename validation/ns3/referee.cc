// Runs flows through ns-3 3.37, so that leafspine's results can be held against another simulator's.
//
//     referee SPEC FLOWS OUT_FLOWS OUT_PORTS
//
// SPEC: see spec.h. FLOWS: a leafspine trace, `start_ps,src,dst,bytes,path`. OUT_FLOWS gets a line
// per flow, OUT_PORTS a line per port; their columns are those of leafspine's results.

#include "controls.h"
#include "fabric.h"
#include "spec.h"
#include "traffic.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/uinteger.h"

#include <iomanip>
#include <iostream>

namespace
{

ns3::TypeId
Control(const std::string& name)
{
    if (name == "newreno")
        return FlightNewReno::GetTypeId();
    if (name == "newreno-stock")
        return ns3::TcpNewReno::GetTypeId();
    if (name == "dctcp")
        return BoundedDctcp::GetTypeId();
    if (name == "dctcp-stock")
        return ns3::TcpDctcp::GetTypeId();
    throw std::runtime_error("unknown control " + name);
}

// What is a choice in TCP is chosen as leafspine does: RFC 6675's recovery and no rate reduction
// spread over the round trip, no timestamps (ns-3's have a clock of a millisecond), no Nagle, buffers
// that never limit.
void
Configure(const Spec& spec)
{
    using namespace ns3;
    const auto set = [](const std::string& name, const AttributeValue& value) {
        Config::SetDefault("ns3::" + name, value);
    };
    set("TcpL4Protocol::SocketType", TypeIdValue(Control(spec.control)));
    set("TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    set("TcpSocket::SegmentSize", UintegerValue(spec.mss));
    set("TcpSocket::InitialCwnd", UintegerValue(spec.initCwnd));
    set("TcpSocket::SndBufSize", UintegerValue(1u << 30));
    set("TcpSocket::RcvBufSize", UintegerValue(1u << 30));
    set("TcpSocket::ConnTimeout", TimeValue(PicoSeconds(spec.initialRto)));
    set("TcpSocket::ConnCount", UintegerValue(20));
    set("TcpSocket::DataRetries", UintegerValue(1000));
    set("TcpSocket::TcpNoDelay", BooleanValue(true));
    set("TcpSocket::DelAckCount", UintegerValue(spec.delayedAck > 0 ? 2 : 1));
    set("TcpSocket::DelAckTimeout", TimeValue(PicoSeconds(spec.delayedAck)));
    set("TcpSocketBase::MinRto", TimeValue(PicoSeconds(spec.minRto)));
    set("TcpSocketBase::ClockGranularity", TimeValue(PicoSeconds(1)));
    set("TcpSocketBase::Timestamp", BooleanValue(false));
    set("TcpSocketBase::Sack", BooleanValue(spec.sack));
    set("TcpSocketBase::LimitedTransmit", BooleanValue(spec.limitedTransmit));
    set("TcpDctcp::DctcpAlphaOnInit", DoubleValue(spec.alpha));
    set("TcpDctcp::DctcpShiftG", DoubleValue(spec.g));
}

std::vector<Flow>
ReadFlows(const std::string& path)
{
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line) || line != "start_ps,src,dst,bytes,path")
        throw std::runtime_error(path + ": the first line is not start_ps,src,dst,bytes,path");
    std::vector<Flow> flows;
    while (std::getline(file, line))
    {
        Flow flow;
        char comma;
        std::istringstream cells(line);
        cells >> flow.start >> comma >> flow.source >> comma >> flow.destination >> comma >>
            flow.bytes >> comma >> flow.path;
        if (!cells)
            throw std::runtime_error(path + ": no flow: " + line);
        flows.push_back(flow);
    }
    return flows;
}

void
WriteFlows(const std::string& path, const Traffic& traffic)
{
    std::ofstream file(path);
    file << "flow,fct_ps,retransmits,timeouts\n";
    uint32_t number = 0;
    for (const Flow& flow : traffic.Flows())
    {
        file << number++ << ',' << flow.fct << ',' << flow.retransmits << ',' << flow.timeouts
             << '\n';
    }
}

void
WritePorts(const std::string& path, const Fabric& fabric)
{
    std::ofstream file(path);
    file << "name,packets,drops,marks,queue_mean_packets,all_packets,all_drops,all_marks\n";
    file << std::setprecision(9);
    for (const Fabric::Port& port : fabric.Ports())
    {
        const auto& window = port.queue->InWindow();
        const auto& all = port.queue->InAll();
        file << port.name << ',' << window.packets << ',' << window.drops << ',' << window.marks
             << ',' << port.queue->Mean() << ',' << all.packets << ',' << all.drops << ','
             << all.marks << '\n';
    }
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 5)
    {
        std::cerr << "usage: referee SPEC FLOWS OUT_FLOWS OUT_PORTS\n";
        return 2;
    }
    try
    {
        ns3::Time::SetResolution(ns3::Time::PS);
        const Spec spec = Spec::Read(argv[1]);
        ns3::RngSeedManager::SetSeed(spec.seed);
        Configure(spec);
        const Fabric fabric(spec);
        const Traffic traffic(fabric, spec.hosts(), ReadFlows(argv[2]));
        ns3::Simulator::Stop(ns3::PicoSeconds(spec.until));
        ns3::Simulator::Run();
        WriteFlows(argv[3], traffic);
        WritePorts(argv[4], fabric);
        // Sockets and devices are left to the end of the process.
    }
    catch (const std::exception& error)
    {
        std::cerr << "referee: " << error.what() << '\n';
        return 1;
    }
    return 0;
}
