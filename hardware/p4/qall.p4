// QALL: a port at random, the likelier the less congested its queue's behaviour says it is.
//
// Liu, Cai, Ling, Zhang, Chen, "QALL: Distributed Queue-Behavior-Aware Load Balancing Using Programmable Data
// Planes", IEEE TNSM 21(2), 2024; cited by algorithm, line, equation and figure. All variants: per packet and per
// flowlet, eq. 4 and the fits of eqs. 8 to 10. The simulator's is crates/schemes/src/lb/qall with
// arithmetic = "p4". docs/hardware.md has the registers, and what differs from the paper.

#include <core.p4>
#include <v1model.p4>
#include "include/uplinks.p4"
#include "include/arithmetic.p4"

// What goes with a packet to its clone, and with the clone to the ingress pipeline.
const bit<8> LIST_STATE = 1;
// The mirroring session of clones: the control plane gives it a loop-back port.
const bit<32> SESSION = 1;

struct metadata_t {
#include "include/metadata.p4"
#define WEIGHT(n) bit<64> weight_##n;
    EACH_UPLINK(WEIGHT)
    bit<64> total;
    bit<64> cell;
    bit<64> most;
    bit<64> tau;
    bool fitted;
    bit<64> from;
    bit<64> to;
    bit<64> step;
    bit<64> c0;
    bit<64> cl;
    bit<64> ct;
    bit<64> cll;
    bit<64> clt;
    bit<64> ctt;
    bit<64> clll;
    bit<64> cllt;
    bit<64> cltt;
    bit<64> cttt;
    bit<64> known;
    bit<64> occupancy;
    bit<64> l;
    bit<8> by_flowlet;
    bit<64> entries;
    bit<64> gap;
    bit<64> place;
    @field_list(LIST_STATE)
    bit<16> state_occupancy;
    @field_list(LIST_STATE)
    bit<48> state_interval;
    @field_list(LIST_STATE)
    bit<8> state_trend;
    @field_list(LIST_STATE)
    bit<8> state_port;
}

#include "include/headers.p4"

control QallIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
#include "include/forwarding.p4"

    // What clones have brought of each uplink: L in 8 bits, V in 8, T in 48.
#define BEHAVIOUR(n) register<bit<64>>(1) behaviour_##n;
    EACH_UPLINK(BEHAVIOUR)

    // A flowlet's last packet in 48 bits (us), and its uplink from 1 in 16.
    register<bit<64>>(65536) flowlet;

    action derived(bit<64> most, bit<64> tau) {
        meta.most = most;
        meta.tau = tau;
    }

    action fitted(bit<64> most, bit<64> from, bit<64> to, bit<64> step, bit<64> c0, bit<64> cl, bit<64> ct,
                  bit<64> cll, bit<64> clt, bit<64> ctt, bit<64> clll, bit<64> cllt, bit<64> cltt,
                  bit<64> cttt) {
        meta.fitted = true;
        meta.most = most;
        meta.from = from;
        meta.to = to;
        meta.step = step;
        meta.c0 = c0;
        meta.cl = cl;
        meta.ct = ct;
        meta.cll = cll;
        meta.clt = clt;
        meta.ctt = ctt;
        meta.clll = clll;
        meta.cllt = cllt;
        meta.cltt = cltt;
        meta.cttt = cttt;
    }

    table index {
        actions = {
            derived;
            fitted;
        }
        default_action = derived(0, 0);
    }

    action set_flowlets(bit<8> by_flowlet, bit<64> entries, bit<64> gap) {
        meta.by_flowlet = by_flowlet;
        meta.entries = entries;
        meta.gap = gap;
    }

    table flowlets {
        actions = {
            set_flowlets;
        }
        default_action = set_flowlets(0, 65536, 0);
    }

    action set_l(bit<64> l) {
        meta.l = l;
    }

    // The normalised L of the fits: a table for each uplink, since a table is applied once a packet.
#define NORMALISED(n)                        \
    table normalised_occupancy_##n {         \
        key = { meta.occupancy: exact; }     \
        actions = { set_l; }                 \
        default_action = set_l(0);           \
        size = 128;                          \
    }
    EACH_UPLINK(NORMALISED)

    // Eq. 6, W = Cmax - C, of one uplink; nothing for one that is not live. `total` is line 3's W_total.
#define WEIGH(n)                                                                                  \
    behaviour_##n.read(meta.known, 0);                                                            \
    if (((meta.live >> n) & 1) == 1) {                                                              \
        meta.occupancy = meta.known >> 56;                                                        \
        if (meta.fitted) {                                                                        \
            normalised_occupancy_##n.apply();                                                     \
            bit<64> t_##n = normalised(meta.known & 0xffffffffffff, meta.from, meta.to,           \
                                       meta.step);                                                \
            meta.weight_##n = meta.most - fitted_index(meta.l, t_##n, meta.c0, meta.cl, meta.ct,  \
                meta.cll, meta.clt, meta.ctt, meta.clll, meta.cllt, meta.cltt, meta.cttt);        \
        } else {                                                                                  \
            meta.weight_##n = meta.most - derived_index(meta.occupancy,                           \
                meta.known & 0xffffffffffff, (meta.known >> 48) & 0xff, meta.tau);                \
        }                                                                                         \
        meta.total = meta.total + meta.weight_##n;                                                \
    }

    // Line 5: whose cell it is. `uplink` counts from 1; 0 while none has been found.
#define FIND_CELL(n)                                               \
    if (meta.uplink == 0) {                                        \
        if (meta.cell < meta.weight_##n) {                         \
            meta.uplink = n + 1;                                   \
        } else {                                                   \
            meta.cell = meta.cell - meta.weight_##n;               \
        }                                                          \
    }

    // Without any weight all live uplinks are alike.
#define EVEN(n) meta.weight_##n = (bit<64>)((meta.live >> n) & 1);

    // Algorithm 1, lines 1 to 3: a clone's contents become the ingress pipeline's, and it ends.
#define RECEIVE(n)                                                                             \
    if (meta.uplink == n) {                                                                    \
        behaviour_##n.write(0, (bit<64>)hdr.state.occupancy[7:0] << 56                         \
            | (bit<64>)hdr.state.trend << 48 | (bit<64>)hdr.state.interval);                   \
    }

    // A port's number to that of its uplink.
    action set_uplink(bit<8> uplink) {
        meta.uplink = uplink;
    }

    table port_uplink {
        key = {
            hdr.state.port: exact;
        }
        actions = {
            set_uplink;
            drop;
        }
        default_action = drop();
        size = 16;
    }

    apply {
        if (hdr.state.isValid()) {
            meta.uplink = 0xff;
            port_uplink.apply();
            EACH_UPLINK(RECEIVE)
#ifdef REPLAY
            standard.egress_spec = 0;
#else
            drop();
#endif
            exit;
        }
        if (!(FORWARDABLE)) {
            drop();
            exit;
        }
        read_clock();
        READ_PORTS
#ifdef REPLAY
        if (hdr.replay.kind[3:3] == 1) {
            standard.egress_spec = (bit<9>)hdr.replay.port;
            exit;
        }
#endif
        hosts.apply();
        if (!meta.below) {
            APPLY_PATHS
            index.apply();
            flowlets.apply();
            // Algorithm 2.
            EACH_UPLINK(WEIGH)
            if (meta.total == 0) {
                EACH_UPLINK(EVEN)
                EACH_UPLINK(COUNT_LIVE)
                meta.total = meta.paths;
            }
            meta.cell = draw(meta.random, meta.total);
            EACH_UPLINK(FIND_CELL)
            // Algorithm 1, lines 11 to 20: a flowlet that is under way keeps its uplink while that is live.
            if (meta.by_flowlet == 1) {
                hash(meta.place, HashAlgorithm.crc32, 64w0,
                    { 32w0, TUPLE }, 64w0x100000000);
                meta.place = place32(meta.place, meta.entries);
                bit<64> entry;
                flowlet.read(entry, (bit<32>)meta.place);
                bit<8> kept = entry[7:0];
                bit<64> last = entry >> 16;
                if (kept != 0 && meta.now - last <= meta.gap && ((meta.live >> (kept - 1)) & 1) == 1) {
                    meta.uplink = kept;
                }
                flowlet.write((bit<32>)meta.place, meta.now << 16 | (bit<64>)meta.uplink);
            }
            meta.uplink = meta.uplink - 1;
            uplink_port.apply();
        }
    }
}

control QallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    // Algorithm 3's registers, by port: the last dequeue, the last that returned state (us); what the
    // packet before found in 32 bits with V in 8; L that was returned last with V.
    register<bit<64>>(512) dequeued;
    register<bit<64>>(512) returned;
    register<bit<40>>(512) found;
    register<bit<16>>(512) told;

    bit<64> per_unit = 0;
    bit<64> tau = 0;
    bit<64> update_period = 0;
    bit<8> grows = 1;
    bit<8> by_packet = 0;
    bit<8> at_dequeue = 0;

    action set_collection(bit<64> buffer_unit, bit<64> longest, bit<64> period, bit<8> growth, bit<8> packets,
                          bit<8> leaving) {
        per_unit = buffer_unit;
        tau = longest;
        update_period = period;
        grows = growth;
        by_packet = packets;
        at_dequeue = leaving;
    }

    table collection {
        actions = {
            set_collection;
        }
        default_action = set_collection(0, 0, 0xffffffffffff, 1, 0, 0);
    }

    // Only ports among which there is a choice are looked at.
    action collect() {
    }

    table collects {
        key = {
            standard.egress_port: exact;
        }
        actions = {
            collect;
            NoAction;
        }
        default_action = NoAction();
        size = 16;
    }

    apply {
        if (standard.instance_type == 2) {
            // The clone: nothing of the packet goes back but the ten bytes of Fig. 6.
            hdr.replay.setInvalid();
            hdr.ipv4.setInvalid();
            hdr.ipv4_options.setInvalid();
            hdr.tcp.setInvalid();
            hdr.ethernet.ether_type = TYPE_STATE;
            hdr.state.setValid();
            hdr.state.occupancy = meta.state_occupancy;
            hdr.state.interval = meta.state_interval;
            hdr.state.trend = meta.state_trend;
            hdr.state.port = meta.state_port;
            truncate(24);
            // A replay takes it off the loop-back port and brings it back after the vector's clone_delay.
#ifndef REPLAY
            // With no field: what the clone says is in its header.
            recirculate_preserving_field_list(0);
#endif
            exit;
        }
        // Algorithm 3, line 1.
        bit<64> now = (bit<64>)standard.egress_global_timestamp;
        bit<64> enqueued = (bit<64>)standard.enq_qdepth;
        bit<64> left = (bit<64>)standard.deq_qdepth;
        bool wanted = hdr.ipv4.isValid();
#ifdef REPLAY
        wanted = false;
        if (hdr.replay.isValid()) {
            now = (bit<64>)hdr.replay.now;
            enqueued = (bit<64>)hdr.replay.found;
            left = (bit<64>)hdr.replay.left;
            wanted = hdr.ipv4.isValid() && hdr.replay.kind[3:3] == 1;
        }
#endif
        if (wanted && collects.apply().hit) {
            collection.apply();
            bit<32> port = (bit<32>)standard.egress_port;
            // T: between the last two dequeues, at most tau; tau before the second. A register that was
            // never written is 0, so times are kept from 1.
            bit<64> before;
            dequeued.read(before, port);
            dequeued.write(port, now + 1);
            bit<64> interval = tau;
            if (before != 0) {
                interval = smaller(now + 1 - before, tau);
            }
            // V since the packet before.
            bit<40> was;
            found.read(was, port);
            bit<8> trend = was[7:0];
            if (trend == 0) {
                trend = 1;
            }
            if (enqueued > (bit<64>)was[39:8]) {
                trend = grows;
            } else if (enqueued < (bit<64>)was[39:8]) {
                trend = 1;
            }
            found.write(port, enqueued[31:0] ++ trend);
            // Algorithm 3, lines 3 to 8.
            bit<64> last;
            returned.read(last, port);
            if (now - last > update_period) {
                returned.write(port, now);
                bit<64> waiting = enqueued;
                if (at_dequeue == 1) {
                    waiting = left;
                }
                bit<8> occupancy = percent(waiting, per_unit)[7:0];
                // V since the return before.
                bit<16> before_return;
                told.read(before_return, port);
                if (by_packet == 0) {
                    trend = before_return[7:0];
                    if (trend == 0) {
                        trend = 1;
                    }
                    if (occupancy > before_return[15:8]) {
                        trend = grows;
                    } else if (occupancy < before_return[15:8]) {
                        trend = 1;
                    }
                }
                told.write(port, occupancy ++ trend);
                meta.state_occupancy = (bit<16>)occupancy;
                meta.state_interval = interval[47:0];
                meta.state_trend = trend;
                meta.state_port = standard.egress_port[7:0];
                clone_preserving_field_list(CloneType.E2E, SESSION, LIST_STATE);
#ifdef REPLAY
                // Who replays waits for the clone.
                if (hdr.replay.isValid()) {
                    hdr.replay.random = 1;
                }
#endif
            }
        }
    }
}

V1Switch(SwitchParser(), SwitchVerify(), QallIngress(), QallEgress(), SwitchUpdate(), SwitchDeparser()) main;
