// The egress pipeline's half of the occupancies, outside both pipelines' controls: on BMv2 a register may be
// written in one and read in the other. docs/hardware.md says what a target does that has no such registers.

#define DEQUEUED(n) register<bit<32>>(1) dequeued_bytes_##n; register<bit<32>>(1) dequeued_packets_##n;

EACH_UPLINK(DEQUEUED)

#define WAITING(n)           \
    bit<64> bytes_##n;       \
    bit<64> packets_##n;     \
    bit<32> in_bytes_##n;    \
    bit<32> in_packets_##n;

#define COUNT_DEQUEUED(n)                                                   \
    if (uplink == n + 1) {                                                  \
        bit<32> bytes_##n;                                                  \
        bit<32> packets_##n;                                                \
        dequeued_bytes_##n.read(bytes_##n, 0);                              \
        dequeued_bytes_##n.write(0, bytes_##n + (bit<32>)hdr.ipv4.total);   \
        dequeued_packets_##n.read(packets_##n, 0);                          \
        dequeued_packets_##n.write(0, packets_##n + 1);                     \
    }
