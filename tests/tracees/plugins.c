/*
 * plugins DIR N: load and unload the N libraries DIR/plugin-K.so, many of which come to the same
 * addresses; some by a relative name, so DIR is to be the working directory.  Each has a function
 * plugin_K_make(), which calls malloc(); blocks outlive their library.
 *
 *	play SEED STEPS THREADS	as many threads, which share the libraries between them
 *	live FILE		write for each library how many bytes and blocks of it are live
 */
#include "tracee.h"

#include <dlfcn.h>
#include <limits.h>

#define MAX_PLUGINS 64
#define MAX_LOADED 3
#define MAX_KEPT 4000
#define MAX_THREADS 8

static char dir[PATH_MAX];
static int nr_plugins;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct plugin {
	void *handle;
	void *(*make)(size_t size);
	uint64_t live_bytes, live_blocks;
} plugins[MAX_PLUGINS];

/* Functions by address, to tell how many libraries have come to one. */
static struct {
	void *at;
	int plugin;
	bool is_shared;
} met[4096];
static int nr_met, nr_shared;

struct player {
	pthread_t thread;
	uint64_t random;
	int nr_steps, number, nr_players;
	int nr_kept;
	struct {
		void *block;
		size_t size;
		int plugin;
	} kept[MAX_KEPT];
};
static struct player players[MAX_THREADS];

static uint64_t
below(struct player *p, uint64_t n)
{
	p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (p->random >> 33) % n;
}

static void
note(void *at, int plugin)
{
	for (int i = 0; i < nr_met; i++) {
		if (met[i].at != at)
			continue;
		if (met[i].plugin != plugin && !met[i].is_shared) {
			met[i].is_shared = true;
			nr_shared++;
		}
		return;
	}
	if (nr_met < (int)(sizeof met / sizeof *met)) {
		met[nr_met].at = at;
		met[nr_met++].plugin = plugin;
	}
}

static void
load(int number)
{
	struct plugin *p = &plugins[number];
	char path[PATH_MAX + 32], name[32];

	snprintf(path, sizeof path, "%s/plugin-%d.so", number % 4 == 1 ? "." : dir, number);
	snprintf(name, sizeof name, "plugin_%d_make", number);
	p->handle = dlopen(path, RTLD_NOW);
	if (!p->handle || !(p->make = (void *(*)(size_t))dlsym(p->handle, name))) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(99);
	}
	pthread_mutex_lock(&lock);
	note((void *)p->make, number);
	pthread_mutex_unlock(&lock);
}

static void
drop(struct player *p, int at)
{
	struct plugin *of = &plugins[p->kept[at].plugin];

	free(p->kept[at].block);
	of->live_bytes -= p->kept[at].size;
	of->live_blocks--;
	p->kept[at] = p->kept[--p->nr_kept];
}

static void
use(struct player *p, int number)
{
	for (uint64_t n = below(p, 6); n > 0; n--) {
		const size_t size = 1 + below(p, 5000);

		if (p->nr_kept == MAX_KEPT || (p->nr_kept && below(p, 3) == 0))
			drop(p, (int)below(p, (uint64_t)p->nr_kept));
		p->kept[p->nr_kept].block = plugins[number].make(size);
		p->kept[p->nr_kept].size = size;
		p->kept[p->nr_kept++].plugin = number;
		plugins[number].live_bytes += size;
		plugins[number].live_blocks++;
	}
}

/* A player has the libraries whose number is its own, modulo the players. */
static void *
play(void *arg)
{
	struct player *p = arg;
	int loaded[MAX_LOADED], nr_loaded = 0;

	for (int i = 0; i < p->nr_steps; i++) {
		const int nr = (nr_plugins - p->number + p->nr_players - 1) / p->nr_players;
		const int number = p->number + p->nr_players * (int)below(p, (uint64_t)nr);

		if (!plugins[number].handle && nr_loaded < MAX_LOADED) {
			load(number);
			loaded[nr_loaded++] = number;
		} else if (nr_loaded) {
			const int at = (int)below(p, (uint64_t)nr_loaded);

			dlclose(plugins[loaded[at]].handle);
			plugins[loaded[at]].handle = NULL;
			loaded[at] = loaded[--nr_loaded];
		}
		for (int k = 0; k < nr_loaded; k++)
			use(p, loaded[k]);
	}
	while (nr_loaded) {
		dlclose(plugins[loaded[--nr_loaded]].handle);
		plugins[loaded[nr_loaded]].handle = NULL;
	}
	return NULL;
}

static void
play_all(uint64_t seed, int nr_steps, int nr_threads)
{
	for (int i = 0; i < nr_threads; i++) {
		players[i].random = seed * 1000 + (uint64_t)i;
		players[i].nr_steps = nr_steps;
		players[i].number = i;
		players[i].nr_players = nr_threads;
	}
	for (int i = 1; i < nr_threads; i++)
		if (pthread_create(&players[i].thread, NULL, play, &players[i]) != 0)
			tracee_fail("pthread_create");
	play(&players[0]);
	for (int i = 1; i < nr_threads; i++)
		pthread_join(players[i].thread, NULL);
}

static void
write_live(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		tracee_fail(path);
	for (int i = 0; i < nr_plugins; i++)
		fprintf(f, "plugin_%d_make %llu %llu\n", i,
			(unsigned long long)plugins[i].live_bytes,
			(unsigned long long)plugins[i].live_blocks);
	fclose(f);
}

int
main(int argc, char **argv)
{
	char line[PATH_MAX + 64], path[PATH_MAX];
	unsigned long long seed;
	int steps, threads;

	if (argc < 3 || !realpath(argv[1], dir))
		return 1;
	nr_plugins = atoi(argv[2]);
	if (nr_plugins < 1 || nr_plugins > MAX_PLUGINS)
		return 1;
	tracee_ready();
	while (tracee_command(line, sizeof line))
		if (sscanf(line, "play %llu %d %d", &seed, &steps, &threads) == 3 && threads >= 1 &&
			threads <= MAX_THREADS) {
			play_all(seed, steps, threads);
			tracee_say("shared %d of %d", nr_shared, nr_met);
		} else if (sscanf(line, "live %4095s", path) == 1) {
			write_live(path);
			tracee_say("done");
		} else
			tracee_say("what is '%s'?", line);
	return tracee_end();
}
