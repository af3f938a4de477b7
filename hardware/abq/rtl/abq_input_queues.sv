// The input queues of all ports and the input arbiter (Fig. 3): what ABQ adds in front of a switch's data path. The
// lengths of the output queues come back from behind it.
module abq_input_queues #(
    parameter int PORTS = 4,
    parameter int DATA_W = 64,
    parameter int QUEUE_W = 20,
    parameter int TIME_W = 32,
    parameter int CAPACITY = 254,
    parameter int SLOT_BYTES = 128,
    parameter int SLOT_W = $clog2(CAPACITY + 1),
    parameter int SETTINGS_W = abq::settings_width(QUEUE_W, TIME_W, SLOT_W)
) (
    input  logic                         clk,
    input  logic                         rst,
    // As in abq_engine, for all ports; the lengths of their output queues.
    input  logic [TIME_W-1:0]            now,
    input  logic [PORTS*QUEUE_W-1:0]     backlog,
    input  logic [SETTINGS_W-1:0]        settings,

    // AXI4-Stream, one a port; user: a bit for each port that the frame is for.
    input  logic [PORTS-1:0]             in_valid,
    output logic [PORTS-1:0]             in_ready,
    input  logic [PORTS*DATA_W-1:0]      in_data,
    input  logic [PORTS*DATA_W/8-1:0]    in_keep,
    input  logic [PORTS-1:0]             in_last,
    input  logic [PORTS*PORTS-1:0]       in_user,
    // One for all. user: a bit for each port that the frame is for, above a bit for the one that it came by.
    output logic                         out_valid,
    input  logic                         out_ready,
    output logic [DATA_W-1:0]            out_data,
    output logic [DATA_W/8-1:0]          out_keep,
    output logic                         out_last,
    output logic [2*PORTS-1:0]           out_user,

    output logic [PORTS*abq::EVENTS-1:0] events,
    output logic [PORTS*SLOT_W-1:0]      count,
    output logic [PORTS*2-1:0]           state,
    output logic [PORTS*QUEUE_W-1:0]     level
);
    localparam int KEEP_W = DATA_W / 8;
    localparam int WIDTH = PORTS + KEEP_W + DATA_W;

    logic [PORTS-1:0]       valid, ready, last, from, to;
    logic [PORTS*WIDTH-1:0] data;

    for (genvar port = 0; port < PORTS; port++) begin : ports
        abq_ingress #(
            .DATA_W(DATA_W), .USER_W(PORTS), .QUEUE_W(QUEUE_W), .TIME_W(TIME_W), .CAPACITY(CAPACITY),
            .SLOT_BYTES(SLOT_BYTES)
        ) ingress (
            .clk, .rst, .now, .backlog(backlog[port*QUEUE_W +: QUEUE_W]), .settings,
            .in_valid(in_valid[port]), .in_ready(in_ready[port]), .in_data(in_data[port*DATA_W +: DATA_W]),
            .in_keep(in_keep[port*KEEP_W +: KEEP_W]), .in_last(in_last[port]),
            .in_user(in_user[port*PORTS +: PORTS]),
            .out_valid(valid[port]), .out_ready(ready[port]), .out_data(data[port*WIDTH +: DATA_W]),
            .out_keep(data[port*WIDTH + DATA_W +: KEEP_W]), .out_last(last[port]),
            .out_user(data[port*WIDTH + DATA_W + KEEP_W +: PORTS]),
            .events(events[port*abq::EVENTS +: abq::EVENTS]), .count(count[port*SLOT_W +: SLOT_W]),
            .state(state[port*2 +: 2]), .level(level[port*QUEUE_W +: QUEUE_W])
        );
    end

    abq_arbiter #(.PORTS(PORTS), .WIDTH(WIDTH)) arbiter (
        .clk, .rst, .in_valid(valid), .in_ready(ready), .in_data(data), .in_last(last),
        .out_valid, .out_ready, .out_data({to, out_keep, out_data}), .out_last, .out_port(from)
    );
    assign out_user = {to, from};
endmodule
