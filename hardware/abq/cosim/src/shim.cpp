// The Verilated models behind a C interface. One call is one clock cycle: inputs are set, outputs are as they are before
// the edge, then comes the edge.

#include "Vabq_state.h"
#include "Vabq_switch.h"
#include "verilated.h"

#include <cstdint>

constexpr int PORTS = 4;

// As `Inputs` and `Outputs` in lib.rs.
struct Inputs {
    uint64_t data[PORTS];
    uint32_t address, value;
    uint8_t keep[PORTS], to[PORTS];
    uint8_t valid, last, out_ready, reset, write;
};

struct Outputs {
    uint64_t data[PORTS], events;
    uint32_t backlog[PORTS], now;
    uint8_t keep[PORTS];
    uint8_t ready, valid, last, dropped, written;
};

double sc_time_stamp() { return 0; }

extern "C" {

Vabq_switch *abq_switch_new() { return new Vabq_switch; }

void abq_switch_free(Vabq_switch *model) {
    model->final();
    delete model;
}

void abq_switch_cycle(Vabq_switch *model, const Inputs *in, Outputs *out) {
    model->clk = 0;
    model->rst = in->reset;
    model->s_axis_tvalid = in->valid;
    model->s_axis_tlast = in->last;
    model->s_axis_tkeep = 0;
    model->s_axis_tuser = 0;
    for (int port = 0; port < PORTS; port++) {
        model->s_axis_tdata[2 * port] = static_cast<uint32_t>(in->data[port]);
        model->s_axis_tdata[2 * port + 1] = static_cast<uint32_t>(in->data[port] >> 32);
        model->s_axis_tkeep |= static_cast<uint32_t>(in->keep[port]) << 8 * port;
        model->s_axis_tuser |= static_cast<uint32_t>(in->to[port]) << PORTS * port;
    }
    model->m_axis_tready = in->out_ready;
    model->s_axil_awvalid = model->s_axil_wvalid = in->write;
    model->s_axil_awaddr = in->address;
    model->s_axil_wdata = in->value;
    model->s_axil_wstrb = 15;
    model->s_axil_bready = 1;
    model->s_axil_arvalid = 0;
    model->s_axil_araddr = 0;
    model->s_axil_rready = 1;
    model->eval();
    out->ready = model->s_axis_tready;
    out->valid = model->m_axis_tvalid;
    out->last = model->m_axis_tlast;
    out->events = model->debug_events;
    out->dropped = model->debug_dropped;
    out->now = model->debug_now;
    out->written = model->s_axil_bvalid && model->s_axil_bresp == 0;
    for (int port = 0; port < PORTS; port++) {
        out->data[port] = model->m_axis_tdata[2 * port] | static_cast<uint64_t>(model->m_axis_tdata[2 * port + 1]) << 32;
        out->keep[port] = static_cast<uint8_t>(model->m_axis_tkeep >> 8 * port);
        // 20 bits each.
        int bit = 20 * port;
        uint64_t low = model->debug_queue[bit / 32];
        uint64_t high = bit / 32 < 2 ? model->debug_queue[bit / 32 + 1] : 0;
        out->backlog[port] = (low | high << 32) >> bit % 32 & 0xfffff;
    }
    model->clk = 1;
    model->eval();
}

// --- The state machine of one port.

Vabq_state *abq_state_new(uint32_t threshold, uint32_t floor, bool corrector, bool ece_below_floor) {
    auto *model = new Vabq_state;
    model->threshold = threshold;
    model->floor = floor;
    model->corrector = corrector;
    model->ece_below_floor = ece_below_floor;
    model->backlog = 0;
    model->rst = 1;
    model->clk = 0;
    model->eval();
    model->clk = 1;
    model->eval();
    model->clk = 0;
    model->rst = 0;
    model->eval();
    return model;
}

void abq_state_free(Vabq_state *model) {
    model->final();
    delete model;
}

bool abq_state_uncongested(Vabq_state *model) { return model->uncongested; }

// A queue's length in one cycle: 0 nothing, 1 all go, 3 all go with ECE, 4 stop.
int abq_state_cycle(Vabq_state *model, uint32_t backlog) {
    model->backlog = backlog;
    model->clk = 0;
    model->eval();
    int said = model->let_go | model->let_go_ece << 1 | model->stop << 2;
    model->clk = 1;
    model->eval();
    return said;
}
}
