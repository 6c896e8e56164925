"""pool-server.py SOCKET: a pool of three processes, which share pipes and semaphores, and a parent that has a thread
for each client.

A line "SEQ LENGTH SEED MS" is answered after MS milliseconds with "SEQ LENGTH", and LENGTH bytes that SEQ and SEED
determine.  Speaks the protocol of tracee.h on stdin and stdout.
"""
import multiprocessing
import socketserver
import sys
import threading
import time

kept = []


def work(seq, length, seed, ms):
    kept.append([bytes(20 + i * seed % 3000) for i in range(300)])  # free soon, so that there is what to give back
    del kept[:-4]
    time.sleep(ms / 1000)
    return b"%d %d\n" % (seq, length) + (b"%d:%d " % (seq, seed) * length)[:length] + b"\n"


class Session(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(pool.apply(work, list(map(int, line.split()))))


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    pool = multiprocessing.Pool(3)
    server = Server(sys.argv[1], Session)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    server.shutdown()
    pool.close()
    pool.join()
    print("alive")
