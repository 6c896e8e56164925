"""seteuid-server.py SOCKET: as FTP servers do, each connection's thread works as another user.

A line is answered with OK and the line, after the effective user was changed and changed back; an idle
connection is closed after 3 s.
"""
import os
import socketserver
import sys


class Session(socketserver.StreamRequestHandler):
    timeout = 3

    def handle(self):
        try:
            for line in self.rfile:
                os.setegid(65534)
                os.seteuid(65534)
                os.listdir("/")
                os.seteuid(0)
                os.setegid(0)
                self.wfile.write(b"OK " + line)
        except TimeoutError:
            pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


Server(sys.argv[1], Session).serve_forever()
