// The input arbiter: frames of several ports onto one stream, whole and in turn.
module abq_arbiter #(
    parameter int PORTS = 4,
    parameter int WIDTH = 8
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [PORTS-1:0]       in_valid,
    output logic [PORTS-1:0]       in_ready,
    input  logic [PORTS*WIDTH-1:0] in_data,
    input  logic [PORTS-1:0]       in_last,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [WIDTH-1:0]       out_data,
    output logic                   out_last,
    // The port, a bit each.
    output logic [PORTS-1:0]       out_port
);
    // The port whose frame is on its way; the ports above the one that was served last.
    logic             busy;
    logic [PORTS-1:0] serving, above, wanted, grant;

    assign wanted = ((in_valid & above) != '0) ? in_valid & above : in_valid;
    assign grant = busy ? serving : wanted & (~wanted + 1'b1);

    always_comb begin
        out_data = '0;
        for (int port = 0; port < PORTS; port++) begin
            if (grant[port]) out_data = out_data | in_data[port*WIDTH +: WIDTH];
        end
    end
    assign out_valid = (in_valid & grant) != '0;
    assign out_last = (in_last & grant) != '0;
    assign out_port = grant;
    assign in_ready = out_ready ? grant : '0;

    always_ff @(posedge clk) begin
        if (rst) begin
            busy    <= 1'b0;
            serving <= '0;
            above   <= '0;
        end else if (out_valid && out_ready) begin
            busy    <= !out_last;
            serving <= grant;
            above   <= ~(grant | (grant - 1'b1));
        end
    end
endmodule
