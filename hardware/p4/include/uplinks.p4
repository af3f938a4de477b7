// P4 has no loops: EACH_UPLINK(X) is X(0) X(1) ... for every uplink that the program is compiled for
// (-DUPLINKS=4, 8 or 16; 8 if nothing is said). EACH_LATER(X) leaves the first out.

#ifndef UPLINKS
#define UPLINKS 8
#endif

#define LATER_4(X) X(1) X(2) X(3)
#define LATER_8(X) LATER_4(X) X(4) X(5) X(6) X(7)
#define LATER_16(X) LATER_8(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

#if UPLINKS == 4
#define EACH_LATER(X) LATER_4(X)
#elif UPLINKS == 8
#define EACH_LATER(X) LATER_8(X)
#elif UPLINKS == 16
#define EACH_LATER(X) LATER_16(X)
#else
#error "UPLINKS is 4, 8 or 16"
#endif

#define EACH_UPLINK(X) X(0) EACH_LATER(X)
