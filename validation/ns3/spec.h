// What a case is: fabric, port, transport and measurement window, read from lines of `key value`.
//
// The file is written by validation/cases.py from a scenario that leafspine has resolved, so that
// both simulators read the same numbers. Times are picoseconds, rates bits per second.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

struct Spec
{
    // Fabric: a leaf-spine, or with no spines a star whose one switch is `switch0`.
    uint32_t leaves = 1;
    uint32_t spines = 0;
    uint32_t hostsPerLeaf = 2;
    uint64_t hostRate = 0;
    int64_t hostDelay = 0;
    int64_t hostJitter = 0; // see jitter_device.h
    uint64_t fabricRate = 0;
    int64_t fabricDelay = 0;
    std::map<std::string, uint64_t> slowLinks; // "leaf0-spine3" -> rate

    // Ports: as ns-3 writes a queue's size ("256p", "375000B").
    std::string buffer = "256p";
    uint32_t markFrom = 0; // packets that wait; 0: nothing is marked

    // Transport.
    std::string control = "newreno"; // see referee.cc
    uint32_t mss = 1458;
    uint32_t initCwnd = 10; // segments
    int64_t minRto = 0;
    int64_t initialRto = 0;
    int64_t delayedAck = 0; // 0: every segment is acknowledged
    bool sack = true;
    bool limitedTransmit = true;
    double alpha = 1.0;
    double g = 0.0625;

    // Ports are measured between these; the run ends at `until` at the latest.
    int64_t windowStart = 0;
    int64_t windowEnd = 0;
    int64_t until = 0;

    uint32_t seed = 1; // of ns-3's random numbers

    bool star() const { return spines == 0; }
    uint32_t hosts() const { return leaves * hostsPerLeaf; }
    uint32_t paths() const { return star() ? 1 : spines; }

    static Spec Read(const std::string& path);

  private:
    void Set(const std::string& key, std::istringstream& value);
};

inline Spec
Spec::Read(const std::string& path)
{
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error(path + ": cannot be read");
    Spec spec;
    std::string line;
    while (std::getline(file, line))
    {
        std::istringstream words(line);
        std::string key;
        if (!(words >> key))
            continue;
        spec.Set(key, words);
        if (words.fail())
            throw std::runtime_error(path + ": no value for " + key);
    }
    return spec;
}

inline void
Spec::Set(const std::string& key, std::istringstream& value)
{
    if (key == "leaves") value >> leaves;
    else if (key == "spines") value >> spines;
    else if (key == "hosts_per_leaf") value >> hostsPerLeaf;
    else if (key == "host_rate") value >> hostRate;
    else if (key == "host_delay") value >> hostDelay;
    else if (key == "host_jitter") value >> hostJitter;
    else if (key == "seed") value >> seed;
    else if (key == "fabric_rate") value >> fabricRate;
    else if (key == "fabric_delay") value >> fabricDelay;
    else if (key == "buffer") value >> buffer;
    else if (key == "mark_from") value >> markFrom;
    else if (key == "control") value >> control;
    else if (key == "mss") value >> mss;
    else if (key == "init_cwnd") value >> initCwnd;
    else if (key == "min_rto") value >> minRto;
    else if (key == "initial_rto") value >> initialRto;
    else if (key == "delayed_ack") value >> delayedAck;
    else if (key == "sack") value >> sack;
    else if (key == "limited_transmit") value >> limitedTransmit;
    else if (key == "alpha") value >> alpha;
    else if (key == "g") value >> g;
    else if (key == "window_start") value >> windowStart;
    else if (key == "window_end") value >> windowEnd;
    else if (key == "until") value >> until;
    else if (key == "slow")
    {
        std::string link;
        uint64_t rate = 0;
        value >> link >> rate;
        slowLinks[link] = rate;
    }
    else
        throw std::runtime_error("unknown key " + key);
}
