// Settings and counters by AXI4-Lite, 32 bits a register. docs/hardware.md has the map.
module abq_registers #(
    parameter int PORTS = 4,
    parameter int DATA_W = 64,
    parameter int QUEUE_W = 20,
    parameter int TIME_W = 32,
    parameter int CAPACITY = 254,
    // At reset.
    parameter int K = 20,
    parameter int FLOOR = 4,
    parameter int SLOT_W = $clog2(CAPACITY + 1),
    parameter int ADDRESS_W = 8 + $clog2(PORTS + 1),
    parameter int SETTINGS_W = abq::settings_width(QUEUE_W, TIME_W, SLOT_W)
) (
    input  logic                         clk,
    input  logic                         rst,

    input  logic                         aw_valid,
    output logic                         aw_ready,
    input  logic [ADDRESS_W-1:0]         aw_addr,
    input  logic                         w_valid,
    output logic                         w_ready,
    input  logic [31:0]                  w_data,
    input  logic [3:0]                   w_strb,
    output logic                         b_valid,
    input  logic                         b_ready,
    output logic [1:0]                   b_resp,
    input  logic                         ar_valid,
    output logic                         ar_ready,
    input  logic [ADDRESS_W-1:0]         ar_addr,
    output logic                         r_valid,
    input  logic                         r_ready,
    output logic [31:0]                  r_data,
    output logic [1:0]                   r_resp,

    output logic                         enable,
    output logic                         in_bytes,
    output logic [SETTINGS_W-1:0]        settings,

    input  logic [PORTS*abq::EVENTS-1:0] events,
    input  logic [PORTS-1:0]             dropped,
    input  logic [PORTS*SLOT_W-1:0]      count,
    input  logic [PORTS*2-1:0]           state,
    input  logic [PORTS*QUEUE_W-1:0]     level,
    input  logic [PORTS*QUEUE_W-1:0]     packets,
    input  logic [PORTS*QUEUE_W-1:0]     bytes
);
    localparam logic [5:0] IDENTITY = 6'd0, SHAPE = 6'd1, CONTROL = 6'd2, THRESHOLD = 6'd3, LOWEST = 6'd4;
    localparam logic [5:0] PACE = 6'd5, MAX_HOLD = 6'd6, ROOM = 6'd7, CLEAR = 6'd8;
    localparam logic [1:0] OKAY = 2'b00, SLVERR = 2'b10;
    localparam int         PAGE_W = ADDRESS_W - 8;
    // Counters of a port: its events, and drops at its output.
    localparam int         COUNTERS = abq::EVENTS + 1;
    localparam logic [5:0] FIRST_COUNTER = 6'd8;
    // What a port is now: its first registers.
    localparam logic [5:0] READINGS = 6'd5;

`include "abq_settings.svh"
    settings_t set;
    assign settings = set;

    // --- Writing: address and data are taken together, whole registers.
    logic       write, known, clear;
    logic [5:0] at;
    assign at = aw_addr[7:2];
    assign write = aw_valid && w_valid && (!b_valid || b_ready);
    assign aw_ready = write;
    assign w_ready = write;
    assign known = aw_addr[ADDRESS_W-1:8] == '0 && aw_addr[1:0] == '0 && w_strb == 4'hf
        && at >= CONTROL && at <= CLEAR;
    assign clear = write && known && at == CLEAR;

    // A capacity is one slot at least, and what there is at most.
    function automatic logic [SLOT_W-1:0] limited(input logic [31:0] value);
        if (value == '0) limited = SLOT_W'(1);
        else if (value > CAPACITY) limited = SLOT_W'(CAPACITY);
        else limited = value[SLOT_W-1:0];
    endfunction

    // Lengths and times that do not fit are as large as can be.
    function automatic logic [QUEUE_W-1:0] sized(input logic [31:0] value);
        sized = (value >> QUEUE_W) != '0 ? '1 : value[QUEUE_W-1:0];
    endfunction

    function automatic logic [TIME_W-1:0] timed(input logic [31:0] value);
        timed = (value >> TIME_W) != '0 ? '1 : TIME_W'(value);
    endfunction

    always_ff @(posedge clk) begin
        if (rst) begin
            b_valid             <= 1'b0;
            b_resp              <= OKAY;
            enable              <= 1'b0;
            in_bytes            <= 1'b0;
            // A release is as fast as it can be, and has no bound but the memory's.
            set.threshold       <= QUEUE_W'(K);
            set.floor           <= QUEUE_W'(FLOOR);
            set.corrector       <= 1'b1;
            set.ece_below_floor <= 1'b0;
            set.pace            <= '0;
            set.max_hold        <= '0;
            set.capacity        <= SLOT_W'(CAPACITY);
        end else begin
            b_valid <= write || (b_valid && !b_ready);
            if (write) b_resp <= known ? OKAY : SLVERR;
            if (write && known) begin
                case (at)
                    CONTROL:   {set.ece_below_floor, set.corrector, in_bytes, enable} <= w_data[3:0];
                    THRESHOLD: set.threshold <= sized(w_data);
                    LOWEST:    set.floor <= sized(w_data);
                    PACE:      set.pace <= timed(w_data);
                    MAX_HOLD:  set.max_hold <= timed(w_data);
                    ROOM:      set.capacity <= limited(w_data);
                    default: ;
                endcase
            end
        end
    end

    // --- Counters wrap around.
    logic [PORTS*COUNTERS*32-1:0] counters;
    for (genvar port = 0; port < PORTS; port++) begin : counting
        logic [COUNTERS-1:0] pulses;
        assign pulses = {dropped[port], events[port*abq::EVENTS +: abq::EVENTS]};
        for (genvar which = 0; which < COUNTERS; which++) begin : each
            logic [31:0] counter;
            always_ff @(posedge clk) begin
                if (rst || clear) counter <= '0;
                else counter <= counter + 32'(pulses[which]);
            end
            assign counters[(port*COUNTERS + which)*32 +: 32] = counter;
        end
    end

    // --- Reading.
    logic              read, found;
    logic [5:0]        from;
    logic [PAGE_W-1:0] page;
    logic [31:0]       value;
    assign from = ar_addr[7:2];
    assign page = ar_addr[ADDRESS_W-1:8];
    assign read = ar_valid && (!r_valid || r_ready);
    assign ar_ready = read;

    always_comb begin
        value = '0;
        found = ar_addr[1:0] == '0 && from <= CLEAR;
        case (from)
            // "ABQ" and the version of this map.
            IDENTITY:  value = 32'h41425101;
            SHAPE:     value = {8'(SLOT_W), 8'(TIME_W), 8'(DATA_W / 8), 8'(PORTS)};
            CONTROL:   value = {28'b0, set.ece_below_floor, set.corrector, in_bytes, enable};
            THRESHOLD: value = 32'(set.threshold);
            LOWEST:    value = 32'(set.floor);
            PACE:      value = 32'(set.pace);
            MAX_HOLD:  value = 32'(set.max_hold);
            ROOM:      value = 32'(set.capacity);
            default:   value = '0;
        endcase
        for (int port = 0; port < PORTS; port++) begin
            if (page == PAGE_W'(port + 1)) begin
                found = ar_addr[1:0] == '0
                    && (from < READINGS || (from >= FIRST_COUNTER && from < FIRST_COUNTER + 6'(COUNTERS)));
                case (from)
                    6'd0:    value = 32'(state[port*2 +: 2]);
                    6'd1:    value = 32'(level[port*QUEUE_W +: QUEUE_W]);
                    6'd2:    value = 32'(packets[port*QUEUE_W +: QUEUE_W]);
                    6'd3:    value = 32'(bytes[port*QUEUE_W +: QUEUE_W]);
                    6'd4:    value = 32'(count[port*SLOT_W +: SLOT_W]);
                    default: value = '0;
                endcase
                for (int which = 0; which < COUNTERS; which++) begin
                    if (from == FIRST_COUNTER + 6'(which)) begin
                        value = counters[(port*COUNTERS + which)*32 +: 32];
                    end
                end
            end
        end
        if (page > PAGE_W'(PORTS)) found = 1'b0;
        if (!found) value = '0;
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            r_valid <= 1'b0;
        end else begin
            r_valid <= read || (r_valid && !r_ready);
        end
        if (read) begin
            r_data <= value;
            r_resp <= found ? OKAY : SLVERR;
        end
    end
endmodule
