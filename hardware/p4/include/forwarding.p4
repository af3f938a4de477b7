// What every program knows of a packet's way, in the control of the ingress pipeline.
//
// `hosts` has the hosts below the switch, `paths` all others: which uplinks lead there now, a bit each, and, for
// TAM, how long the way beyond each is, in 1/1024 us. The control plane writes them when links change.

#define FORWARDABLE hdr.ipv4.isValid() && hdr.ipv4.words >= 5 && standard.checksum_error == 0

    action drop() {
        mark_to_drop(standard);
    }

    action set_host(bit<9> port) {
        meta.below = true;
        standard.egress_spec = port;
    }

    table hosts {
        key = {
            hdr.ipv4.destination: exact;
        }
        actions = {
            set_host;
            NoAction;
        }
        default_action = NoAction();
        size = 1024;
    }

#define DELAY_PARAMETER(n) , bit<64> delay_##n
#define DELAY_WRITE(n) meta.beyond_##n = delay_##n;

    action set_paths(bit<16> live EACH_UPLINK(DELAY_PARAMETER)) {
        meta.live = live;
        EACH_UPLINK(DELAY_WRITE)
    }

    table paths {
        key = {
            hdr.ipv4.destination: exact;
        }
        actions = {
            set_paths;
            drop;
        }
        default_action = drop();
        size = 65536;
    }

    // A packet without a live uplink ends here.
#define APPLY_PATHS             \
    paths.apply();              \
    if (meta.live == 0) {       \
        drop();                 \
        exit;                   \
    }

    // An uplink's number to its port.
    action set_port(bit<9> port) {
        standard.egress_spec = port;
    }

    table uplink_port {
        key = {
            meta.uplink: exact;
        }
        actions = {
            set_port;
            drop;
        }
        default_action = drop();
        size = 16;
    }

    // The number of uplinks that are live.
#define COUNT_LIVE(n) meta.paths = meta.paths + (bit<64>)((meta.live >> n) & 1);

    // The clock in whole microseconds, and the random number of this packet.
    action read_clock() {
#ifdef REPLAY
        meta.now = (bit<64>)hdr.replay.now;
        meta.random = (bit<64>)hdr.replay.random;
#else
        meta.now = (bit<64>)standard.ingress_global_timestamp;
        random(meta.random, 64w0, 64w0xffffffff);
#endif
    }

    // What flows are told apart by; without TCP their ports are 0.
#define TUPLE hdr.ipv4.source, hdr.ipv4.destination, hdr.ipv4.protocol, meta.source_port, meta.destination_port
#define READ_PORTS                                     \
    if (hdr.tcp.isValid()) {                           \
        meta.source_port = hdr.tcp.source;             \
        meta.destination_port = hdr.tcp.destination;   \
    }
