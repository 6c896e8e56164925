"""
busy.py [THREADS]: a python3 program that speaks the protocol of tracee.h, with threads that wait.

	N	-> the sum of i * i for 0 <= i < N
"""
import os
import sys
import threading


def say(words):
    os.write(1, f"{words}\n".encode())


never = threading.Event()
for _ in range(int(sys.argv[1])):
    threading.Thread(target=never.wait, daemon=True).start()
say("ready")
while line := os.read(0, 100):
    say(sum(i * i for i in range(int(line))))
say("alive")
