// QDAPS: each packet takes the shortest queue that does not let it overtake the packet before it.
//
// Huang, Lv, Li, Wang, He, "QDAPS: Queueing Delay Aware Packet Spraying for Load Balancing in Data Center";
// cited by section and equation. The simulator's is crates/schemes/src/lb/qdaps with arithmetic = "p4".
// docs/hardware.md has the registers, and what differs from the paper.

#include <core.p4>
#include <v1model.p4>
#include "include/uplinks.p4"
#include "include/arithmetic.p4"
#include "include/dequeued.p4"

struct metadata_t {
#include "include/metadata.p4"
    EACH_UPLINK(WAITING)
#define LOOK(n)              \
    bit<64> per_byte_##n;    \
    bit<64> delay_##n;       \
    bit<64> length_##n;      \
    bool keeps_##n;
    EACH_UPLINK(LOOK)
    bit<64> entries;
    bit<64> every;
    bit<8> strict;
    bit<8> by_delay;
    bit<64> place;
    bit<32> sent;
    bool ordered;
    bit<8> last;
    bit<64> remaining;
    bit<64> least;
    bit<64> ties;
    bit<64> chosen;
    bit<64> chosen_bytes;
    bit<64> chosen_packets;
    bit<64> chosen_delay;
    bit<64> most;
    bit<8> in_bytes;
    bool rerouted;
}

#include "include/headers.p4"
#include "include/egress.p4"

control QdapsIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
#include "include/forwarding.p4"
#include "include/occupancy.p4"

    // The flow table (§III-D): until when the last packet is on its way, in 1/1024 us; in which sweep's
    // interval it came; bytes sent; its uplink from 1. 64 + 32 + 32 + 8 bits.
    register<bit<136>>(65536) flow;

    // When the next sweep is (us), and how many there have been.
    register<bit<80>>(1) sweep;

    action set_flow_table(bit<64> entries, bit<64> every, bit<8> strict, bit<8> by_delay) {
        meta.entries = entries;
        meta.every = every;
        meta.strict = strict;
        meta.by_delay = by_delay;
    }

    table flow_table {
        actions = {
            set_flow_table;
        }
        default_action = set_flow_table(65536, 1, 0, 0);
    }

    // A byte's time on each uplink's line.
#define LINE(n)                                      \
    action set_line_##n(bit<64> per_byte) {          \
        meta.per_byte_##n = per_byte;                \
    }                                                \
    table line_##n {                                 \
        actions = { set_line_##n; }                  \
        default_action = set_line_##n(0);            \
    }
    EACH_UPLINK(LINE)

    // Eq. 14: S, by what the flow has sent. Small flows and rerouting that is off have no entry.
    action set_threshold(bit<64> most, bit<8> in_bytes) {
        meta.most = most;
        meta.in_bytes = in_bytes;
    }

    table reroute {
        key = {
            meta.sent: range;
        }
        actions = {
            set_threshold;
            NoAction;
        }
        default_action = NoAction();
        size = 256;
    }

    // Eq. 1 of one uplink, and whether the packet stays behind the one before it (eq. 2).
#define LOOK_AT(n)                                                                             \
    line_##n.apply();                                                                          \
    READ_WAITING(n)                                                                            \
    meta.delay_##n = line_time(meta.bytes_##n + (bit<64>)hdr.ipv4.total, meta.per_byte_##n);   \
    meta.length_##n = meta.by_delay == 1 ? meta.delay_##n : meta.bytes_##n;                    \
    meta.keeps_##n = !meta.ordered || meta.last == n + 1 || meta.delay_##n > meta.remaining;

#define IS_LIVE(n) ((meta.live >> n) & 1) == 1

    // The least length of live uplinks, how many have it, and the one that the random number picks: first of
    // those that keep the order, then of all.
#define LEAST(n)                                                             \
    if (IS_LIVE(n) && meta.keeps_##n && meta.length_##n < meta.least) {      \
        meta.least = meta.length_##n;                                        \
        meta.ties = 0;                                                       \
    }                                                                        \
    if (IS_LIVE(n) && meta.keeps_##n && meta.length_##n == meta.least) {     \
        meta.ties = meta.ties + 1;                                           \
    }
#define CHOOSE(n)                                                            \
    if (IS_LIVE(n) && meta.keeps_##n && meta.length_##n == meta.least) {     \
        if (meta.chosen == 0) {                                              \
            meta.uplink = n;                                                 \
            meta.chosen_bytes = meta.bytes_##n;                              \
            meta.chosen_packets = meta.packets_##n;                          \
            meta.chosen_delay = meta.delay_##n;                              \
        }                                                                    \
        meta.chosen = meta.chosen - 1;                                       \
    }
#define FREE_ALL(n) meta.keeps_##n = true;

    apply {
        if (!(FORWARDABLE)) {
            drop();
            exit;
        }
        read_clock();
        READ_PORTS
        hosts.apply();
        if (!meta.below) {
            APPLY_PATHS
            flow_table.apply();
            // Sweeps that are due. Of several two are enough: all that is idle is removed by two.
            bit<80> sweeps;
            sweep.read(sweeps, 0);
            bit<64> next = (bit<64>)sweeps[79:32];
            bit<32> done = sweeps[31:0];
            if (next == 0) {
                next = meta.every;
            }
            if (meta.now >= next) {
                if (meta.now - next < meta.every) {
                    done = done + 1;
                    next = next + meta.every;
                } else {
                    done = done + 2;
                    next = meta.now + meta.every;
                }
            }
            sweep.write(0, next[47:0] ++ done);
            // The flow's number is its CRC-16.
            hash(meta.place, HashAlgorithm.crc16, 64w0,
                { TUPLE }, 64w0x10000);
            meta.place = place16(meta.place, meta.entries);
            bit<136> entry;
            flow.read(entry, (bit<32>)meta.place);
            bit<64> departs = entry[135:72];
            meta.last = entry[7:0];
            if (meta.last != 0 && done - entry[71:40] >= 2
                && (meta.strict == 1 || departs <= fine(next - meta.every))) {
                meta.last = 0;
            }
            if (meta.last != 0) {
                meta.sent = entry[39:8];
                meta.remaining = above(departs, fine(meta.now));
                meta.ordered = meta.remaining > 0 && ((meta.live >> (meta.last - 1)) & 1) == 1;
            }
            EACH_UPLINK(LOOK_AT)
            meta.least = 0xffffffffffffffff;
            EACH_UPLINK(LEAST)
            meta.chosen = draw(meta.random, meta.ties);
            EACH_UPLINK(CHOOSE)
            if (meta.ordered) {
                // §III-C: beyond S a large flow takes the shortest queue of all.
                if (reroute.apply().hit) {
                    if (meta.in_bytes == 1) {
                        meta.rerouted = meta.chosen_bytes > meta.most;
                    } else {
                        meta.rerouted = meta.chosen_packets > meta.most;
                    }
                }
                if (meta.rerouted) {
                    EACH_UPLINK(FREE_ALL)
                    meta.least = 0xffffffffffffffff;
                    EACH_UPLINK(LEAST)
                    meta.chosen = draw(meta.random, meta.ties);
                    EACH_UPLINK(CHOOSE)
                }
            }
            flow.write((bit<32>)meta.place, (fine(meta.now) + meta.chosen_delay) ++ done
                ++ (meta.sent |+| (bit<32>)hdr.ipv4.total) ++ (meta.uplink + 1));
#ifndef REPLAY
            EACH_UPLINK(COUNT_ENQUEUED)
#endif
            uplink_port.apply();
        }
    }
}

V1Switch(SwitchParser(), SwitchVerify(), QdapsIngress(), CountingEgress(), SwitchUpdate(), SwitchDeparser()) main;
