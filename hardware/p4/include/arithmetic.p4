// The arithmetic of the programs, written by LEAFSPINE_FILL=p4 cargo test -p leafspine-schemes p4.
// crates/schemes/src/p4/operations.rs has the same expressions; change them there.

bit<64> word(in bit<64> number) {
    return number;
}

bit<64> smaller(in bit<64> a, in bit<64> b) {
    return a < b ? a : b;
}

bit<64> above(in bit<64> a, in bit<64> b) {
    return a |-| b;
}

// QALL's L: what waits in whole percent of the buffer. `per_unit` is 100 x 2^40 over the buffer,
// rounded up: exact for buffers of at most 2^20 packets.
bit<64> percent(in bit<64> waiting, in bit<64> per_unit) {
    return smaller((waiting * per_unit) >> 40, word(100));
}

// QALL's eq. 4: L (tau - T) V.
bit<64> derived_index(in bit<64> occupancy, in bit<64> interval, in bit<64> trend, in bit<64> tau) {
    return occupancy * above(tau, interval) * trend;
}

// The product of two numbers with ten fraction bits.
bit<64> product(in bit<64> a, in bit<64> b) {
    return (a * b) >> 10;
}

// QALL's T between 0 and 1, with ten fraction bits. `step` is 2^42 over the range, rounded up.
bit<64> normalised(in bit<64> interval, in bit<64> from, in bit<64> to, in bit<64> step) {
    return smaller((above(smaller(interval, to), from) * step) >> 32, word(1024));
}

// QALL's eqs. 11 to 13. Negative coefficients are their complement: the sum wraps.
bit<64> fitted_index(in bit<64> l, in bit<64> t, in bit<64> c0, in bit<64> cl, in bit<64> ct, in bit<64> cll, in bit<64> clt, in bit<64> ctt, in bit<64> clll, in bit<64> cllt, in bit<64> cltt, in bit<64> cttt) {
    return c0 * 1024 + cl * l + ct * t + cll * product(l, l) + clt * product(l, t) + ctt * product(t, t) + clll * product(product(l, l), l) + cllt * product(product(l, l), t) + cltt * product(l, product(t, t)) + cttt * product(product(t, t), t);
}

// A number below `total`, from a random number of 32 bits.
bit<64> draw(in bit<64> number, in bit<64> total) {
    return number * (total >> 32) + ((number * (total & 0xffffffff)) >> 32);
}

// The place of a hash of 32 bits in a table of so many entries.
bit<64> place32(in bit<64> crc, in bit<64> entries) {
    return (crc * entries) >> 32;
}

// The same of a hash of 16 bits.
bit<64> place16(in bit<64> crc, in bit<64> entries) {
    return (crc * entries) >> 16;
}

// The time of so many bytes on a line, in 1/1024 us. `per_byte` has 20 fraction bits more.
bit<64> line_time(in bit<64> bytes, in bit<64> per_byte) {
    return (bytes * per_byte) >> 20;
}

// Microseconds of the switch's clock in 1/1024 us.
bit<64> fine(in bit<64> micros) {
    return micros << 10;
}
