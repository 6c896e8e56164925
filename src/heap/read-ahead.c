#include <config.h>

#include "heap/read-ahead.h"

#include "base/err.h"
#include "heap/heap-priv.h"
#include "os/memory.h"

#include <pthread.h>
#include <stdlib.h>

/* One is looked at, one is being read, and two even out differences. */
#define NR_PIECES 4

struct piece {
	char *buf;
	uint64_t start, end; /* the range to read; END is 0 after the last piece */
	uint64_t nr_bytes;   /* bytes of it that were read */
};

struct read_ahead {
	const struct target *t;
	const struct page_runs *runs;
	size_t piece_bytes;
	bool is_alone;
	uint64_t from;
	char *buf; /* owned; of all pieces */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* with LOCK: numbers of pieces; piece N is in piece[N % NR_PIECES] */
	unsigned int nr_read, nr_done;
	bool is_over;
	struct piece piece[NR_PIECES];
};

/* Wait for room for one more piece.  False if it is not wanted any more. */
static bool
read_ahead_wait(struct read_ahead *r)
{
	bool is_over;

	pthread_mutex_lock(&r->lock);
	while (!r->is_over && r->nr_read - r->nr_done == NR_PIECES)
		pthread_cond_wait(&r->changed, &r->lock);
	is_over = r->is_over;
	pthread_mutex_unlock(&r->lock);
	return !is_over;
}

/* Read [START, END), and hand it over; END is 0 after the last piece. */
static void
read_piece_ahead(struct read_ahead *r, uint64_t start, uint64_t end)
{
	struct piece *p = &r->piece[r->nr_read % NR_PIECES];
	struct err ignored;
	ssize_t n = 0;

	if (end)
		n = (r->is_alone ? os_read_unshared : os_read_some)(
			r->t, (raddr){ start }, p->buf, end - start, &ignored);
	p->start = start;
	p->end = end;
	p->nr_bytes = n > 0 ? (uint64_t)n : 0;
	pthread_mutex_lock(&r->lock);
	r->nr_read++;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void *
read_all_ahead(void *arg)
{
	struct read_ahead *r = arg;
	uint64_t at = r->from;

	for (size_t i = 0; i < r->runs->nr; i++) {
		const struct page_run *run = &r->runs->v[i];

		if (at < run->start.v)
			at = run->start.v;
		while (run->is_present && at < run->end.v) {
			uint64_t left = run->end.v - at;
			uint64_t end = at + (left < r->piece_bytes ? left : r->piece_bytes);

			if (!read_ahead_wait(r))
				return NULL;
			read_piece_ahead(r, at, end);
			at = end;
		}
	}
	if (read_ahead_wait(r))
		read_piece_ahead(r, 0, 0);
	return NULL;
}

struct read_ahead *
read_ahead_new(const struct target *t, const struct page_runs *runs, uint64_t addr,
	size_t piece_bytes, bool is_alone)
{
	struct read_ahead *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->t = t;
	r->runs = runs;
	r->piece_bytes = piece_bytes;
	r->is_alone = is_alone;
	r->from = addr;
	r->buf = malloc(NR_PIECES * piece_bytes);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	for (int i = 0; r->buf && i < NR_PIECES; i++)
		r->piece[i].buf = r->buf + (size_t)i * piece_bytes;
	if (!r->buf || pthread_create(&r->thread, NULL, read_all_ahead, r) != 0) {
		free(r->buf);
		free(r);
		return NULL;
	}
	return r;
}

void
read_ahead_free(struct read_ahead *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_over = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	free(r->buf);
	free(r);
}

const char *
read_ahead_at(struct read_ahead *r, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct piece *p;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		while (r->nr_read == r->nr_done)
			pthread_cond_wait(&r->changed, &r->lock);
		p = &r->piece[r->nr_done % NR_PIECES];
		if (!p->end || addr < p->end)
			break;
		r->nr_done++;
		pthread_cond_signal(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	if (!p->end || addr < p->start || addr >= p->start + p->nr_bytes)
		return NULL;
	*ret_start = p->start;
	*ret_end = p->start + p->nr_bytes;
	return p->buf;
}
