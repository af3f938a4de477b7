// A FIFO queue in block memory whose oldest word stands at the output (first word fall through), one word a cycle
// in and out. It holds DEPTH words in memory and one at the output.
module abq_fifo #(
    parameter int WIDTH = 8,
    // A power of two.
    parameter int DEPTH = 16
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
    localparam int PTR_W = $clog2(DEPTH);

    logic [WIDTH-1:0] memory [0:DEPTH-1];
    // One bit more than an address: equal pointers are an empty memory, pointers DEPTH apart a full one.
    logic [PTR_W:0] head, tail;
    logic           write, fetch;

    assign in_ready = (tail[PTR_W-1:0] != head[PTR_W-1:0]) || (tail[PTR_W] == head[PTR_W]);
    assign write = in_valid && in_ready;
    assign fetch = (tail != head) && (!out_valid || out_ready);

    always_ff @(posedge clk) begin
        if (write) memory[tail[PTR_W-1:0]] <= in_data;
        if (fetch) out_data <= memory[head[PTR_W-1:0]];
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            head      <= '0;
            tail      <= '0;
            out_valid <= 1'b0;
        end else begin
            if (write) tail <= tail + 1'b1;
            if (fetch) head <= head + 1'b1;
            out_valid <= fetch || (out_valid && !out_ready);
        end
    end
endmodule
