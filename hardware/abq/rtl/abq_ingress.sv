// ABQ's part of one port's input queue (Fig. 1b, Fig. 3): IsAck, the hold's memory, the engine, the arbiter between what
// passes and what is read from memory, and the corrector. No frame is lost here: what cannot go on waits, and with it
// the stream (in_ready).
module abq_ingress #(
    parameter int DATA_W = 64,
    // Bits that go with a frame, unchanged.
    parameter int USER_W = 4,
    parameter int QUEUE_W = 20,
    parameter int TIME_W = 32,
    parameter int CAPACITY = 254,
    // A power of two. Longer frames are not held.
    parameter int SLOT_BYTES = 128,
    parameter int SLOT_W = $clog2(CAPACITY + 1),
    parameter int SETTINGS_W = abq::settings_width(QUEUE_W, TIME_W, SLOT_W)
) (
    input  logic                   clk,
    input  logic                   rst,
    // As in abq_engine.
    input  logic [TIME_W-1:0]      now,
    input  logic [QUEUE_W-1:0]     backlog,
    input  logic [SETTINGS_W-1:0]  settings,

    // AXI4-Stream: byte 0 in the low bits, null bytes behind the last only.
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [DATA_W-1:0]      in_data,
    input  logic [DATA_W/8-1:0]    in_keep,
    input  logic                   in_last,
    input  logic [USER_W-1:0]      in_user,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [DATA_W-1:0]      out_data,
    output logic [DATA_W/8-1:0]    out_keep,
    output logic                   out_last,
    output logic [USER_W-1:0]      out_user,

    // What happened in this cycle, a bit each, from the lowest on: a frame went into the stream's register; a frame was
    // found too long to be held; an ACK passed; was stored; followed; one left; with ECE; pushed out; one expired;
    // the state machine let all go; with ECE; stopped what was let go.
    output logic [abq::EVENTS-1:0] events,
    output logic [SLOT_W-1:0]      count,
    output logic [1:0]             state,
    output logic [QUEUE_W-1:0]     level
);
    localparam int BYTES = DATA_W / 8;
    localparam int LANE_W = $clog2(BYTES);
    localparam int SLOT_WORDS = SLOT_BYTES / BYTES;
    localparam int WORD_W = $clog2(SLOT_WORDS);
    localparam int WORD = DATA_W + LANE_W + 1 + USER_W;
    // Frames wait here for their verdict: a slot's words, one more, and those that come while it is made.
    localparam int WAITING = 2 * SLOT_WORDS;

    // --- Words without null bytes, and IsAck beside them.
    logic [LANE_W-1:0] in_bytes;
    always_comb begin
        in_bytes = '0;
        for (int lane = 1; lane < BYTES; lane++) begin
            if (in_keep[lane]) in_bytes = lane[LANE_W-1:0];
        end
    end

    logic decided, found_ack, found_long;
    abq_parser #(.DATA_W(DATA_W), .SLOT_BYTES(SLOT_BYTES)) parser (
        .clk, .rst, .moves(in_valid && in_ready), .data(in_data), .bytes(in_bytes), .last(in_last),
        .decided, .is_ack(found_ack), .too_long(found_long)
    );

    logic              word_valid, word_moves, word_last, words_room, verdicts_room;
    logic [DATA_W-1:0] word_data;
    logic [LANE_W-1:0] word_bytes;
    logic [USER_W-1:0] word_user;
    abq_fifo #(.WIDTH(WORD), .DEPTH(WAITING)) words (
        .clk, .rst, .in_valid(in_valid && in_ready), .in_ready(words_room),
        .in_data({in_user, in_last, in_bytes, in_data}),
        .out_valid(word_valid), .out_ready(word_moves), .out_data({word_user, word_last, word_bytes, word_data})
    );

    // A verdict for each frame of which a word waits, and one that is on its way.
    logic verdict_valid, verdict_ack, first, verdict_taken;
    abq_fifo #(.WIDTH(1), .DEPTH(2 * WAITING)) verdicts (
        .clk, .rst, .in_valid(decided), .in_ready(verdicts_room), .in_data(found_ack),
        .out_valid(verdict_valid), .out_ready(verdict_taken), .out_data(verdict_ack)
    );
    assign in_ready = words_room && verdicts_room;

    // --- Where the frame in front goes: into memory, or on.
    logic              ack_waits, ack_store, ack_room, ack_moves, stores, storing, passes, passing;
    logic              begins_pass, begins_store, output_free, onward_ready;
    logic              reader_ready, read, read_ece, reading;
    logic [SLOT_W-1:0] ack_slot, read_slot;
    logic              followed, overflowed, expired, let_go, let_go_ece, stop;

    assign first = !storing && !passing;
    assign ack_waits = first && word_valid && verdict_valid && verdict_ack;
    assign begins_store = ack_waits && ack_store && ack_room;
    // ACKs that have left the hold go first.
    assign output_free = !reading && !read && onward_ready;
    assign begins_pass = first && word_valid && verdict_valid && !(verdict_ack && ack_store) && output_free;
    assign ack_moves = begins_store || (begins_pass && verdict_ack);
    assign verdict_taken = begins_store || begins_pass;
    assign stores = begins_store || (storing && word_valid);
    assign passes = begins_pass || (passing && word_valid && onward_ready);
    assign word_moves = stores || passes;

    always_ff @(posedge clk) begin
        if (rst) begin
            storing <= 1'b0;
            passing <= 1'b0;
        end else begin
            if (stores) storing <= !word_last;
            if (passes) passing <= !word_last;
        end
    end

    abq_engine #(.QUEUE_W(QUEUE_W), .TIME_W(TIME_W), .CAPACITY(CAPACITY)) engine (
        .clk, .rst, .now, .backlog, .settings,
        .ack_waits, .ack_store, .ack_room, .ack_moves, .ack_slot,
        .reader_ready, .read, .read_ece, .read_slot,
        .followed, .overflowed, .expired, .let_go, .let_go_ece, .stop, .count, .state, .level
    );

    // --- The hold's memory: a slot of words for each ACK.
    logic [WORD-1:0]          memory [0:(CAPACITY + 1) * SLOT_WORDS - 1];
    logic [SLOT_W+WORD_W-1:0] write_at, write_next, read_at, read_next;
    assign write_at = begins_store ? {ack_slot, {WORD_W{1'b0}}} : write_next;
    assign read_at = read ? {read_slot, {WORD_W{1'b0}}} : read_next;

    // --- The reader: the word at its output is replaced as it moves, by the frame's next or the next frame's first.
    logic              fetch, held_valid, held_last, held_moves, held_ends, held_ece;
    logic [DATA_W-1:0] held_data, corrected;
    logic [LANE_W-1:0] held_bytes;
    logic [USER_W-1:0] held_user;
    assign held_moves = held_valid && onward_ready;
    assign held_ends = held_moves && held_last;
    assign fetch = read || (held_moves && !held_last);
    assign reading = held_valid;

    always_ff @(posedge clk) begin
        if (stores) memory[write_at] <= {word_user, word_last, word_bytes, word_data};
        if (stores) write_next <= write_at + 1'b1;
        if (fetch) {held_user, held_last, held_bytes, held_data} <= memory[read_at];
        if (fetch) read_next <= read_at + 1'b1;
        if (read) held_ece <= read_ece;
    end

    // A frame that waits to pass has its turn after each that was read, and is not interrupted.
    logic pass_waits, pass_turn;
    assign pass_waits = first && word_valid && verdict_valid && !(verdict_ack && ack_store);
    assign reader_ready = (!held_valid || held_ends) && (!passing || (word_valid && word_last && onward_ready))
        && !(pass_waits && (pass_turn || held_ends));

    always_ff @(posedge clk) begin
        if (rst) begin
            held_valid <= 1'b0;
            pass_turn  <= 1'b0;
        end else begin
            held_valid <= fetch || (held_valid && !held_moves);
            if (held_ends) pass_turn <= 1'b1;
            else if (begins_pass || !pass_waits) pass_turn <= 1'b0;
        end
    end

    abq_corrector #(.DATA_W(DATA_W)) set_ece (
        .clk, .rst, .set(held_ece), .moves(held_moves), .last(held_last), .data(held_data), .corrected
    );

    // --- Out: null bytes again.
    logic [LANE_W-1:0] out_bytes;
    abq_slice #(.WIDTH(WORD)) onward (
        .clk, .rst, .in_valid(held_valid || passes), .in_ready(onward_ready),
        .in_data(held_valid ? {held_user, held_last, held_bytes, corrected}
                            : {word_user, word_last, word_bytes, word_data}),
        .out_valid, .out_ready, .out_data({out_user, out_last, out_bytes, out_data})
    );
    assign out_keep = {BYTES{1'b1}} >> ~out_bytes;

    assign events = {
        stop, let_go_ece, let_go, expired, overflowed, read && read_ece, read, followed,
        begins_store, begins_pass && verdict_ack, decided && found_long, in_valid && in_ready && in_last
    };

`ifndef SYNTHESIS
    // In simulations, from the first reset on: no verdict is lost, a frame's words stay together, and each that is read
    // has ended before the next begins.
    logic live = 1'b0;
    always @(posedge clk) live <= live || rst;

    always @(posedge clk) begin
        if (live && !rst) begin
            assert (!decided || verdicts_room);
            assert (!(held_moves && passes));
            assert (!(storing && passing));
            assert (!read || !held_valid || held_ends);
        end
    end
`endif
endmodule
