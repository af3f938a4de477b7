// The state machine of ABQ (Fig. 2, Algorithm 1), of one port. It looks at its queue in every cycle; what it decides
// there holds from the next cycle on. docs/hardware.md says what the paper leaves open.
module abq_state #(
    // Bits of a queue's length.
    parameter int QUEUE_W = 20
) (
    input  logic               clk,
    input  logic               rst,
    // Q, K and the size below which X is zero: all in packets, or all in bytes.
    input  logic [QUEUE_W-1:0] backlog,
    input  logic [QUEUE_W-1:0] threshold,
    input  logic [QUEUE_W-1:0] floor,
    // Released ACKs get ECE; and those, too, whose spell had no X.
    input  logic               corrector,
    input  logic               ece_below_floor,
    // US: ACKs pass.
    output logic               uncongested,
    // In this cycle all held ACKs are let go, with ECE or without; or those let go and not yet read stay.
    output logic               let_go,
    output logic               let_go_ece,
    output logic               stop,
    // 0 US, 1 CS, 2 LCS; Qmax in CS, X in LCS.
    output logic [1:0]         state,
    output logic [QUEUE_W-1:0] level
);
    localparam logic [1:0] UNCONGESTED = 2'd0;
    localparam logic [1:0] CONGESTED = 2'd1;
    localparam logic [1:0] LIGHT = 2'd2;
    localparam int         BIT_W = $clog2(QUEUE_W);

    // The number of the highest bit that is set.
    function automatic logic [BIT_W-1:0] highest(input logic [QUEUE_W-1:0] value);
        highest = '0;
        for (int i = 0; i < QUEUE_W; i++) begin
            if (value[i]) highest = i[BIT_W-1:0];
        end
    endfunction

    // Line 1; the X that CS ends with; the X that is compared with Q now.
    logic               above;
    logic [QUEUE_W-1:0] beyond, first, x;
    assign above = backlog > threshold;
    assign beyond = (level > threshold) ? level - threshold : '0;
    assign first = (beyond < threshold) ? beyond : threshold;
    assign x = (state == CONGESTED) ? first : level;

    // Lines 3 to 6. X is halved until it is below Q or below the floor: all halvings that a queue of this length
    // asks for, in one cycle. The largest X >> n with as many bits as that bound is either below it, or its half is.
    logic [QUEUE_W-1:0] bound, aligned, halved;
    logic [BIT_W-1:0]   high_x, high_bound, shift;
    always_comb begin
        bound = (backlog > floor) ? backlog : floor;
        if (bound == '0) bound[0] = 1'b1;
        high_x     = highest(x);
        high_bound = highest(bound);
        shift      = (high_x > high_bound) ? high_x - high_bound : '0;
        aligned    = x >> shift;
        halved     = (aligned < bound) ? aligned : aligned >> 1;
    end

    logic no_level, at_level, ends;
    assign no_level = (state == CONGESTED) && (first < floor || first == '0);
    assign at_level = (state != UNCONGESTED) && (backlog <= x);
    assign ends = (halved < floor) || (halved == '0);

    assign uncongested = state == UNCONGESTED;
    assign stop = above && (state != CONGESTED);
    assign let_go = !above && (no_level || at_level);
    assign let_go_ece = let_go && corrector && (!no_level || ece_below_floor);

    always_ff @(posedge clk) begin
        if (rst) begin
            state <= UNCONGESTED;
            level <= '0;
        end else if (above) begin
            state <= CONGESTED;
            level <= (state == CONGESTED && level > backlog) ? level : backlog;
        end else if (no_level) begin
            state <= UNCONGESTED;
            level <= '0;
        end else if (at_level) begin
            state <= ends ? UNCONGESTED : LIGHT;
            level <= ends ? '0 : halved;
        end else if (state == CONGESTED) begin
            state <= LIGHT;
            level <= first;
        end
    end
endmodule
