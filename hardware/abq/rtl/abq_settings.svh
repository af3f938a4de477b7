// The settings of all ports, from the registers to the engines (abq::settings_width bits).
typedef struct packed {
    // K and the size below which X is zero: both in packets or both in bytes.
    logic [QUEUE_W-1:0] threshold;
    logic [QUEUE_W-1:0] floor;
    // Released ACKs get ECE; and those, too, whose spell had no X.
    logic               corrector;
    logic               ece_below_floor;
    // From one ACK read to the next; 0: as soon as the reader can.
    logic [TIME_W-1:0]  pace;
    // The longest time that an ACK waits; 0: no limit.
    logic [TIME_W-1:0]  max_hold;
    // ACKs that a hold takes: 1 to CAPACITY.
    logic [SLOT_W-1:0]  capacity;
} settings_t;
