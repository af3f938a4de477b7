// A switch's data path with ABQ: input queues and arbiter, output queues, whose lengths go back to ABQ, and registers.
// The lookup of where a frame goes stands outside: it comes with the frame (user).
module abq_switch #(
    parameter int PORTS = 4,
    // 64, 128 or 256.
    parameter int DATA_W = 64,
    parameter int QUEUE_W = 20,
    parameter int TIME_W = 32,
    // ACKs that a port's hold has room for, and bytes of each one's slot.
    parameter int CAPACITY = 254,
    parameter int SLOT_BYTES = 128,
    // Of an output queue; powers of two.
    parameter int QUEUE_WORDS = 2048,
    parameter int QUEUE_PACKETS = 256,
    // K and the floor at reset, in packets.
    parameter int K = 20,
    parameter int FLOOR = 4,
    parameter int SLOT_W = $clog2(CAPACITY + 1),
    parameter int ADDRESS_W = 8 + $clog2(PORTS + 1)
) (
    input  logic                      clk,
    input  logic                      rst,

    // From the MACs: AXI4-Stream, one a port; user: a bit for each port that the frame is for.
    input  logic [PORTS-1:0]          s_axis_tvalid,
    output logic [PORTS-1:0]          s_axis_tready,
    input  logic [PORTS*DATA_W-1:0]   s_axis_tdata,
    input  logic [PORTS*DATA_W/8-1:0] s_axis_tkeep,
    input  logic [PORTS-1:0]          s_axis_tlast,
    input  logic [PORTS*PORTS-1:0]    s_axis_tuser,
    // To the MACs. user: a bit for each port that the frame is for, above a bit for the one that it came by.
    output logic [PORTS-1:0]          m_axis_tvalid,
    input  logic [PORTS-1:0]          m_axis_tready,
    output logic [PORTS*DATA_W-1:0]   m_axis_tdata,
    output logic [PORTS*DATA_W/8-1:0] m_axis_tkeep,
    output logic [PORTS-1:0]          m_axis_tlast,
    output logic [2*PORTS*PORTS-1:0]  m_axis_tuser,

    // AXI4-Lite.
    input  logic                      s_axil_awvalid,
    output logic                      s_axil_awready,
    input  logic [ADDRESS_W-1:0]      s_axil_awaddr,
    input  logic                      s_axil_wvalid,
    output logic                      s_axil_wready,
    input  logic [31:0]               s_axil_wdata,
    input  logic [3:0]                s_axil_wstrb,
    output logic                      s_axil_bvalid,
    input  logic                      s_axil_bready,
    output logic [1:0]                s_axil_bresp,
    input  logic                      s_axil_arvalid,
    output logic                      s_axil_arready,
    input  logic [ADDRESS_W-1:0]      s_axil_araddr,
    output logic                      s_axil_rvalid,
    input  logic                      s_axil_rready,
    output logic [31:0]               s_axil_rdata,
    output logic [1:0]                s_axil_rresp,

    // For a logic analyser, and the tests: the time, what happened (abq_ingress), what each port's engine sees.
    output logic [TIME_W-1:0]         debug_now,
    output logic [PORTS*abq::EVENTS-1:0] debug_events,
    output logic [PORTS-1:0]          debug_dropped,
    output logic [PORTS*QUEUE_W-1:0]  debug_queue
);
    localparam int KEEP_W = DATA_W / 8;

    localparam int SETTINGS_W = abq::settings_width(QUEUE_W, TIME_W, SLOT_W);

    logic                         enable, in_bytes;
    logic [SETTINGS_W-1:0]        settings;
    logic [TIME_W-1:0]            now;
    logic [PORTS*SLOT_W-1:0]      count;
    logic [PORTS*2-1:0]           state;
    logic [PORTS*QUEUE_W-1:0]     level, backlog, packets, bytes;
    logic [PORTS*abq::EVENTS-1:0] events;
    logic [PORTS-1:0]             dropped;

    always_ff @(posedge clk) begin
        if (rst) now <= '0;
        else now <= now + 1'b1;
    end

    abq_registers #(
        .PORTS(PORTS), .DATA_W(DATA_W), .QUEUE_W(QUEUE_W), .TIME_W(TIME_W), .CAPACITY(CAPACITY),
        .K(K), .FLOOR(FLOOR)
    ) registers (
        .clk, .rst,
        .aw_valid(s_axil_awvalid), .aw_ready(s_axil_awready), .aw_addr(s_axil_awaddr),
        .w_valid(s_axil_wvalid), .w_ready(s_axil_wready), .w_data(s_axil_wdata), .w_strb(s_axil_wstrb),
        .b_valid(s_axil_bvalid), .b_ready(s_axil_bready), .b_resp(s_axil_bresp),
        .ar_valid(s_axil_arvalid), .ar_ready(s_axil_arready), .ar_addr(s_axil_araddr),
        .r_valid(s_axil_rvalid), .r_ready(s_axil_rready), .r_data(s_axil_rdata), .r_resp(s_axil_rresp),
        .enable, .in_bytes, .settings, .events, .dropped, .count, .state, .level, .packets, .bytes
    );

    logic                onward_valid, onward_last;
    logic [DATA_W-1:0]   onward_data;
    logic [KEEP_W-1:0]   onward_keep;
    logic [2*PORTS-1:0]  onward_user;
    abq_input_queues #(
        .PORTS(PORTS), .DATA_W(DATA_W), .QUEUE_W(QUEUE_W), .TIME_W(TIME_W), .CAPACITY(CAPACITY),
        .SLOT_BYTES(SLOT_BYTES)
    ) input_queues (
        .clk, .rst, .now, .backlog, .settings,
        .in_valid(s_axis_tvalid), .in_ready(s_axis_tready), .in_data(s_axis_tdata), .in_keep(s_axis_tkeep),
        .in_last(s_axis_tlast), .in_user(s_axis_tuser),
        .out_valid(onward_valid), .out_ready(1'b1), .out_data(onward_data), .out_keep(onward_keep),
        .out_last(onward_last), .out_user(onward_user),
        .events, .count, .state, .level
    );

    logic [PORTS-1:0] to;
    assign to = onward_user[2*PORTS-1:PORTS];

    for (genvar port = 0; port < PORTS; port++) begin : ports
        abq_output_queue #(
            .DATA_W(DATA_W), .USER_W(2 * PORTS), .QUEUE_W(QUEUE_W), .WORDS(QUEUE_WORDS), .PACKETS(QUEUE_PACKETS)
        ) output_queue (
            .clk, .rst,
            .in_valid(onward_valid && to[port]), .in_data(onward_data), .in_keep(onward_keep), .in_last(onward_last),
            .in_user(onward_user),
            .out_valid(m_axis_tvalid[port]), .out_ready(m_axis_tready[port]),
            .out_data(m_axis_tdata[port*DATA_W +: DATA_W]), .out_keep(m_axis_tkeep[port*KEEP_W +: KEEP_W]),
            .out_last(m_axis_tlast[port]), .out_user(m_axis_tuser[port*2*PORTS +: 2*PORTS]),
            .packets(packets[port*QUEUE_W +: QUEUE_W]), .bytes(bytes[port*QUEUE_W +: QUEUE_W]),
            .dropped(dropped[port])
        );
        // Switched off, ABQ sees an empty queue: it lets go what it holds, and no spell begins.
        assign backlog[port*QUEUE_W +: QUEUE_W] = !enable ? '0
            : in_bytes ? bytes[port*QUEUE_W +: QUEUE_W] : packets[port*QUEUE_W +: QUEUE_W];
    end

    assign debug_now = now;
    assign debug_events = events;
    assign debug_dropped = dropped;
    assign debug_queue = backlog;
endmodule
