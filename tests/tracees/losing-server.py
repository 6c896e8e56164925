"""losing-server.py LIBRARY SOCKET: asyncio-server.py with real modules, whose LIBRARY (lose.c) loses a list of blocks at
every tenth answer.

A line "SEQ LENGTH SEED MS" is answered after MS milliseconds with "SEQ LENGTH", and LENGTH bytes that SEQ and SEED
determine.  Speaks the protocol of tracee.h on stdin and stdout; "lost" is answered with the number of lists.
"""
import asyncio
import ctypes
import decimal  # noqa: F401, as large servers have
import json
import sqlite3
import ssl  # noqa: F401
import sys
import zlib

library = ctypes.CDLL(sys.argv[1])
nr_answers = nr_lists = 0


def lose():
    global nr_answers, nr_lists
    nr_answers += 1
    if nr_answers % 10 == 0:
        library.lose_list()
        nr_lists += 1


async def serve(reader, writer):
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (seq INT, text TEXT)")
    while line := await reader.readline():
        seq, length, seed, ms = map(int, line.split())
        text = (b"%d:%d " % (seq, seed) * length)[:length]
        database.execute("INSERT INTO t VALUES (?, ?)", (seq, json.dumps(text.decode())))
        database.execute("DELETE FROM t WHERE seq < ?", (seq - 100,))
        text = zlib.decompress(zlib.compress(text))
        lose()
        if ms:
            await asyncio.sleep(ms / 1000)
        writer.write(b"%d %d\n" % (seq, length) + text + b"\n")
        await writer.drain()
    writer.close()


async def main():
    ended = asyncio.Event()

    def command():
        line = sys.stdin.readline()
        if line:
            print(nr_lists if line.strip() == "lost" else "what?", flush=True)
        else:
            ended.set()

    asyncio.get_running_loop().add_reader(sys.stdin, command)
    server = await asyncio.start_unix_server(serve, sys.argv[2])
    print("ready", flush=True)
    await ended.wait()
    server.close()


asyncio.run(main())
print("alive")
