# functions.py [THREADS]: functions of Python that allocate what is known, called in all the ways that there are.
#
#	work N	-> "done" when each thread has done all of it N times
#	sums	-> a line "NAME BYTES" for each function, then "end"
#
# A function's name begins with py_, and the blocks that it allocates itself are bytes objects larger than what
# Python's own allocator takes (512), and nothing else of that size.
import ctypes
import functools
import gc
import sys
import threading
import weakref

SLOTS = 64
X = b"x"  # no constant: the compiler makes products of these itself
NR_EXEC = 200
local = threading.local()
ledgers = []
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
gil_libc = ctypes.PyDLL(None)
gil_libc.malloc.restype = ctypes.c_void_p
gil_libc.malloc.argtypes = [ctypes.c_size_t]

NAMES = ["py_leaf", "py_recursive", "py_generator", "py_by_send", "py_in_handler", "py_after_raise", "Py.py_method",
	"Py.py_static", "Py.__del__", "py_on_death", "py_sorted.<locals>.<lambda>", "py_decorated", "py_by_map",
	"py_größe", "py_async", "py_awaits", "py_by_ctypes", "py_without_gil", "py_traced",
	"py_" + "very_" * 30 + "long"] + ["py_exec_%d" % i for i in range(NR_EXEC)]


def keep(name, block):
	local.ledger[name] += sys.getsizeof(block)
	local.slot = (local.slot + 1) % SLOTS
	local.kept[local.slot] = block


def py_leaf(n):
	keep("py_leaf", X * n)


def py_recursive(depth):
	if depth:
		return py_recursive(depth - 1)
	keep("py_recursive", X * 6000)


def py_generator():
	while True:
		keep("py_generator", X * 7000)
		yield


def py_by_send():
	while True:
		n = yield
		keep("py_by_send", X * n)


def raise_from(depth):
	if depth:
		raise_from(depth - 1)
	raise ValueError


def py_in_handler():
	try:
		raise_from(3)
	except ValueError:
		keep("py_in_handler", X * 8000)


def py_after_raise():
	try:
		raise_from(5)
	except ValueError:
		pass
	keep("py_after_raise", X * 2000)


class Py:
	def py_method(self):
		keep("Py.py_method", X * 3000)

	@staticmethod
	def py_static():
		keep("Py.py_static", X * 3100)

	def __del__(self):
		keep("Py.__del__", X * 3200)


class Dies:
	pass


def py_on_death(reference):
	keep("py_on_death", X * 3300)


def py_sorted():
	return sorted([3, 1, 2], key=lambda x: keep("py_sorted.<locals>.<lambda>", X * 900) or x)


def py_by_map(n):
	keep("py_by_map", X * n)


def decorator(function):
	@functools.wraps(function)
	def wrapper(*arguments):
		return function(*arguments)
	return wrapper


@decorator
def py_decorated():
	keep("py_decorated", X * 4100)


def py_größe():
	keep("py_größe", X * 4200)


async def py_awaits():
	keep("py_awaits", X * 4300)


async def py_async():
	await py_awaits()
	keep("py_async", X * 4400)


def run(coroutine):
	try:
		coroutine.send(None)
	except StopIteration:
		pass


def py_by_ctypes():
	libc.free(gil_libc.malloc(5000))
	local.ledger["py_by_ctypes"] += 5000


def py_without_gil():
	libc.free(libc.malloc(5100))
	local.ledger["py_without_gil"] += 5100


def trace(frame, event, argument):
	return trace


def py_traced():
	sys.settrace(trace)
	keep("py_traced", X * 5200)
	sys.settrace(None)


exec("def %s():\n\tkeep(%r, X * 5300)\n" % (NAMES[19], NAMES[19]))


# A function whose code object is freed at once: the next one has its address.
def run_text(i):
	space = {"keep": keep, "X": X}
	exec("def py_exec_%d(n):\n\tkeep('py_exec_%d', X * n)\n" % (i, i), space)
	space["py_exec_%d" % i](1000 + i)


def work(times):
	generator, sender = py_generator(), py_by_send()
	next(sender)
	for i in range(times):
		py_leaf(20000)
		py_recursive(5)
		next(generator)
		sender.send(2500)
		py_in_handler()
		py_after_raise()
		it = Py()
		it.py_method()
		it.py_static()
		del it
		dies = Dies()
		reference = weakref.ref(dies, py_on_death)
		del dies
		py_sorted()
		py_decorated()
		list(map(py_by_map, [2600, 2700]))
		py_größe()
		run(py_async())
		py_by_ctypes()
		py_without_gil()
		py_traced()
		globals()[NAMES[19]]()
		run_text(i % NR_EXEC)
	gc.collect()


def thread(ledger, times):
	local.ledger, local.slot, local.kept = ledger, 0, [None] * SLOTS
	work(times)


def main():
	nr = int(sys.argv[1]) if len(sys.argv) > 1 else 1
	print("ready", flush=True)
	for line in sys.stdin:
		words = line.split()
		if words[0] == "work":
			ledgers.extend(dict.fromkeys(NAMES, 0) for i in range(nr))
			threads = [threading.Thread(target=thread, args=(l, int(words[1]))) for l in ledgers[-nr:]]
			for t in threads:
				t.start()
			for t in threads:
				t.join()
			print("done", flush=True)
		elif words[0] == "deep":
			local.ledger, local.slot, local.kept = dict.fromkeys(NAMES, 0), 0, [None] * SLOTS
			sys.setrecursionlimit(20000)
			py_recursive(int(words[1]))
			print("done", flush=True)
		elif words[0] == "sums":
			for name in NAMES:
				print(name, sum(l[name] for l in ledgers))
			print("end", flush=True)
	print("alive", flush=True)


main()
