// What the ingress pipeline of every program keeps of a packet; #included in metadata_t.

#define BEYOND(n) bit<64> beyond_##n;

    bool below;
    bit<16> live;
    bit<64> paths;
    bit<8> uplink;
    bit<64> now;
    bit<64> random;
    bit<16> source_port;
    bit<16> destination_port;
    EACH_UPLINK(BEYOND)
