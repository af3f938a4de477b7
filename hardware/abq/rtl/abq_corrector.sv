// The congestion window corrector: sets ECE in the TCP header of a frame that goes by, and corrects TCP's checksum
// (RFC 1624, eq. 3). One word in, one word out, in the same cycle. The frame is IPv4 and TCP without a VLAN tag.
module abq_corrector #(
    parameter int DATA_W = 64
) (
    input  logic              clk,
    input  logic              rst,
    // Whether ECE is set: the same for all words of a frame.
    input  logic              set,
    // This word moves on.
    input  logic              moves,
    input  logic              last,
    input  logic [DATA_W-1:0] data,
    output logic [DATA_W-1:0] corrected
);
    localparam int BYTES = DATA_W / 8;
    localparam int LANE_W = $clog2(BYTES);
    // The number of a word, of a frame of up to 256 bytes.
    localparam int WORD_W = 8 - LANE_W;
    localparam int VERSION_BIT = 14 % BYTES * 8;
    localparam logic [WORD_W-1:0] VERSION_WORD = WORD_W'(14 / BYTES);

    logic [WORD_W-1:0] word;
    logic [3:0]        ip_words;
    // ECE had been set in a word before this one.
    logic              had_ece;

    // Bytes 27 + 4 IHL (flags) and 30 + 4 IHL (checksum).
    logic [7:0] flags_at, sum_at;
    assign flags_at = 8'd27 + {2'b00, ip_words, 2'b00};
    assign sum_at = 8'd30 + {2'b00, ip_words, 2'b00};

    logic        flags_here, sum_here, has_ece, change;
    logic [7:0]  flags;
    logic [15:0] sum;
    assign flags_here = word == flags_at[7:LANE_W] && word != VERSION_WORD;
    assign sum_here = word == sum_at[7:LANE_W] && word != VERSION_WORD;
    assign flags = data[{flags_at[LANE_W-1:0], 3'b000} +: 8];
    assign sum = {data[{sum_at[LANE_W-1:0], 3'b000} +: 8], data[{sum_at[LANE_W-1:1], 4'b1000} +: 8]};
    assign has_ece = flags_here ? flags[6] : had_ece;
    assign change = set && !has_ece;

    // ~(~sum + ~m + m'), where m' = m + 0x0040: ~sum + 0x0040 with its carry brought round.
    logic [16:0] raised;
    logic [15:0] folded, fixed;
    assign raised = {1'b0, ~sum} + 17'h00040;
    assign folded = raised[15:0] + 16'(raised[16]);
    assign fixed = ~folded;

    always_comb begin
        corrected = data;
        if (change && flags_here) corrected[{flags_at[LANE_W-1:0], 3'b000} +: 8] = flags | 8'h40;
        if (change && sum_here) begin
            corrected[{sum_at[LANE_W-1:0], 3'b000} +: 8]   = fixed[15:8];
            corrected[{sum_at[LANE_W-1:1], 4'b1000} +: 8] = fixed[7:0];
        end
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            word <= '0;
        end else if (moves) begin
            word <= last ? '0 : word + 1'b1;
        end
    end

    always_ff @(posedge clk) begin
        if (moves) begin
            if (word == VERSION_WORD) ip_words <= data[VERSION_BIT +: 4];
            if (flags_here) had_ece <= flags[6];
        end
    end
endmodule
