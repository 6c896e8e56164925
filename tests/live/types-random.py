#!/usr/bin/env python3
"""types-random.py SEED: a program in C++ with random classes, which says how many objects of each it has.

Classes have up to three bases, some of them virtual, are in namespaces, templates, unnamed namespaces and functions.  The
program says "class NUMBER NAME" with the name that the compiler's demangler gives the class."""

import random
import sys

NR_CLASSES = 40


def make_class(rng, nr, classes):
    """Return the name, the name that a demangler shows, and the lines of class NR, which may have bases among CLASSES."""
    bases = rng.sample(classes, min(len(classes), rng.choice([0, 0, 1, 1, 1, 2, 3])))
    listed = ", ".join(("virtual " if rng.random() < 0.25 else "") + "public " + base for base in bases)
    name = f"c{nr}"
    members = [f"	{rng.choice(['char', 'int', 'double', 'void *'])} m{nr}_{i}[{rng.randint(1, 9)}] = {{}};"
               for i in range(rng.randint(0, 3))]
    body = [f"	virtual ~{name}() = default;", f"	virtual int f{nr}() {{ return {nr}; }}"] + members
    is_template = rng.random() < 0.2
    lines = [f"struct {name}{' : ' + listed if listed else ''} {{"] + body + ["};"]
    space = rng.choice(["", "", "shapes", "shapes::inner", "*"])
    if is_template:
        lines = ["template <typename T>"] + lines
        lines[-1] = f"	T value{nr}{{}};\n}};"
    if space == "*":
        lines = ["namespace {"] + lines + ["}"]
    elif space:
        lines = [f"namespace {space} {{"] + lines + ["}"]
    full = (space + "::" if space not in ("", "*") else "") + name
    if is_template:
        full += rng.choice(["<int>", "<long*>", "<double>"])
    shown = "(anonymous namespace)::" + full if space == "*" else full
    return full, shown, lines


def main():
    rng = random.Random(int(sys.argv[1]))
    out = ['#include "tracee.h"', "#include <cxxabi.h>", "#include <memory>", "#include <string>", "#include <typeinfo>",
           "extern void **kept;", "void **kept;", "static size_t nr_kept;"]
    makes = []
    classes = []
    for nr in range(NR_CLASSES):
        name, shown, lines = make_class(rng, nr, classes)
        out += lines
        classes.append(name)
        makes.append((name, shown, rng.choice([0, 1, rng.randint(2, 20), rng.randint(20, 400)])))
    # The name is that of the compiler's own type_info, where there is one.
    out += ["template <typename T> static void", "make(int nr, const char *name)", "{",
            "#ifdef __GXX_RTTI",
            "	char *real = abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, nullptr);",
            "	name = real;",
            "#endif",
            "	for (int i = 0; i < nr; i++)",
            "		kept[nr_kept++] = new T;",
            "	if (nr)",
            "		tracee_say(\"class %d %s\", nr, name);", "}", "int", "main()", "{",
            "	kept = static_cast<void **>(malloc(100000 * sizeof *kept));"]
    rng.shuffle(makes)
    out += [f'	make<{name}>({nr}, "{shown}");' for name, shown, nr in makes]
    out += ["	tracee_ready();", "	return tracee_park();", "}"]
    print("\n".join(out))


main()
