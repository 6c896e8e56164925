/* Names of C++ and Rust, and names that were made to take all memory. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/demangle.h"
#include "tap.h"

static void
is_demangled(const char *mangled, const char *want)
{
	auto_free char *name = demangle(mangled);

	ok(want ? name && strcmp(name, want) == 0 : !name, "%.40s: want %s, got %.99s", mangled,
		want ? want : "nothing", name ? name : "nothing");
}

int
main(void)
{
	char bomb[512], deep[5000];

	is_demangled("_ZN4shop6basketIiE4fillEv", "shop::basket<int>::fill");
	is_demangled("_ZNSt6vectorIdSaIdEE7reserveEm",
		"std::vector<double, std::allocator<double> >::reserve");
	is_demangled("_Znwm", "operator new");
	is_demangled("_ZN12_GLOBAL__N_13runEi", "(anonymous namespace)::run");
	is_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	is_demangled("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function");
	is_demangled("main", NULL);
	is_demangled("_Z", NULL);
	is_demangled("", NULL);

	is_demangled("_Z1fI1aSt4pairIS0_S0_ES1_IS2_S2_EEvv",
		"f<a, std::pair<a, a>, std::pair<std::pair<a, a>, std::pair<a, a> > >");
	/* Each pair is of the one before it, twice: the last would be 2^30 names long. */
	strcpy(bomb, "_Z1fI1aSt4pairIS0_S0_E");
	for (const char *at = "23456789ABCDEFGHIJKLMNOPQRSTUV"; *at; at++) {
		char pair[] = "S1_IS?_S?_E";

		pair[5] = pair[8] = *at;
		strcat(bomb, pair);
	}
	strcat(bomb, "Evv");
	is_demangled(bomb, NULL);

	strcpy(deep, "_Z1f");
	memset(deep + 4, 'P', sizeof deep - 5);
	deep[sizeof deep - 1] = '\0';
	is_demangled(deep, NULL);
	return tap_end();
}
