#include <config.h>

#include "agent/note/heap-file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "agent/base/say.h"
#include "agent/base/sys.h"
#include "agent/note/heap-name.h"
#include "agent/note/mapped.h"
#include "agent/note/seen.h"
#include "agent/note/sites.h"
#include "wire/maps.h"

/* ---- output ---- */

enum out_state {
	OUT_FREE,
	OUT_TAKEN,
	OUT_ENDED, /* the last file was written or is being written */
};

/* The file that is being written.  One thread at a time owns it. */
static struct {
	int state;	     /* enum out_state */
	uint32_t nr_flushed; /* so far; shows a waiting thread that the writer makes progress */
	long fd;
	long error; /* the first error; 0 if no error occurred */
	size_t len;
	char text[16384];
	struct path_text name, part; /* PART until the file is complete */
	uint32_t number;	     /* the number in both names */
} out;

static void
heap_file_flush(void)
{
	size_t done = 0;
	long n;

	__atomic_store_n(&out.nr_flushed, out.nr_flushed + 1, __ATOMIC_RELAXED);
	while (done < out.len && !out.error) {
		n = sys_call(SYS_write, out.fd, out.text + done, out.len - done);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			out.error = n ? -n : EIO;
		else
			done += (size_t)n;
	}
	out.len = 0;
}

static void
heap_file_put_char(char c)
{
	if (out.len == sizeof out.text)
		heap_file_flush();
	out.text[out.len++] = c;
}

static void
heap_file_put(const char *text)
{
	for (; *text; text++)
		heap_file_put_char(*text);
}

static void
put_number(uint64_t n)
{
	char digits[20];
	size_t nr = 0;

	do
		digits[nr++] = (char)('0' + n % 10);
	while (n /= 10);
	while (nr)
		heap_file_put_char(digits[--nr]);
}

static void
heap_file_put_hex(uint64_t n)
{
	char digits[16];
	size_t nr = 0;

	do
		digits[nr++] = "0123456789abcdef"[n & 15];
	while (n >>= 4);
	heap_file_put("0x");
	while (nr)
		heap_file_put_char(digits[--nr]);
}

/* ---- threads ---- */

/*
 * Threads are numbered in the order in which they appear.  Threads that find no room have no
 * number.
 */
#define MAX_THREADS 4096
static struct {
	uint32_t tid, number;
} threads[2 * MAX_THREADS];
static uint32_t nr_threads;

/*
 * Print the thread's name, which may contain any character, without backslashes and unprintable
 * characters.
 */
static void
put_thread(uint32_t tid)
{
	char comm[17] = "";
	struct path_text path = { .len = 0 };
	long fd, n = 0;

	path_add_text(&path, "/proc/self/task/");
	path_add_number(&path, tid, 1);
	path_add_text(&path, "/comm");
	fd = sys_call(SYS_openat, AT_FDCWD, path.text, O_RDONLY | O_CLOEXEC);
	if (!sys_failed(fd)) {
		n = sys_call(SYS_read, fd, comm, sizeof comm - 1);
		sys_call(SYS_close, fd);
	}
	heap_file_put("# thread ");
	put_number(tid);
	heap_file_put_char(' ');
	for (long i = 0; i < n && comm[i] != '\n'; i++)
		heap_file_put_char(
			comm[i] >= ' ' && comm[i] <= '~' && comm[i] != '\\' ? comm[i] : '?');
	heap_file_put_char('\n');
}

/* The number of thread TID, which is printed first if it is new; 0 if it has no number. */
static uint32_t
thread_number(uint32_t tid)
{
	const uint32_t room = sizeof threads / sizeof *threads;
	uint32_t i = tid * UINT32_C(2654435761) % room;

	if (!tid)
		return 0;
	for (; threads[i].tid; i = (i + 1) % room)
		if (threads[i].tid == tid)
			return threads[i].number;
	if (nr_threads == MAX_THREADS)
		return 0;
	put_thread(tid);
	threads[i].tid = tid;
	return threads[i].number = ++nr_threads;
}

/* ---- stacks ---- */

/*
 * Addresses of the single frame of sites that found no room, and of unknown stacks: no code is
 * mapped there.
 */
#define NO_ROOM (UINT64_C(1) << 48)
#define NO_FRAME (NO_ROOM + 1)

struct stack_text {
	uint64_t frame[WIRE_MAX_PATH];
	uint32_t nr;
	uint64_t size_bytes;
	uint32_t tid;
	bool is_mapped;
};

static void
heap_file_read_stack(uint32_t site, struct stack_text *ret)
{
	uint32_t node = wire_site(sites, site)->node;

	ret->nr = ret->tid = 0;
	ret->size_bytes = 0;
	ret->is_mapped = site == WIRE_SITE_OF_NO_MAPPING;
	for (; node; node = wire_nodes(sites)[node].parent) {
		const uint64_t address = wire_nodes(sites)[node].address;

		if (wire_label_of(address) == WIRE_LABEL_SIZE)
			ret->size_bytes = wire_label_value(address);
		else if (wire_label_of(address) == WIRE_LABEL_THREAD)
			ret->tid = (uint32_t)wire_label_value(address);
		else if (wire_label_of(address) == WIRE_LABEL_MAPPED)
			ret->is_mapped = true;
		else if ((wire_label_of(address) == WIRE_LABEL_NONE ||
				 wire_label_of(address) == WIRE_LABEL_CODE) &&
			ret->nr < WIRE_MAX_PATH)
			ret->frame[ret->nr++] = address;
	}
	if (!ret->nr)
		ret->frame[ret->nr++] = site <= WIRE_SITE_OF_NO_MAPPING ? NO_ROOM : NO_FRAME;
}

static void
put_amount(struct wire_amount a, const char *between)
{
	put_number(wire_objects(a));
	heap_file_put(between);
	put_number(a.bytes);
}

static void
heap_file_put_columns(struct wire_amount live, struct wire_amount allocated)
{
	put_amount(live, ": ");
	heap_file_put(" [");
	put_amount(allocated, ": ");
	heap_file_put("] @");
}

/* The values of a site: of its blocks or of its mappings. */
struct heap_file_values {
	struct wire_amount live, allocated, peak, temporary;
};

/*
 * True if a record has more live bytes than its peak: threads delay part of their additions to the
 * peak.
 */
static bool is_peak_now;

static struct heap_file_values
heap_file_values_of(const struct wire_site *s)
{
	const struct wire_amount live = wire_site_live(s);

	return (struct heap_file_values){ live, s->allocated,
		is_peak_now ? live : wire_site_peak(sites, s), s->temporary };
}

static void
put_values(const struct heap_file_values *v, const struct heap_file_values *mapped)
{
	const struct wire_amount all[] = { v->allocated, v->live, v->peak, v->temporary,
		mapped->live, mapped->allocated };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		heap_file_put_char(' ');
		put_amount(all[i], " ");
	}
}

static void
heap_file_put_site(uint32_t i)
{
	const struct wire_site s = *wire_site(sites, i);
	const struct heap_file_values none = { .live = { 0 } }, some = heap_file_values_of(&s);
	const struct heap_file_values *v = &some, *mapped = &none;
	struct stack_text stack;
	uint32_t thread;

	heap_file_read_stack(i, &stack);
	if (stack.is_mapped) {
		v = &none;
		mapped = &some;
	}
	thread = thread_number(stack.tid);
	heap_file_put_columns(v->live, v->allocated);
	for (uint32_t k = 0; k < stack.nr; k++) {
		heap_file_put_char(' ');
		heap_file_put_hex(stack.frame[k]);
	}
	heap_file_put("\n#+ ");
	put_number(thread);
	heap_file_put_char(' ');
	put_number(stack.size_bytes);
	put_values(v, mapped);
	heap_file_put_char('\n');
}

static bool
heap_file_is_in_use(uint32_t i)
{
	return wire_site(sites, i)->allocated.units &&
		(wire_site(sites, i)->node || i <= WIRE_SITE_OF_NO_MAPPING);
}

static bool
has_mappings(uint32_t i)
{
	struct stack_text stack;

	heap_file_read_stack(i, &stack);
	return stack.is_mapped;
}

static uint32_t
nr_sites(void)
{
	const uint32_t nr = __atomic_load_n(&sites->nr_sites, __ATOMIC_ACQUIRE);

	return nr < sites->max_sites ? nr : sites->max_sites;
}

/* ---- the whole file ---- */

static void
heap_file_put_head(void)
{
	uint64_t blocks[2] = { 0 }, bytes[2] = { 0 };

	for (uint32_t i = 1; i < nr_sites(); i++) {
		const struct wire_site s = *wire_site(sites, i);
		const struct wire_amount live = wire_site_live(&s);

		if (has_mappings(i))
			continue;
		blocks[0] += wire_objects(live);
		bytes[0] += live.bytes;
		blocks[1] += wire_objects(s.allocated);
		bytes[1] += s.allocated.bytes;
	}
	is_peak_now = wire_capture_of(sites->period_bytes) == WIRE_RECORD &&
		(int64_t)bytes[0] > sites->peak_bytes;
	heap_file_put("heap profile: ");
	heap_file_put_columns((struct wire_amount){ blocks[0] * WIRE_BLOCK_UNITS, bytes[0] },
		(struct wire_amount){ blocks[1] * WIRE_BLOCK_UNITS, bytes[1] });
	heap_file_put(
		" heapprofile\n# memdiag heap 1\n"
		"# values alloc_objects/count alloc_space/bytes inuse_objects/count "
		"inuse_space/bytes peak_objects/count peak_space/bytes temporary_objects/count "
		"temporary_space/bytes mapped_objects/count mapped_space/bytes "
		"mapped_alloc_objects/count mapped_alloc_space/bytes\n"
		"# period ");
	put_number(sites->period_bytes);
	heap_file_put("\n# pid ");
	put_number(sites->pid);
	heap_file_put("\n# time ");
	put_number(sites->started_ns);
	heap_file_put_char('\n');
}

static void
heap_file_put_comment(uint64_t nr, const char *what)
{
	if (!nr)
		return;
	heap_file_put("# comment ");
	put_number(nr);
	heap_file_put_char(' ');
	heap_file_put(what);
	heap_file_put_char('\n');
}

/* Print a name with the escapes of write-heap.c. */
static void
heap_file_put_escaped(const char *name)
{
	for (; *name; name++) {
		const unsigned char c = (unsigned char)*name;

		if (c >= 32 && c != 127 && c != '\\') {
			heap_file_put_char(*name);
			continue;
		}
		heap_file_put_char('\\');
		heap_file_put_char((char)('0' + (c >> 6)));
		heap_file_put_char((char)('0' + (c >> 3 & 7)));
		heap_file_put_char((char)('0' + (c & 7)));
	}
}

/* Print the names of an interpreter's functions, which only the agent knows. */
static void
put_codes(void)
{
	const uint32_t nr = __atomic_load_n(&sites->nr_nodes, __ATOMIC_ACQUIRE);

	for (uint32_t i = 1; i < nr && i < sites->max_nodes; i++) {
		char text[WIRE_MAX_TEXT_BYTES];
		const char *name;
		uint32_t line;

		if (wire_label_of(wire_nodes(sites)[i].address) != WIRE_LABEL_LINE)
			continue;
		name = sites_function(i, text, &line);
		if (!name)
			continue;
		heap_file_put("# name ");
		heap_file_put_hex(wire_label(WIRE_LABEL_CODE, i));
		heap_file_put_char(' ');
		put_number(line);
		heap_file_put_char('\t');
		heap_file_put_escaped(text);
		heap_file_put_char('\t');
		heap_file_put_escaped(name);
		heap_file_put_char('\n');
	}
}

static void
heap_file_put_line(void *arg, const char *line, size_t len)
{
	(void)arg;
	for (size_t i = 0; i < len; i++)
		heap_file_put_char(line[i]);
	heap_file_put_char('\n');
}

static void
put_maps(void)
{
	const struct wire_maps_texts texts = seen_texts();

	wire_maps_merge(&texts, heap_file_put_line, NULL);
}

static void
put_all(void)
{
	memset(threads, 0, sizeof threads);
	nr_threads = 0;
	heap_file_put_head();
	heap_file_put_comment(sites->nr_lost, "samples were lost in signal handlers");
	heap_file_put_comment(
		sites->nr_forgotten, "blocks count as in use for good: no memory to know them");
	heap_file_put_comment(
		sites->nr_missed, "blocks that signal handlers freed count as in use");
	heap_file_put_comment(wire_objects(sites->no_room),
		"blocks were not recorded: --max-overhead was reached, or there was no memory");
	heap_file_put_comment(__atomic_load_n(&sites->nr_unseen, __ATOMIC_RELAXED),
		"times an object was loaded that was one too many: its functions have no names");
	heap_file_put_comment(sites->nr_mappings_lost,
		"calls of mmap and related functions, of signal handlers or without room, were "
		"not noted");
	for (uint32_t i = 1; i < nr_sites(); i++)
		if (heap_file_is_in_use(i))
			heap_file_put_site(i);
	heap_file_put("\nMAPPED_LIBRARIES:\n");
	put_maps();
	put_codes();
	heap_file_put("# name ");
	heap_file_put_hex(NO_ROOM);
	heap_file_put(" 0\t\t[no room for more stacks]\n# name ");
	heap_file_put_hex(NO_FRAME);
	heap_file_put(" 0\t\t[unknown stack]\n");
	heap_file_put("# end\n");
	heap_file_flush();
}

static const char *
error_text(long error)
{
	static const struct {
		int error;
		const char *text;
	} known[] = {
		{ ENOENT, "No such file or directory" },
		{ ENOSPC, "No space left on device" },
		{ EACCES, "Permission denied" },
		{ EPERM, "Operation not permitted" },
		{ EROFS, "Read-only file system" },
		{ EFBIG, "File too large" },
		{ EDQUOT, "Disk quota exceeded" },
		{ EMFILE, "Too many open files" },
		{ ENOTDIR, "Not a directory" },
		{ EIO, "Input/output error" },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].error == error)
			return known[i].text;
	return "the system refused it";
}

static void
complain(void)
{
	static bool has_complained;
	static struct path_text text;

	if (has_complained)
		return;
	has_complained = true;
	text.len = 0;
	path_add_text(&text, error_text(out.error));
	path_add_text(&text, ": ");
	path_add_text(&text, out.name.text);
	say_string("memdiag: cannot write the profile: ", text.text);
}

/*
 * Signals of a write to a file that may not grow, or to a pipe without a reader.  The program must
 * not get them.
 */
#define SIGNAL_BIT(signal) (UINT64_C(1) << ((signal)-1))
#define OF_WRITING (SIGNAL_BIT(SIGXFSZ) | SIGNAL_BIT(SIGPIPE))

/* Write the whole file to OUT.fd, which stays open. */
static void
heap_file_write_all(void)
{
	const struct timespec at_once = { 0 };
	const uint64_t blocked = OF_WRITING;
	uint64_t was = 0, before = 0, ours;

	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &was, sizeof was);
	sys_call(SYS_rt_sigpending, &before, sizeof before);
	put_all();
	ours = OF_WRITING & ~before;
	ours &= out.error == EFBIG ? SIGNAL_BIT(SIGXFSZ) : SIGNAL_BIT(SIGPIPE);
	if ((out.error == EFBIG || out.error == EPIPE) && ours)
		sys_call(SYS_rt_sigtimedwait, &ours, NULL, &at_once, sizeof ours);
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &was, NULL, sizeof was);
}

/* ---- the number of a file ---- */

/* An entry of a directory in the format of getdents64(2). */
struct heap_file_entry {
	uint64_t inode, offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static bool
begins_and_ends(const char *name, const char *begin, const char *end)
{
	const size_t bytes = strlen(name), begin_bytes = strlen(begin), end_bytes = strlen(end);

	return bytes >= begin_bytes + end_bytes && memcmp(name, begin, begin_bytes) == 0 &&
		memcmp(name + bytes - end_bytes, end, end_bytes) == 0;
}

static bool
has_entry(long fd, const char *begin)
{
	long n;

	while ((n = sys_call(SYS_getdents64, fd, out.text, sizeof out.text)) > 0)
		for (long at = 0; at < n;) {
			const struct heap_file_entry *e = (const void *)(out.text + at);

			if (begins_and_ends(e->name, begin, HEAP_NAME_SUFFIX))
				return true;
			at += e->bytes;
		}
	return false;
}

/* True if a complete file with NUMBER exists.  Uses OUT.name and OUT.text. */
static bool
is_used(uint32_t number)
{
	char *slash;
	bool answer;
	long fd;

	heap_name_begin(&out.name, number);
	slash = strrchr(out.name.text, '/');
	if (slash)
		*slash = '\0';
	fd = sys_call(SYS_openat, AT_FDCWD,
		!slash			 ? "."
			: *out.name.text ? out.name.text
					 : "/",
		O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sys_failed(fd))
		return false;
	answer = has_entry(fd, slash ? slash + 1 : out.name.text);
	sys_call(SYS_close, fd);
	return answer;
}

/*
 * Find a number that is not used by memdiag or by an earlier program in this process.  A process
 * that has created PREFIX.PID.SEQ.part may use SEQ if no complete file has it.
 */
#define MAX_TRIES 1000

static void
heap_file_open_part(uint32_t number)
{
	out.len = 0;
	for (int tries = 0; tries < MAX_TRIES; tries++, number++) {
		heap_name_of_part(&out.part, number);
		out.fd = sys_call(SYS_openat, AT_FDCWD, out.part.text,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		out.error = sys_failed(out.fd) ? -out.fd : 0;
		out.number = number;
		if (out.error != EEXIST && (out.error || !is_used(number)))
			return;
		if (out.error)
			continue;
		sys_call(SYS_close, out.fd);
		sys_call(SYS_unlinkat, AT_FDCWD, out.part.text, 0);
		out.error = EEXIST;
	}
}

/* Rename without replacing a file, unless the file system does not support that (EINVAL). */
static long
give_name(void)
{
	const long moved = sys_call(
		SYS_renameat2, AT_FDCWD, out.part.text, AT_FDCWD, out.name.text, RENAME_NOREPLACE);

	if (moved != -EINVAL && moved != -ENOSYS)
		return moved;
	return sys_call(SYS_renameat, AT_FDCWD, out.part.text, AT_FDCWD, out.name.text);
}

/* Write a file, which gets its final name only when it is complete. */
static void
write_named(char kind, uint32_t nr_of_kind)
{
	long moved;

	heap_file_open_part(sites->nr_dumps);
	if (out.error) {
		heap_name_of_whole(&out.name, out.number, kind, nr_of_kind);
		complain();
		return;
	}
	heap_file_write_all();
	sys_call(SYS_close, out.fd);
	heap_name_of_whole(&out.name, out.number, kind, nr_of_kind);
	if (!out.error) {
		moved = give_name();
		out.error = sys_failed(moved) ? -moved : 0;
	}
	if (!out.error) {
		sites->nr_dumps = out.number + 1;
		return;
	}
	sys_call(SYS_unlinkat, AT_FDCWD, out.part.text, 0);
	complain();
}

static uint32_t nr_of_kinds[26];

void
heap_file_begin_child(void)
{
	memset(nr_of_kinds, 0, sizeof nr_of_kinds);
	out.state = OUT_FREE;
}

static bool
heap_file_take_out(void)
{
	int was = OUT_FREE;

	return __atomic_compare_exchange_n(
		&out.state, &was, OUT_TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

#define LAST 'f'

/*
 * The thread that ends the program waits for a thread that writes a file, as long as that makes
 * progress.
 */
#define TAKE_TRIES 2000
#define TAKE_PAUSE_NS 1000000

static bool
wait_and_take_out(void)
{
	const struct timespec pause = { .tv_nsec = TAKE_PAUSE_NS };
	uint32_t seen = 0, now;

	for (int tries = 0; tries < TAKE_TRIES; tries++) {
		if (heap_file_take_out())
			return true;
		if (__atomic_load_n(&out.state, __ATOMIC_RELAXED) == OUT_ENDED)
			return false;
		sys_call(SYS_nanosleep, &pause, NULL);
		now = __atomic_load_n(&out.nr_flushed, __ATOMIC_RELAXED);
		if (now != seen)
			tries = 0;
		seen = now;
	}
	return false;
}

/* Write a file of KIND, in state OUT_TAKEN. */
static void
write_kind(char kind)
{
	uint32_t *nr = &nr_of_kinds[(kind - 'a') % 26];

	mapped_note();
	write_named(kind, *nr);
	*nr += !out.error;
}

static bool
is_own(void)
{
	return sites->pid == (uint32_t)sys_call(SYS_getpid, 0);
}

void
heap_file_write(char kind)
{
	if (!sites_hold())
		return;
	if (is_own() && heap_file_take_out()) {
		write_kind(kind);
		__atomic_store_n(&out.state, OUT_FREE, __ATOMIC_RELEASE);
	}
	sites_let_go();
}

int
heap_file_write_to(int fd)
{
	int error = ENODATA;

	if (!sites_hold())
		return ENODATA;
	if (is_own() && !heap_file_take_out()) {
		error = EAGAIN;
	} else if (is_own()) {
		mapped_note_now();
		out.fd = fd;
		out.len = 0;
		out.error = 0;
		heap_file_write_all();
		error = (int)out.error;
		__atomic_store_n(&out.state, OUT_FREE, __ATOMIC_RELEASE);
	}
	sites_let_go();
	return error;
}

bool
heap_file_write_last(bool may_go_on)
{
	bool is_taken;

	if (!sites_hold())
		return false;
	is_taken = is_own() && wait_and_take_out();
	if (is_taken)
		write_kind(LAST);
	if (is_taken && !may_go_on)
		__atomic_store_n(&out.state, OUT_ENDED, __ATOMIC_RELEASE);
	sites_let_go();
	return is_taken;
}

/* Let the next file use the number of a removed file. */
static void
give_number_back(void)
{
	uint32_t next = out.number + 1;

	if (!sites_hold())
		return;
	__atomic_compare_exchange_n(
		&sites->nr_dumps, &next, out.number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	sites_let_go();
}

void
heap_file_go_on(void)
{
	if (!out.error) {
		sys_call(SYS_unlinkat, AT_FDCWD, out.name.text, 0);
		nr_of_kinds[LAST - 'a']--;
		give_number_back();
	}
	__atomic_store_n(&out.state, OUT_FREE, __ATOMIC_RELEASE);
}
