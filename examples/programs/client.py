"""Asks a server for bytes, time and again, and prints how long each answer took in microseconds."""

import os
import socket
import statistics
import sys
import time

requests = int(os.environ.get("REQUESTS", "10"))
size = int(os.environ.get("BYTES", "1000"))

times = []
with socket.create_connection((sys.argv[1], 8000)) as connection:
    for _ in range(requests):
        begin = time.monotonic()
        connection.sendall(b"%d\n" % size)
        left = size
        while left:
            left -= len(connection.recv(left))
        times.append(1e6 * (time.monotonic() - begin))
        print(f"{times[-1]:.1f}")
print(f"mean {statistics.mean(times):.1f} us, longest {max(times):.1f} us")
