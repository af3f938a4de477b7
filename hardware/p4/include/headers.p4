// What the programs parse and send: Ethernet, IPv4 with options, TCP; the clone that brings a queue's
// behaviour back to the ingress pipeline; and, when compiled with REPLAY, a header that carries what a
// decision vector says of a packet.

const bit<16> TYPE_IPV4 = 0x0800;
#ifdef REPLAY
const bit<16> TYPE_REPLAY = 0x88b5;
#endif
const bit<16> TYPE_STATE = 0x88b6;
const bit<8> PROTOCOL_TCP = 6;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

// What a decision vector says of a packet. Of `kind`, bit 0 is that it arrives, bit 1 that a port is chosen for
// it, bit 2 that it is queued at `port` (`uplink` from 1, 0 for a port towards a host), where `found` packets and
// `left` bytes wait; bit 3 that it is dequeued there, having found `found` packets waiting and leaving `left`.
header replay_t {
    bit<8> kind;
    bit<16> port;
    bit<8> uplink;
    bit<48> now;
    bit<32> random;
    bit<32> found;
    bit<32> left;
}

// Ten bytes: QALL's Fig. 6.
header state_t {
    bit<16> occupancy;
    bit<48> interval;
    bit<8> trend;
    bit<8> port;
}

header ipv4_t {
    bit<4> version;
    bit<4> words;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total;
    bit<16> identification;
    bit<3> flags;
    bit<13> offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv4_options_t {
    varbit<320> options;
}

header tcp_t {
    bit<16> source;
    bit<16> destination;
    bit<32> sequence;
    bit<32> acknowledgment;
    bit<4> words;
    bit<4> reserved;
    bit<8> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

struct headers_t {
    ethernet_t ethernet;
    replay_t replay;
    state_t state;
    ipv4_t ipv4;
    ipv4_options_t ipv4_options;
    tcp_t tcp;
}

parser SwitchParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            TYPE_STATE: parse_state;
#ifdef REPLAY
            TYPE_REPLAY: parse_replay;
#endif
            default: accept;
        }
    }

    state parse_replay {
        packet.extract(hdr.replay);
        transition parse_ipv4;
    }

    state parse_state {
        packet.extract(hdr.state);
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.words) {
            5: parse_protocol;
            6 &&& 0xe: parse_options;
            8 &&& 0x8: parse_options;
            default: accept;
        }
    }

    state parse_options {
        packet.extract(hdr.ipv4_options, (bit<32>)(((bit<16>)hdr.ipv4.words - 5) << 5));
        transition parse_protocol;
    }

    state parse_protocol {
        transition select(hdr.ipv4.offset, hdr.ipv4.protocol) {
            (0, PROTOCOL_TCP): parse_tcp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }
}

// A packet whose header is damaged is not forwarded by what it says: FORWARDABLE in forwarding.p4.
control SwitchVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.words == 5,
            { hdr.ipv4.version, hdr.ipv4.words, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum(hdr.ipv4_options.isValid(),
            { hdr.ipv4.version, hdr.ipv4.words, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination, hdr.ipv4_options.options },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control SwitchUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.words == 5,
            { hdr.ipv4.version, hdr.ipv4.words, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.ipv4_options.isValid(),
            { hdr.ipv4.version, hdr.ipv4.words, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination, hdr.ipv4_options.options },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.replay);
        packet.emit(hdr.state);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.tcp);
    }
}
