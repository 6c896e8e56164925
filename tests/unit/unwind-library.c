/*
 * A library of tests/unit/unwind-walk.c, made three times with frames of other sizes, but with
 * code of the same length: the same return address needs another rule.
 */
int call_back(int (*function)(int), int n);

int
call_back(int (*function)(int), int n)
{
	volatile char buffer[BYTES];

	buffer[0] = 1;
	return function(n) + buffer[0];
}
