// What several modules have to agree on.
package abq;
    // Bits of a port's events (abq_ingress lists them).
    localparam int EVENTS = 12;

    // Bits of abq_settings.svh's structure. The RTL's tools have no structures with parameters in a module's ports (types
    // as parameters and interfaces fail in Icarus 11, imports before ports in Yosys 0.23): modules hand on these bits,
    // and who writes or reads a setting includes the structure.
    function automatic int settings_width(input int queue_w, input int time_w, input int slot_w);
        settings_width = 2 + 2 * queue_w + 2 * time_w + slot_w;
    endfunction
endpackage
