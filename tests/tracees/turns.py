# turns.py TIMES: functions of Python that are called in turns below the same native frames: others, in another number,
# and other ones with the same code object, as if it had been freed and made anew.  Prints "CALLS CALLER FUNCTION BYTES"
# of what each has allocated: CALLS is how many calls of py_through there are, the others are "NAME FILE:LINE", with the
# line that runs, which is the one after the function's first.
import ctypes
import itertools
import sys

X = b"x"  # no constant: the compiler makes products of these itself
LINE = 72 if sys.version_info < (3, 12) else 68  # of a code object: co_firstlineno, co_filename, co_qualname
FILE, NAME = 112, 128
sums = {}


def py_leaf(n):
	return X * n


def py_other(n):
	return X * n


def py_call(function, n):
	return function(n)


def py_through(depth, function, n):
	return py_through(depth - 1, function, n) if depth > 1 else py_call(function, n)


# Both are kept for ever, so the code object has no reference of its own.
def become(function, name, file, line):
	at = id(function.__code__)
	ctypes.c_void_p.from_address(at + NAME).value = id(name)
	ctypes.c_void_p.from_address(at + FILE).value = id(file)
	ctypes.c_int.from_address(at + LINE).value = line


def turn(leaf, depth, caller, function):
	runs = lambda name, file, line: (name, file, line + 1)
	key = "%d %s %s:%d %s %s:%d" % ((depth,) + runs(*caller) + runs(*function))
	for i in range(8):
		block = py_through(depth, leaf, 1000) if depth else py_call(leaf, 1000)
		sums[key] = sums.get(key, 0) + sys.getsizeof(block)


# Strings of their own: "a.py" twice, so that not only the same object is the same file.
FILES = ["a.py", "b.py", "".join(["a", ".py"])]
NAMES = ["py_first", "py_after"]
LEAVES = list(itertools.product(NAMES, FILES, (3, 4)))
CALLERS = [("py_caller", file, 7) for file in FILES]
was = [(f, f.__code__.co_qualname, f.__code__.co_filename, f.__code__.co_firstlineno) for f in (py_leaf, py_other, py_call)]

for i in range(int(sys.argv[1])):
	for function, caller, depth in itertools.product(LEAVES, CALLERS, range(3)):
		become(py_call, *caller)
		for leaf in (py_leaf, py_other):
			become(leaf, *function)
			turn(leaf, depth, caller, function)
		become(py_other, "py_other", FILES[0], 5)
		turn(py_other, depth, caller, ("py_other", FILES[0], 5))
for f in was:
	become(*f)
for key, bytes in sums.items():
	print(key, bytes)
