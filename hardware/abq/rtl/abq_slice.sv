// Two registers in a stream's way, so that neither valid nor ready of one side depends on the other side's in the
// same cycle. One word a cycle.
module abq_slice #(
    parameter int WIDTH = 8
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
    // What came while the output had to wait.
    logic             spare_valid;
    logic [WIDTH-1:0] spare;

    assign in_ready = !spare_valid;

    always_ff @(posedge clk) begin
        if (in_ready) spare <= in_data;
        if (!out_valid || out_ready) out_data <= spare_valid ? spare : in_data;
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            out_valid   <= 1'b0;
            spare_valid <= 1'b0;
        end else if (!out_valid || out_ready) begin
            out_valid   <= spare_valid || in_valid;
            spare_valid <= 1'b0;
        end else begin
            spare_valid <= spare_valid || in_valid;
        end
    end
endmodule
