// What waits at each uplink, as the ingress pipeline can know it: what it has sent there, less what the egress
// pipeline has seen. Counters of 32 bits that wrap, bytes and packets; each is read and written once a packet.

#define ENQUEUED(n) register<bit<32>>(1) enqueued_bytes_##n; register<bit<32>>(1) enqueued_packets_##n;

    EACH_UPLINK(ENQUEUED)

    // Waiting is a difference modulo 2^32.
#define READ_WAITING(n)                                                  \
    {                                                                    \
        bit<32> in_bytes;                                                \
        bit<32> in_packets;                                              \
        bit<32> out_bytes;                                               \
        bit<32> out_packets;                                             \
        enqueued_bytes_##n.read(in_bytes, 0);                            \
        enqueued_packets_##n.read(in_packets, 0);                        \
        dequeued_bytes_##n.read(out_bytes, 0);                           \
        dequeued_packets_##n.read(out_packets, 0);                       \
        meta.bytes_##n = (bit<64>)(in_bytes - out_bytes);                \
        meta.packets_##n = (bit<64>)(in_packets - out_packets);          \
        meta.in_bytes_##n = in_bytes;                                    \
        meta.in_packets_##n = in_packets;                                \
    }

    // The packet is sent to uplink `n`.
#define COUNT_ENQUEUED(n)                                                            \
    if (meta.uplink == n) {                                                          \
        enqueued_bytes_##n.write(0, meta.in_bytes_##n + (bit<32>)hdr.ipv4.total);    \
        enqueued_packets_##n.write(0, meta.in_packets_##n + 1);                      \
    }
