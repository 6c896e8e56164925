# lines.py SEED: functions of Python that are written by chance, of several hundred lines in all, and run.  Prints
# "FUNCTION LINE BYTES" of what each line has allocated, in blocks that are larger than Python's own allocator takes.
# The file is called "lines.py", and the lines are those of the text, not of this one.
import random
import sys

X = b"x"  # no constant: the compiler makes products of these itself
sums = {}
random.seed(int(sys.argv[1]))
text = []


def note(function, line, block):
	sums[function, line] = sums.get((function, line), 0) + sys.getsizeof(block)


# The line that is written next.
def next_line():
	return len(text) + 1


def write(depth, words):
	text.append("\t" * depth + words)


def write_gap():
	for i in range(random.choice([0, 0, 0, 1, 2, 70, 400])):
		write(0, random.choice(["", "# a comment"]))


def write_block(function, depth):
	write(depth, "note(%r, %d, X * %d)" % (function, next_line(), random.randrange(1000, 5000)))


# A call over several lines, whose arguments allocate.
def write_call(function, depth):
	write(depth, "max(")
	for i in range(random.randrange(1, 4)):
		write_gap()
		write(depth + 1, "note(%r, %d, X * %d) or 1," % (function, next_line(), random.randrange(1000, 5000)))
	write(depth, "2)")


def write_padding(depth):
	write(depth, "; ".join("a%d = %d" % (i, i) for i in range(random.randrange(1, 60))))


def write_body(function, depth, levels):
	for i in range(random.randrange(1, 5)):
		write_gap()
		kind = random.randrange(7) if levels else random.randrange(3)
		if kind == 0:
			write_block(function, depth)
		elif kind == 1:
			write_call(function, depth)
		elif kind == 2:
			write_padding(depth)
		elif kind == 3:
			write(depth, "for i%d in range(%d):" % (depth, random.randrange(1, 4)))
			write_body(function, depth + 1, levels - 1)
		elif kind == 4:
			write(depth, "try:")
			write_body(function, depth + 1, levels - 1)
			write(depth + 1, "raise ValueError")
			write(depth, "except ValueError:")
			write_body(function, depth + 1, levels - 1)
			write(depth, "finally:")
			write_body(function, depth + 1, levels - 1)
		elif kind == 5:
			write(depth, "if X:")
			write_body(function, depth + 1, levels - 1)
			write(depth, "else:")
			write_body(function, depth + 1, levels - 1)
		else:
			write(depth, "with Nothing():")
			write_body(function, depth + 1, levels - 1)
	write_block(function, depth)


class Nothing:
	def __enter__(self):
		return self

	def __exit__(self, *what):
		return False


def write_function(name, calls):
	write_gap()
	write(0, "def %s():" % name)
	if random.randrange(2):
		write(1, "def py_inner():")
		write_body(name + ".<locals>.py_inner", 2, 1)
		write_body(name, 1, 2)
		write(1, "py_inner()")
	else:
		write_body(name, 1, 3)
	# A generator runs on at another line each time.
	if random.randrange(2):
		write(1, "yield 1")
		write_body(name, 1, 1)
		write(1, "yield 2")
	else:
		write(1, "return ()")


names = ["py_%d" % i for i in range(20)]
for name in names:
	write_function(name, names)
functions = {"note": note, "X": X, "Nothing": Nothing}
exec(compile("\n".join(text), "lines.py", "exec"), functions)
for i in range(10):
	for name in random.sample(names, len(names)):
		for j in functions[name]():
			pass
for (function, line), size in sums.items():
	print(function, line, size)
