// One port's output queue: whole frames, the last dropped when there is no room, and how much waits.
//
// A frame waits from its last word's arrival until its first word goes to the line. It counts as one packet, and as
// its bytes without preamble and frame check sequence.
module abq_output_queue #(
    parameter int DATA_W = 64,
    // Bits that go with a frame, unchanged.
    parameter int USER_W = 8,
    parameter int QUEUE_W = 20,
    // Words of the memory, packets that wait at most: powers of two.
    parameter int WORDS = 2048,
    parameter int PACKETS = 256
) (
    input  logic                clk,
    input  logic                rst,
    // Never refused. Words of a frame that is not for this queue are not valid here.
    input  logic                in_valid,
    input  logic [DATA_W-1:0]   in_data,
    input  logic [DATA_W/8-1:0] in_keep,
    input  logic                in_last,
    input  logic [USER_W-1:0]   in_user,
    output logic                out_valid,
    input  logic                out_ready,
    output logic [DATA_W-1:0]   out_data,
    output logic [DATA_W/8-1:0] out_keep,
    output logic                out_last,
    output logic [USER_W-1:0]   out_user,
    output logic [QUEUE_W-1:0]  packets,
    output logic [QUEUE_W-1:0]  bytes,
    // A frame was dropped in this cycle.
    output logic                dropped
);
    localparam int BYTES = DATA_W / 8;
    localparam int LANE_W = $clog2(BYTES);
    localparam int PTR_W = $clog2(WORDS);
    localparam int LENGTH_W = 16;

    // Complete frames end at done; a frame that is coming in has words up to tail.
    logic [USER_W+DATA_W+LANE_W:0] memory [0:WORDS-1];
    logic [PTR_W:0]                head, done, tail;
    logic                          full, spoilt, take, lose;
    logic [LANE_W-1:0]             in_bytes, out_bytes;
    logic [LENGTH_W-1:0]           length, so_far;
    always_comb begin
        in_bytes = '0;
        for (int lane = 1; lane < BYTES; lane++) begin
            if (in_keep[lane]) in_bytes = lane[LANE_W-1:0];
        end
    end

    // Lengths of complete frames. One beyond its memory waits at its output.
    logic                lengths_room, length_valid, begins;
    logic [LENGTH_W-1:0] length_out;
    abq_fifo #(.WIDTH(LENGTH_W), .DEPTH(PACKETS)) lengths (
        .clk, .rst, .in_valid(take), .in_ready(lengths_room), .in_data(length),
        .out_valid(length_valid), .out_ready(begins), .out_data(length_out)
    );

    assign full = (tail - head) == (PTR_W + 1)'(WORDS);
    assign length = so_far + LENGTH_W'(in_bytes) + 1'b1;
    assign lose = in_valid && in_last && (spoilt || full || !lengths_room);
    assign take = in_valid && in_last && !lose;
    assign dropped = lose;

    logic fetch, starting;
    assign fetch = (head != done) && (!out_valid || out_ready);
    // The first word of a frame goes to the line.
    assign begins = out_valid && out_ready && starting;

    always_ff @(posedge clk) begin
        if (in_valid && !full && !spoilt) memory[tail[PTR_W-1:0]] <= {in_user, in_last, in_bytes, in_data};
        if (fetch) {out_user, out_last, out_bytes, out_data} <= memory[head[PTR_W-1:0]];
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            head      <= '0;
            done      <= '0;
            tail      <= '0;
            spoilt    <= 1'b0;
            so_far    <= '0;
            out_valid <= 1'b0;
            starting  <= 1'b1;
            packets   <= '0;
            bytes     <= '0;
        end else begin
            if (in_valid) begin
                if (lose) tail <= done;
                else if (!full && !spoilt) tail <= tail + 1'b1;
                if (take) done <= tail + 1'b1;
                spoilt <= !in_last && (spoilt || full);
                so_far <= in_last ? '0 : length;
            end
            if (fetch) head <= head + 1'b1;
            out_valid <= fetch || (out_valid && !out_ready);
            if (out_valid && out_ready) starting <= out_last;
            packets <= packets + QUEUE_W'(take) - QUEUE_W'(begins);
            bytes   <= bytes + (take ? QUEUE_W'(length) : '0) - (begins ? QUEUE_W'(length_out) : '0);
        end
    end

    assign out_keep = {BYTES{1'b1}} >> ~out_bytes;

    // Its length has come to the output before the frame's first word has.
    logic unused;
    assign unused = length_valid;

`ifndef SYNTHESIS
    // The counts never fall below zero, and an empty queue counts nothing: `formal.py`, and simulations from the first
    // reset on.
    logic live = 1'b0;
    always @(posedge clk) live <= live || rst;

    always @(posedge clk) begin
        if (live && !rst) begin
            assert (!begins || length_valid);
            assert (!begins || (packets != '0 && bytes >= QUEUE_W'(length_out)));
            assert (packets != '0 || bytes == '0);
            assert ((tail - head) <= (PTR_W + 1)'(WORDS) && (done - head) <= (tail - head));
        end
    end
`endif
endmodule
