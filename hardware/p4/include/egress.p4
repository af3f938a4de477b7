// The egress pipeline of programs that count what waits at their uplinks.

control CountingEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
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
            dequeues.apply();
            EACH_UPLINK(COUNT_DEQUEUED)
        }
    }
#endif
}
