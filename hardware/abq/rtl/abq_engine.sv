// ABQ's engine of one port: the state machine, and which of the held ACKs go when. It keeps count of slots in a ring;
// the frames are in the hold's memory (abq_ingress).
//
// From the oldest on, the ring has ACKs that have been let go and get ECE, ACKs that have been let go and do not, and
// ACKs that are held. The order of what happens in one cycle: an ACK comes in (and pushes the oldest out of a full hold),
// an ACK has waited its longest, one is read, the queue's length is looked at.
module abq_engine #(
    parameter int QUEUE_W = 20,
    // Bits of times and spans.
    parameter int TIME_W = 32,
    // ACKs that the hold has room for. One more slot is for the ACK that is being read.
    parameter int CAPACITY = 254,
    parameter int SLOT_W = $clog2(CAPACITY + 1),
    parameter int SETTINGS_W = abq::settings_width(QUEUE_W, TIME_W, SLOT_W)
) (
    input  logic                  clk,
    input  logic                  rst,
    // The time. All spans are in its unit; it may stand still and jump.
    input  logic [TIME_W-1:0]     now,
    input  logic [QUEUE_W-1:0]    backlog,
    input  logic [SETTINGS_W-1:0] settings,

    // An ACK stands at the entrance. It would be stored, or pass; there is a slot, or one is made now; it moves.
    input  logic                  ack_waits,
    output logic                  ack_store,
    output logic                  ack_room,
    input  logic                  ack_moves,
    output logic [SLOT_W-1:0]     ack_slot,

    // The reader takes the ACK of this slot, and sets ECE in it or not.
    input  logic                  reader_ready,
    output logic                  read,
    output logic                  read_ece,
    output logic [SLOT_W-1:0]     read_slot,

    // For counters and tests: an ACK followed those that are being read, one was pushed out, one expired; what the state
    // machine said; ACKs in the hold; the state.
    output logic                  followed,
    output logic                  overflowed,
    output logic                  expired,
    output logic                  let_go,
    output logic                  let_go_ece,
    output logic                  stop,
    output logic [SLOT_W-1:0]     count,
    output logic [1:0]            state,
    output logic [QUEUE_W-1:0]    level
);
    localparam logic [SLOT_W-1:0] LAST = CAPACITY[SLOT_W-1:0];

`include "abq_settings.svh"
    settings_t set;
    assign set = settings;

    function automatic logic [SLOT_W-1:0] after(input logic [SLOT_W-1:0] slot);
        after = (slot == LAST) ? '0 : slot + 1'b1;
    endfunction

    logic uncongested;
    abq_state #(.QUEUE_W(QUEUE_W)) machine (
        .clk, .rst, .backlog, .threshold(set.threshold), .floor(set.floor), .corrector(set.corrector),
        .ece_below_floor(set.ece_below_floor),
        .uncongested, .let_go, .let_go_ece, .stop, .state, .level
    );

    // The oldest, the oldest that is held, the first free slot; how many have been let go (how many of them with ECE),
    // and how many are held.
    logic [SLOT_W-1:0] head, middle, tail;
    logic [SLOT_W-1:0] with_ece, going, held;
    assign count = going + held;

    // --- An ACK comes in: in US it passes, behind those that are being read; else it is held.
    logic full, store;
    assign ack_store = !uncongested || (going != '0);
    assign full = count >= set.capacity;
    assign ack_room = !full || reader_ready;
    assign ack_slot = tail;
    assign store = ack_moves && ack_store;
    assign followed = store && uncongested;
    assign overflowed = ack_waits && ack_store && full && reader_ready;

    // --- An ACK has waited its longest. When the oldest that is held came is read from memory: known from the second
    // cycle on in which it is the oldest.
    logic [TIME_W-1:0] since [0:CAPACITY];
    logic [TIME_W-1:0] oldest_since;
    logic              oldest_known, overdue, joins, leaves;
    always_ff @(posedge clk) begin
        if (store) since[tail] <= now;
        oldest_since <= since[middle];
    end
    assign overdue = oldest_known && (set.max_hold != '0) && (now - oldest_since >= set.max_hold) && !overflowed;
    // It does not overtake those that are being read, but goes behind them.
    assign joins = overdue && (going != '0);
    assign leaves = overdue && (going == '0) && reader_ready;
    assign expired = joins || leaves;

    // --- One is read: the pace after the one before, or after the release began.
    logic              timing, due, take;
    logic [TIME_W-1:0] start, elapsed;
    assign elapsed = now - start;
    assign due = timing && (elapsed >= set.pace);
    assign take = due && (going != '0) && reader_ready && !overflowed;

    assign read = overflowed || leaves || take;
    assign read_slot = head;
    // Of what goes because of a bound, too: the queue is still congested.
    assign read_ece = set.corrector && ((going == '0) || (with_ece != '0));

    // --- The counts after all this, and then the queue's length.
    logic              from_going, held_less;
    logic [SLOT_W-1:0] head_next, tail_next, middle_then, going_then, ece_then, held_then;
    assign from_going = read && (going != '0);
    assign held_less = joins || (read && (going == '0));
    assign head_next = read ? after(head) : head;
    assign tail_next = store ? after(tail) : tail;
    // What follows is let go already. A held ACK that leaves by itself, or joins, moves the boundary.
    assign middle_then = (followed || held_less) ? after(middle) : middle;

    always_comb begin
        going_then = going;
        ece_then   = with_ece;
        held_then  = held;
        if (followed || joins) going_then = going_then + 1'b1;
        if (from_going) going_then = going_then - 1'b1;
        if (joins && set.corrector) ece_then = ece_then + 1'b1;
        if (from_going && with_ece != '0) ece_then = ece_then - 1'b1;
        if (store && !followed) held_then = held_then + 1'b1;
        if (held_less) held_then = held_then - 1'b1;
    end

    logic [SLOT_W-1:0] middle_next, going_next;
    always_comb begin
        middle_next = middle_then;
        going_next  = going_then;
        if (let_go) begin
            middle_next = tail_next;
            going_next  = going_then + held_then;
        end else if (stop) begin
            middle_next = head_next;
            going_next  = '0;
        end
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            head         <= '0;
            middle       <= '0;
            tail         <= '0;
            with_ece     <= '0;
            going        <= '0;
            held         <= '0;
            timing       <= 1'b0;
            oldest_known <= 1'b0;
        end else begin
            head         <= head_next;
            middle       <= middle_next;
            tail         <= tail_next;
            going        <= going_next;
            oldest_known <= (held != '0) && !held_less && !let_go && !stop;
            if (let_go) begin
                held <= '0;
                with_ece <= let_go_ece ? going_next : ece_then;
            end else if (stop) begin
                held <= going_then + held_then;
                with_ece <= '0;
            end else begin
                held <= held_then;
                with_ece <= ece_then;
            end
            // It runs while something is being read, and to its end after a stop.
            timing <= (going_next != '0) || (timing && !due);
        end
    end

    always_ff @(posedge clk) begin
        if (take || !timing || (due && going == '0)) start <= now;
    end

`ifndef SYNTHESIS
    // Slots are written and read in the order of the ring, and the counts are those of its parts: so no ACK is lost, read
    // twice or out of order. `formal.py` proves these by induction; simulations check them from the first reset on.
    localparam logic [31:0] SLOTS = CAPACITY + 1;
    logic [SLOT_W:0] to_middle, to_tail;
    assign to_middle = (SLOT_W + 1)'(middle) + (middle < head ? (SLOT_W + 1)'(SLOTS) : '0) - (SLOT_W + 1)'(head);
    assign to_tail = (SLOT_W + 1)'(tail) + (tail < head ? (SLOT_W + 1)'(SLOTS) : '0) - (SLOT_W + 1)'(head);

    logic live = 1'b0;
    always @(posedge clk) live <= live || rst;

    always @(posedge clk) begin
        if (live && !rst) begin
            // As abq_registers and abq_ingress see to it.
            assume (set.capacity != '0 && 32'(set.capacity) < SLOTS);
            assume (!ack_moves || ack_waits);
            assume (!ack_store || ack_moves == (ack_waits && ack_room));

            assert (32'(head) < SLOTS && 32'(middle) < SLOTS && 32'(tail) < SLOTS);
            assert (to_middle == (SLOT_W + 1)'(going));
            assert (to_tail == (SLOT_W + 1)'(going) + (SLOT_W + 1)'(held));
            assert (to_tail <= (SLOT_W + 1)'(CAPACITY));
            assert (with_ece <= going);
            // In US nothing is held for a next release, in CS nothing is let go.
            assert (!uncongested || held == '0);
            assert (state != 2'd1 || going == '0);
            assert (state != 2'd3);
            // What has been let go is going to be read.
            assert (going == '0 || timing);
            // Whose time is known is there.
            assert (!oldest_known || held != '0);
            // Nothing is read that is not there, and no slot is written that is in use.
            assert (!read || to_tail != '0);
            assert (!store || to_tail < (SLOT_W + 1)'(CAPACITY) || read);
            // An ACK that has waited its longest leaves, or joins those that are being read, as soon as the reader can.
            assert (!overdue || expired || !reader_ready);
        end
    end
`endif
endmodule
