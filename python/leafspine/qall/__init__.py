"""Fits of egress traffic to queue behaviour, for QALL's data-driven versions (``fit-qall``).

Liu et al., QALL, IEEE TNSM 21(2), 2024. §III-B and Fig. 3: what ports send goes with their queue's
occupancy L and against the interval T between two dequeues. §V-A, eq. 7 and Table I: least squares
polynomials of L and T, of several degrees, all normalised by minimum and maximum.

A sample is what QALL's switch would return (Algorithm 3): at the first dequeue of a port after
``period`` has passed since the last sample, L in whole percent of the buffer, as the packet found
it when it was queued; T in whole microseconds since the dequeue before, at most ``tau``; and beside
them the traffic since the last sample. All are computed, exactly, from a ``packets`` probe.
"""
