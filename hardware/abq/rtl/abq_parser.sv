// IsAck: reads a frame's headers as its words go by, and says at its end whether it is an ACK and nothing else.
//
// That is: Ethernet II with IPv4 (no VLAN tag), not a fragment, TCP with ACK and without SYN, FIN, RST, whose IP total
// length leaves no payload (the frame may be longer: padding), all of it there, and in a frame that fits a slot.
module abq_parser #(
    // 64, 128 or 256.
    parameter int DATA_W = 64,
    // A power of two, above the 94 bytes of an ACK without IP options.
    parameter int SLOT_BYTES = 128,
    parameter int LANE_W = $clog2(DATA_W / 8)
) (
    input  logic              clk,
    input  logic              rst,
    // A word moves. Byte 0 of a frame is in the low bits; all words but the last are full.
    input  logic              moves,
    input  logic [DATA_W-1:0] data,
    // Bytes of the word, less one.
    input  logic [LANE_W-1:0] bytes,
    input  logic              last,
    // Once a frame: in the cycle after its last word, or after its first word beyond a slot.
    output logic              decided,
    output logic              is_ack,
    // It would be one, but for its frame's length.
    output logic              too_long
);
    localparam int BYTES = DATA_W / 8;
    localparam int SLOT_WORDS = SLOT_BYTES / BYTES;
    // The number of a word in its frame, up to the first beyond a slot; a length up to that.
    localparam int WORD_W = $clog2(SLOT_WORDS + 1);
    localparam int LENGTH_W = WORD_W + LANE_W + 1;

    // Words and bits of the fields whose place is fixed.
    localparam int ETHER = 12, VERSION = 14, TOTAL = 16, FRAGMENT = 20, PROTOCOL = 23;
    localparam logic [WORD_W-1:0] ETHER_WORD = WORD_W'(ETHER / BYTES);
    localparam logic [WORD_W-1:0] VERSION_WORD = WORD_W'(VERSION / BYTES);
    localparam logic [WORD_W-1:0] TOTAL_WORD = WORD_W'(TOTAL / BYTES);
    localparam logic [WORD_W-1:0] FRAGMENT_WORD = WORD_W'(FRAGMENT / BYTES);
    localparam logic [WORD_W-1:0] PROTOCOL_WORD = WORD_W'(PROTOCOL / BYTES);
    localparam logic [WORD_W-1:0] BEYOND_WORD = WORD_W'(SLOT_WORDS);
    localparam int ETHER_BIT = ETHER % BYTES * 8, VERSION_BIT = VERSION % BYTES * 8;
    localparam int TOTAL_BIT = TOTAL % BYTES * 8, FRAGMENT_BIT = FRAGMENT % BYTES * 8;
    localparam int PROTOCOL_BIT = PROTOCOL % BYTES * 8;

    logic [WORD_W-1:0] word;
    // The verdict on this frame is out, and its rest does not matter.
    logic              skipping;

    // Of this frame. What precedes TCP's flags has been seen where they have been.
    logic                ip, ip_v4, whole, tcp, seen_flags, ack, other, beyond;
    logic [3:0]          ip_words, tcp_words;
    logic [15:0]         total;
    logic [LENGTH_W-1:0] length;

    // TCP's data offset and flags are at byte 26 + 4 IHL, in one word since that is even: counted in pairs of bytes.
    logic [5:0] pair;
    logic       flags_here;
    assign pair = 6'd13 + {1'b0, ip_words, 1'b0};
    assign flags_here = LENGTH_W'(word) == LENGTH_W'(pair[5:LANE_W-1]);

    always_ff @(posedge clk) begin
        if (moves && !skipping) begin
            if (word == ETHER_WORD) ip <= data[ETHER_BIT +: 16] == 16'h0008;
            if (word == VERSION_WORD) begin
                ip_words <= data[VERSION_BIT +: 4];
                ip_v4    <= data[VERSION_BIT + 4 +: 4] == 4'd4;
            end
            if (word == TOTAL_WORD) total <= {data[TOTAL_BIT +: 8], data[TOTAL_BIT + 8 +: 8]};
            // All but "don't fragment" and the reserved bit.
            if (word == FRAGMENT_WORD) whole <= (data[FRAGMENT_BIT +: 16] & 16'hff3f) == 16'h0000;
            if (word == PROTOCOL_WORD) tcp <= data[PROTOCOL_BIT +: 8] == 8'd6;
            if (flags_here && word > VERSION_WORD) begin
                seen_flags <= 1'b1;
                tcp_words  <= data[{pair[LANE_W-2:0], 4'd4} +: 4];
                ack        <= data[{pair[LANE_W-2:0], 4'd12}];
                // FIN, SYN, RST.
                other      <= data[{pair[LANE_W-2:0], 4'd8} +: 3] != '0;
            end else if (word == '0) begin
                seen_flags <= 1'b0;
            end
            beyond <= word == BEYOND_WORD;
            length <= {1'b0, word, bytes} + 1'b1;
        end
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            word     <= '0;
            skipping <= 1'b0;
            decided  <= 1'b0;
        end else begin
            decided <= moves && !skipping && (last || word == BEYOND_WORD);
            if (moves) begin
                word     <= last ? '0 : (word == BEYOND_WORD) ? word : word + 1'b1;
                skipping <= !last && (word == BEYOND_WORD);
            end
        end
    end

    logic       header, bare;
    logic [6:0] headers;
    assign header = ip && ip_v4 && ip_words >= 4'd5 && whole && tcp && seen_flags && tcp_words >= 4'd5;
    assign headers = {1'b0, ip_words, 2'b00} + {1'b0, tcp_words, 2'b00};
    assign bare = header && ack && !other && total == 16'(headers);
    assign is_ack = bare && !beyond && {8'b0, length} >= {{LENGTH_W{1'b0}}, 8'(headers) + 8'd14};
    assign too_long = bare && beyond;
endmodule
