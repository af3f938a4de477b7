// TAM's switch: short flows take the fastest path and stay, long flows' flowlets go where the fewest long flows
// are, and wherever a short flow is, the long ones are marked until it has gone.
//
// Huang, Zhang, Hu, Zou, Luan, Hu, Ruan, Zhang, "Coarse-Grained Load Balancing with Traffic-Aware Marking in
// Data Center Networks", 2022; cited by section, line of Algorithm 1 and table. The simulator's is
// crates/schemes/src/lb/tam with arithmetic = "p4". docs/hardware.md has the registers, and what differs from
// the paper.

#include <core.p4>
#include <v1model.p4>
#include "include/uplinks.p4"
#include "include/arithmetic.p4"
#include "include/dequeued.p4"

// What the egress pipeline has seen at ports towards hosts, by port: bytes and packets.
register<bit<32>>(512) host_dequeued_bytes;
register<bit<32>>(512) host_dequeued_packets;

struct metadata_t {
#include "include/metadata.p4"
    EACH_UPLINK(WAITING)
#define ROUTE(n)             \
    bit<64> per_byte_##n;    \
    bit<64> key_##n;         \
    bit<64> active_##n;      \
    bit<80> count_##n;
    EACH_UPLINK(ROUTE)
    bit<64> entries;
    bit<64> short_most;
    bit<64> gap;
    bit<64> forget;
    bit<64> rtt;
    bit<8> by_queueing;
    bit<32> salt;
    bool data;
    bool source_here;
    bit<64> place;
    bit<32> interval;
    bit<64> last_refresh;
    bit<48> seen;
    bit<32> bytes;
    bit<8> last;
    bool flowlet;
    bool counted;
    bool fresh;
    bit<32> counted_in;
    bool is_long;
    bit<64> least;
    bit<64> ties;
    bit<64> chosen;
    bit<64> waiting_bytes;
    bit<64> waiting_packets;
    bit<64> mark_long;
    bit<64> mark_short;
    bit<8> short_in_bytes;
}

#include "include/headers.p4"

control TamIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
#include "include/forwarding.p4"
#include "include/occupancy.p4"

    // Table 2: the latest packet (us), bytes seen, uplink from 1, signs (1: counted among its uplink's long
    // flows, 2: and not in the interval before), the interval of that. 48 + 32 + 8 + 8 + 32 bits.
    register<bit<128>>(65536) flow;

    // When the next refresh is (us), and how many there have been.
    register<bit<80>>(1) refresh;

    // Table 3, columns 2 and 3, of each uplink: the interval; long flows of the interval before, of this
    // one, and of this one that were not in the one before. 32 + 16 + 16 + 16 bits.
#define COUNTS(n) register<bit<80>>(1) count_##n;
    EACH_UPLINK(COUNTS)

    // Table 3, columns 4 and 5, by port: until when a short flow uses it (us).
    register<bit<48>>(512) short_until;

    // What was sent to ports towards hosts.
    register<bit<32>>(512) host_enqueued_bytes;
    register<bit<32>>(512) host_enqueued_packets;

    action set_flow_table(bit<64> entries, bit<64> short_most, bit<64> gap, bit<64> forget) {
        meta.entries = entries;
        meta.short_most = short_most;
        meta.gap = gap;
        meta.forget = forget;
    }

    table flow_table {
        actions = {
            set_flow_table;
        }
        default_action = set_flow_table(65536, 0, 0, 0);
    }

    action set_tam(bit<64> rtt, bit<8> by_queueing, bit<32> salt) {
        meta.rtt = rtt;
        meta.by_queueing = by_queueing;
        meta.salt = salt;
    }

    table tam_settings {
        actions = {
            set_tam;
        }
        default_action = set_tam(1, 0, 0);
    }

    action from_here() {
        meta.source_here = true;
    }

    table sources {
        key = {
            hdr.ipv4.source: exact;
        }
        actions = {
            from_here;
            NoAction;
        }
        default_action = NoAction();
        size = 1024;
    }

    // k* and K of a port.
    action set_thresholds(bit<64> long_bytes, bit<64> short_most, bit<8> in_bytes) {
        meta.mark_long = long_bytes;
        meta.mark_short = short_most;
        meta.short_in_bytes = in_bytes;
    }

    table thresholds {
        key = {
            standard.egress_spec: exact;
        }
        actions = {
            set_thresholds;
        }
        default_action = set_thresholds(0xffffffff, 0xffffffff, 1);
        size = 512;
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

    // A count is moved on to this interval: once, what was here is what was before; more often, nothing is left.
#define ROLL(n)                                                                                  \
    count_##n.read(meta.count_##n, 0);                                                           \
    if (meta.interval - meta.count_##n[79:48] == 1) {                                            \
        meta.count_##n = meta.interval ++ meta.count_##n[31:16] ++ 32w0;                         \
    } else if (meta.interval != meta.count_##n[79:48]) {                                         \
        meta.count_##n = meta.interval ++ 48w0;                                                  \
    }                                                                                            \
    meta.active_##n = (bit<64>)meta.count_##n[47:32] + (bit<64>)meta.count_##n[15:0];

#define IS_LIVE(n) ((meta.live >> n) & 1) == 1

    // Lines 6 to 14 and 19 to 28: what decides first is in the high bits.
#define MAKE_KEY(n)                                                                              \
    line_##n.apply();                                                                            \
    {                                                                                            \
        bit<64> delay = line_time(meta.bytes_##n, meta.per_byte_##n);                            \
        if (!(meta.is_long && meta.by_queueing == 1)) {                                          \
            delay = delay + meta.beyond_##n;                                                     \
        }                                                                                        \
        meta.key_##n = delay << 16 | meta.active_##n;                                            \
        if (meta.is_long) {                                                                      \
            meta.key_##n = meta.active_##n << 48 | delay;                                        \
        }                                                                                        \
    }
#define LEAST(n)                                                   \
    if (IS_LIVE(n) && meta.key_##n < meta.least) {                 \
        meta.least = meta.key_##n;                                 \
        meta.ties = 0;                                             \
    }                                                              \
    if (IS_LIVE(n) && meta.key_##n == meta.least) {                \
        meta.ties = meta.ties + 1;                                 \
    }
#define CHOOSE(n)                                                  \
    if (IS_LIVE(n) && meta.key_##n == meta.least) {                \
        if (meta.chosen == 0) {                                    \
            meta.uplink = n;                                       \
        }                                                          \
        meta.chosen = meta.chosen - 1;                             \
    }

    // The hash's region of live uplinks.
#define CHOOSE_LIVE(n)                                             \
    if (IS_LIVE(n)) {                                              \
        if (meta.chosen == 0) {                                    \
            meta.uplink = n;                                       \
        }                                                          \
        meta.chosen = meta.chosen - 1;                             \
    }

    // The flow was counted at uplink `n` and has left it.
#define LEAVE(n)                                                                                 \
    if (meta.last == n + 1 && meta.counted) {                                                    \
        if (meta.interval == meta.counted_in) {                                                  \
            bit<16> before_##n = meta.count_##n[47:32];                                          \
            bit<16> fresh_##n = meta.count_##n[15:0];                                            \
            if (meta.fresh) {                                                                    \
                fresh_##n = fresh_##n |-| 1;                                                     \
            } else {                                                                             \
                before_##n = before_##n |-| 1;                                                   \
            }                                                                                    \
            meta.count_##n = meta.interval ++ before_##n ++ (meta.count_##n[31:16] |-| 1)        \
                ++ fresh_##n;                                                                    \
        } else if (meta.interval - meta.counted_in == 1) {                                       \
            meta.count_##n = meta.interval ++ (meta.count_##n[47:32] |-| 1)                      \
                ++ meta.count_##n[31:0];                                                         \
        }                                                                                        \
    }

    // A long flow sends by uplink `n`: it is counted once an interval.
#define JOIN(n)                                                                                  \
    if (meta.uplink == n && !(meta.counted && meta.counted_in == meta.interval)) {               \
        meta.fresh = !(meta.counted && meta.interval - meta.counted_in == 1);                    \
        bit<16> more_##n = meta.fresh ? 16w1 : 16w0;                                             \
        meta.count_##n = meta.interval ++ meta.count_##n[47:32]                                  \
            ++ (meta.count_##n[31:16] |+| 1) ++ (meta.count_##n[15:0] |+| more_##n);             \
        meta.counted = true;                                                                     \
        meta.counted_in = meta.interval;                                                         \
    }

#define KEEP_COUNT(n) count_##n.write(0, meta.count_##n);

#define TAKE_WAITING(n)                              \
    if (meta.uplink == n) {                          \
        meta.waiting_bytes = meta.bytes_##n;         \
        meta.waiting_packets = meta.packets_##n;     \
    }

    apply {
        if (!(FORWARDABLE)) {
            drop();
            exit;
        }
        read_clock();
        READ_PORTS
        tam_settings.apply();
        flow_table.apply();
        sources.apply();
        // Line 2: only data is TAM's.
        bit<16> headers = ((bit<16>)hdr.ipv4.words + (bit<16>)hdr.tcp.words) << 2;
        meta.data = hdr.tcp.isValid() && hdr.ipv4.total > headers;

        // A packet arrives, is sent somewhere and queued, in one go; a replay does of it what the vector names.
        bool arrives = true;
        bool picks = true;
        bool admits = true;
#ifdef REPLAY
        arrives = hdr.replay.kind[0:0] == 1;
        picks = hdr.replay.kind[1:1] == 1;
        admits = hdr.replay.kind[2:2] == 1;
#endif

        if (meta.data) {
            // §2.8: refreshes, once an RTT. Of several that are due two are enough.
            bit<80> refreshes;
            refresh.read(refreshes, 0);
            bit<64> next = (bit<64>)refreshes[79:32];
            meta.interval = refreshes[31:0];
            if (next == 0) {
                next = meta.rtt;
            }
            if (arrives && meta.now >= next) {
                if (meta.now - next < meta.rtt) {
                    meta.interval = meta.interval + 1;
                    next = next + meta.rtt;
                } else {
                    meta.interval = meta.interval + 2;
                    next = meta.now + meta.rtt;
                }
            }
            refresh.write(0, next[47:0] ++ meta.interval);
            meta.last_refresh = next - meta.rtt;

            hash(meta.place, HashAlgorithm.crc32, 64w0,
                { 32w0, TUPLE }, 64w0x100000000);
            meta.place = place32(meta.place, meta.entries);
            bit<128> entry;
            flow.read(entry, (bit<32>)meta.place);
            if (arrives && above(meta.last_refresh, (bit<64>)entry[127:80]) > meta.forget) {
                entry = 0;
            }
            meta.seen = entry[127:80];
            meta.bytes = entry[79:48];
            meta.flowlet = meta.now - (bit<64>)meta.seen > meta.gap;
            if (arrives) {
                meta.bytes = meta.bytes |+| (bit<32>)hdr.ipv4.total;
                meta.seen = meta.now[47:0];
            }
            meta.last = entry[47:40];
            meta.counted = entry[32:32] == 1;
            meta.fresh = entry[33:33] == 1;
            meta.counted_in = entry[31:0];
            meta.is_long = (bit<64>)meta.bytes > meta.short_most;
            EACH_UPLINK(ROLL)
        }
        EACH_UPLINK(READ_WAITING)

        if (picks) {
            hosts.apply();
        } else {
#ifdef REPLAY
            standard.egress_spec = (bit<9>)hdr.replay.port;
            meta.below = hdr.replay.uplink == 0;
            meta.uplink = hdr.replay.uplink - 1;
#endif
        }
        if (meta.below) {
            meta.uplink = 0xff;
        } else if (picks) {
            APPLY_PATHS
            if (meta.data && meta.source_here) {
                bool stays = meta.last != 0 && ((meta.live >> (meta.last - 1)) & 1) == 1;
                if (stays && !(meta.is_long && meta.flowlet)) {
                    // Lines 15, 16, 29 and 30.
                    meta.uplink = meta.last - 1;
                } else {
                    EACH_UPLINK(MAKE_KEY)
                    meta.least = 0xffffffffffffffff;
                    EACH_UPLINK(LEAST)
                    meta.chosen = draw(meta.random, meta.ties);
                    EACH_UPLINK(CHOOSE)
                }
            } else {
                EACH_UPLINK(COUNT_LIVE)
                hash(meta.chosen, HashAlgorithm.crc32, 64w0,
                    { meta.salt, TUPLE }, 64w0x100000000);
                meta.chosen = place32(meta.chosen, meta.paths);
                EACH_UPLINK(CHOOSE_LIVE)
            }
            uplink_port.apply();
        }

        // What waits at the port that the packet takes.
        bit<32> port = (bit<32>)standard.egress_spec;
        if (meta.below) {
            bit<32> in_bytes;
            bit<32> in_packets;
            bit<32> out_bytes;
            bit<32> out_packets;
            host_enqueued_bytes.read(in_bytes, port);
            host_enqueued_packets.read(in_packets, port);
            host_dequeued_bytes.read(out_bytes, port);
            host_dequeued_packets.read(out_packets, port);
            meta.waiting_bytes = (bit<64>)(in_bytes - out_bytes);
            meta.waiting_packets = (bit<64>)(in_packets - out_packets);
#ifndef REPLAY
            host_enqueued_bytes.write(port, in_bytes + (bit<32>)hdr.ipv4.total);
            host_enqueued_packets.write(port, in_packets + 1);
#endif
        } else {
            EACH_UPLINK(TAKE_WAITING)
#ifndef REPLAY
            EACH_UPLINK(COUNT_ENQUEUED)
#endif
        }

#ifdef REPLAY
        meta.waiting_packets = (bit<64>)hdr.replay.found;
        meta.waiting_bytes = (bit<64>)hdr.replay.left;
#endif

        if (meta.data) {
            // Lines 32 to 38, by Table 1.
            if (admits) {
                thresholds.apply();
                bit<48> until;
                short_until.read(until, port);
                bool mark = false;
                if (meta.is_long) {
                    mark = meta.now < (bit<64>)until || meta.waiting_bytes >= meta.mark_long;
                } else {
                    until = meta.now[47:0] + meta.rtt[47:0];
                    mark = meta.waiting_packets >= meta.mark_short;
                    if (meta.short_in_bytes == 1) {
                        mark = meta.waiting_bytes >= meta.mark_short;
                    }
                }
                short_until.write(port, until);
                if (mark && hdr.ipv4.ecn != 0) {
                    hdr.ipv4.ecn = 3;
                }
            }
            // Line 40: the flow is where its packet goes, and nowhere else.
            bit<8> taken = meta.below ? 8w0 : meta.uplink + 1;
            if (!picks && !admits) {
                taken = meta.last;
            }
            if (meta.last != taken) {
                EACH_UPLINK(LEAVE)
                meta.counted = false;
            }
            if (meta.is_long && (picks || admits)) {
                EACH_UPLINK(JOIN)
            }
            EACH_UPLINK(KEEP_COUNT)
            bit<8> signs = 0;
            if (meta.counted) {
                signs = 1;
                if (meta.fresh) {
                    signs = 3;
                }
            }
            flow.write((bit<32>)meta.place, meta.seen ++ meta.bytes ++ taken ++ signs ++ meta.counted_in);
        }
    }
}

control TamEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
// In a replay what waits is what the vector says.
#ifdef REPLAY
    apply {
    }
#else
    bit<8> uplink = 0;

    action set_uplink(bit<8> number) {
        uplink = number + 1;
    }

    table dequeues {
        key = {
            standard.egress_port: exact;
        }
        actions = {
            set_uplink;
            NoAction;
        }
        default_action = NoAction();
        size = 16;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (dequeues.apply().hit) {
                EACH_UPLINK(COUNT_DEQUEUED)
            } else {
                bit<32> bytes;
                bit<32> packets;
                host_dequeued_bytes.read(bytes, (bit<32>)standard.egress_port);
                host_dequeued_bytes.write((bit<32>)standard.egress_port, bytes + (bit<32>)hdr.ipv4.total);
                host_dequeued_packets.read(packets, (bit<32>)standard.egress_port);
                host_dequeued_packets.write((bit<32>)standard.egress_port, packets + 1);
            }
        }
    }
#endif
}

V1Switch(SwitchParser(), SwitchVerify(), TamIngress(), TamEgress(), SwitchUpdate(), SwitchDeparser()) main;
