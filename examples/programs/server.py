"""Answers each line with as many bytes as it asks for."""

import socketserver


class Answers(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(b"x" * int(line))


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 100


if __name__ == "__main__":
    with Server(("", 8000), Answers) as server:
        print("listening")
        server.serve_forever()
