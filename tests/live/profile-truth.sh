#!/bin/sh
# Profiles of a program that knows what it allocates where: each estimate is as far from the truth as chance lets it
# be, at every rate, and all of them together are right on average.
# shellcheck disable=SC3043,SC2034 # every sh we know has local; eval uses what seems unused
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
need_hooks
need jq

# one_run SEED RATE: adds a line for each place to $dir/errors: the rate, how far the bytes allocated and the bytes in
# use are from the truth, in standard deviations, and these deviations as a part of the truth.
one_run()
{
	local file name allocated used sigma sigma_used
	start_tracee sites 2
	profile start --rate "$2" && obeys "play $1 20000 $2" && profile stop -o "$dir/p" || return
	file=$(written)
	accounts >"$dir/accounts" || return
	while read -r name allocated _ used _ sigma sigma_used; do
		echo "$2 $allocated $(value "$file" allocated "${name#site_}") $sigma" \
			"$used $(value "$file" in-use "${name#site_}") $sigma_used"
	done <"$dir/accounts" >>"$dir/errors"
	rm "$file"
	end_tracee
}

# A number of samples that is small is not spread as many are: such places count for the mean alone.
near()
{
	awk '
		{ n++; z = ($3 - $2) / ($4 + 1); sum += z
		  if ($4 < $2 / 8 && (z > 5.5 || z < -5.5)) { print; bad++ }
		  part += ($3 - $2) / $2; deviation += $4 / $2 }
		{ live += $6 - $5; live_variance += $7 * $7 }
		END {
			printf "rate %d: %d estimates, mean error %+.2f%% of bytes allocated, by one\n", $1, n, 100 * part / n
			printf "standard error of %.2f%%; %+.2f standard errors of bytes in use\n", \
				100 * deviation / n / sqrt(n), live / (sqrt(live_variance) + 1)
			z = sum / sqrt(n)
			exit !(n && !bad && z < 5.5 && z > -5.5 &&
				live < 5.5 * sqrt(live_variance) + 1000 && live > -5.5 * sqrt(live_variance) - 1000)
		}' "$dir/errors"
}

seed=0
for rate in 1024 16384 131072 524288 4194304; do
	: >"$dir/errors"
	check "one byte in $rate: profiles are written" each_of 8 eval 'seed=$((seed + 1)); one_run "$seed" "$rate"'
	near >"$dir/table"
	sed 's/^/# /' "$dir/table"
	check "one byte in $rate: they are right" near
done
finish
