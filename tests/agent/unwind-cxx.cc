/*
 * unwind-cxx: C++ whose stacks are hard to walk: exceptions through many frames, destructors that allocate while one is
 * under way, deep inlining, lambdas, virtual functions, threads, and recursion. Run by tests/live/unwind-programs.sh.
 */
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct guard {
	std::string name;
	~guard()
	{
		/* While an exception is under way. */
		std::vector<std::string> copies(3, name + " is destroyed, with a text that is long enough");
	}
};

struct shape {
	virtual ~shape() = default;
	virtual std::string text(int depth) const = 0;
};

template <int N> struct nested : shape {
	std::string text(int depth) const override
	{
		guard g{ "nested " + std::to_string(N) };

		if (depth == 0)
			throw std::runtime_error("thrown at the bottom of all these functions");
		return nested<(N + 1) % 7>().text(depth - 1) + g.name;
	}
};

static int
catch_some(int depth)
{
	try {
		return (int)nested<0>().text(depth).size();
	} catch (const std::runtime_error &e) {
		return (int)std::string(e.what()).size();
	}
}

static int
rethrow(int depth)
{
	try {
		if (depth > 0)
			return rethrow(depth - 1);
		return catch_some(10) + (int)nested<3>().text(5).size();
	} catch (...) {
		guard g{ "rethrown, and caught again further out" };

		if (depth < 8)
			throw;
		return 1;
	}
}

static long
recurse(int depth, const std::function<std::string(int)> &make)
{
	const std::string text = make(depth);

	return depth ? recurse(depth - 1, make) + (long)text.size() : 0;
}

static long
work(int rounds)
{
	std::map<std::string, std::vector<std::shared_ptr<std::string>>> all;
	long sum = 0;

	for (int i = 0; i < rounds; i++) {
		std::ostringstream s;

		sum += catch_some(i % 20) + rethrow(10);
		s << "number " << i << " with a text that does not fit into the string itself";
		all[s.str()].push_back(std::make_shared<std::string>(s.str()));
		sum += recurse(i % 300, [&](int n) { return s.str() + std::to_string(n); });
		std::vector<std::string> names;
		for (auto &entry : all)
			names.push_back(entry.first);
		std::sort(names.begin(), names.end(),
			[](std::string a, std::string b) { return a + "!" > b + "!"; });
		if (i % 10 == 0)
			sum += std::regex_match(names[0], std::regex("(n[a-z]*|x) ([0-9]+|y+) with.*"));
	}
	return sum;
}

int
main(int argc, char **argv)
{
	const int rounds = argc > 1 ? std::stoi(argv[1]) : 10;
	std::thread other([&] { work(rounds); });

	work(rounds);
	other.join();
	std::cout << "done\n";
}
