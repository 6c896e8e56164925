"""asyncio-server.py SOCKET: an event loop with one thread, which waits in epoll_wait(), with a timeout and without.

A line "SEQ LENGTH SEED MS" is answered after MS milliseconds with "SEQ LENGTH", and LENGTH bytes that SEQ and SEED
determine.  Speaks the protocol of tracee.h on stdin and stdout.
"""
import asyncio
import sys


async def serve(reader, writer):
    kept = []
    while line := await reader.readline():
        seq, length, seed, ms = map(int, line.split())
        kept.append([bytes(20 + i * seed % 3000) for i in range(300)])  # free soon, so that there is what to give back
        del kept[:-4]
        if ms:
            await asyncio.sleep(ms / 1000)
        writer.write(b"%d %d\n" % (seq, length) + (b"%d:%d " % (seq, seed) * length)[:length] + b"\n")
        await writer.drain()
    writer.close()


async def tick():
    while True:
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(0.007)
        if asyncio.get_running_loop().time() < began + 0.0069:
            print("a timer fired too early", file=sys.stderr)


async def main():
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    server = await asyncio.start_unix_server(serve, sys.argv[1])
    ticking = asyncio.create_task(tick())
    print("ready", flush=True)
    await ended.wait()
    ticking.cancel()
    server.close()


asyncio.run(main())
print("alive")
