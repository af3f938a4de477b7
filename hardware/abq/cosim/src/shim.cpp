// The Verilated models behind a C interface. One call is one clock cycle: inputs are set, outputs are as they are before
// the edge, then comes the edge.

#include "Vabq_state.h"
#include "Vabq_switch_256.h"
#include "Vabq_switch_64.h"
#include "verilated.h"

#include <cstdint>

constexpr int PORTS = 4, WORDS = 8;

// As `Inputs` and `Outputs` in lib.rs. A word of data is up to 256 bits, the low 32 first.
struct Inputs {
    uint32_t data[PORTS][WORDS], keep[PORTS];
    uint32_t address, value;
    uint8_t to[PORTS];
    uint8_t valid, last, out_ready, reset, write, read;
};

struct Outputs {
    uint64_t events;
    uint32_t data[PORTS][WORDS], keep[PORTS];
    uint32_t backlog[PORTS], now, value;
    uint8_t user[PORTS];
    uint8_t ready, valid, last, dropped, written, found;
};

double sc_time_stamp() { return 0; }

// A port's byte lanes among those of all ports: 8 or 32 bits each.
static void put_lanes(IData &all, int port, uint32_t lanes) { all |= lanes << 8 * port; }
static void put_lanes(VlWide<PORTS> &all, int port, uint32_t lanes) { all[port] = lanes; }
static uint32_t lanes_of(IData all, int port) { return all >> 8 * port & 0xff; }
static uint32_t lanes_of(const VlWide<PORTS> &all, int port) { return all[port]; }

// AXI4-Lite's answer: 0 none, 1 done, 2 an error.
static uint8_t answer(bool valid, int response) { return valid ? (response == 0 ? 1 : 2) : 0; }

struct Switch {
    virtual ~Switch() = default;
    virtual void cycle(const Inputs &in, Outputs &out) = 0;
};

template <class Model, int WIDTH> struct SwitchOf : Switch {
    static constexpr int USED = WIDTH / 32;
    Model model;

    ~SwitchOf() override { model.final(); }

    void set(const Inputs &in) {
        model.clk = 0;
        model.rst = in.reset;
        model.s_axis_tvalid = in.valid;
        model.s_axis_tlast = in.last;
        model.s_axis_tkeep = {};
        model.s_axis_tuser = 0;
        for (int port = 0; port < PORTS; port++) {
            for (int word = 0; word < USED; word++) model.s_axis_tdata[port * USED + word] = in.data[port][word];
            put_lanes(model.s_axis_tkeep, port, in.keep[port]);
            model.s_axis_tuser |= static_cast<uint32_t>(in.to[port]) << PORTS * port;
        }
        model.m_axis_tready = in.out_ready;
        model.s_axil_awvalid = model.s_axil_wvalid = in.write;
        model.s_axil_awaddr = model.s_axil_araddr = in.address;
        model.s_axil_wdata = in.value;
        model.s_axil_wstrb = 15;
        model.s_axil_arvalid = in.read;
        model.s_axil_bready = model.s_axil_rready = 1;
    }

    void cycle(const Inputs &in, Outputs &out) override {
        set(in);
        model.eval();
        out.ready = model.s_axis_tready;
        out.valid = model.m_axis_tvalid;
        out.last = model.m_axis_tlast;
        out.events = model.debug_events;
        out.dropped = model.debug_dropped;
        out.now = model.debug_now;
        out.written = answer(model.s_axil_bvalid, model.s_axil_bresp);
        out.found = answer(model.s_axil_rvalid, model.s_axil_rresp);
        out.value = model.s_axil_rdata;
        for (int port = 0; port < PORTS; port++) {
            for (int word = 0; word < USED; word++) out.data[port][word] = model.m_axis_tdata[port * USED + word];
            out.keep[port] = lanes_of(model.m_axis_tkeep, port);
            out.user[port] = static_cast<uint8_t>(model.m_axis_tuser >> 2 * PORTS * port);
            // 20 bits each.
            int bit = 20 * port;
            uint64_t low = model.debug_queue[bit / 32];
            uint64_t high = bit / 32 < 2 ? model.debug_queue[bit / 32 + 1] : 0;
            out.backlog[port] = (low | high << 32) >> bit % 32 & 0xfffff;
        }
        model.clk = 1;
        model.eval();
    }
};

extern "C" {

Switch *abq_switch_new(uint32_t bytes) {
    if (bytes == 32) return new SwitchOf<Vabq_switch_256, 256>;
    return new SwitchOf<Vabq_switch_64, 64>;
}

void abq_switch_free(Switch *model) { delete model; }

void abq_switch_cycle(Switch *model, const Inputs *in, Outputs *out) { model->cycle(*in, *out); }

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
