#include <config.h>

#include "stack/memo.h"

#include <stdlib.h>
#include <string.h>

#include "base/raddr.h"
#include "stack/source.h"

/* One walk for each hash of program counter and stack pointer. */
#define NR_WALKS 256
/* A frame takes a few words; longer walks are not kept. */
#define MAX_WORDS 512
#define MAX_FRAMES 128
#define MAX_BEYOND 8

struct memo_word {
	uint64_t at, value;
};

struct memo_walk {
	bool is_used, is_complete, is_cut, is_beyond;
	size_t nr_regs, nr_words, nr_beyond, nr_frames;
	raddr beyond[MAX_BEYOND];
	struct memo_word reg[STACK_MAX_REGS]; /* at: the index */
	struct memo_word word[MAX_WORDS];
	struct stack_frame frame[MAX_FRAMES];
};

struct memo {
	struct memo_walk *noting;	 /* NULL: nothing is noted */
	struct memo_walk walk[NR_WALKS]; /* pages of unused ones are not resident */
};

struct memo *
memo_new(void)
{
	return calloc(1, sizeof(struct memo));
}

void
memo_free(struct memo *m)
{
	free(m);
}

static struct memo_walk *
memo_place(struct memo *m, uint64_t pc, uint64_t sp)
{
	const uint64_t hash = (pc ^ sp << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return &m->walk[hash >> 32 & (NR_WALKS - 1)];
}

static bool
memo_is_in_copy(const struct stack_source *s, uint64_t addr)
{
	const uint64_t offset = addr - s->sp.v;

	return offset < s->copy_bytes && s->copy_bytes - offset >= sizeof(uint64_t);
}

/* Return whether a walk of S would read what WALK has read. */
static bool
memo_reads_same(const struct memo_walk *walk, const struct stack_source *s)
{
	for (size_t i = 0; i < walk->nr_regs; i++)
		if (s->regs[walk->reg[i].at] != walk->reg[i].value)
			return false;
	for (size_t i = 0; i < walk->nr_words; i++) {
		const struct memo_word *w = &walk->word[i];

		if (!memo_is_in_copy(s, w->at) ||
			memcmp(s->copy + (w->at - s->sp.v), &w->value, sizeof w->value) != 0)
			return false;
	}
	for (size_t i = 0; i < walk->nr_beyond; i++)
		if (memo_is_in_copy(s, walk->beyond[i].v) ||
			!stack_source_changes(s, walk->beyond[i]))
			return false;
	return true;
}

bool
memo_find(struct memo *m, const struct stack_source *s, uint64_t pc, struct stack *ret)
{
	struct memo_walk *walk = memo_place(m, pc, s->sp.v);

	m->noting = NULL;
	if (walk->is_used && memo_reads_same(walk, s)) {
		ret->nr = walk->nr_frames;
		ret->is_complete = walk->is_complete;
		ret->is_cut = walk->is_cut;
		ret->is_beyond = walk->is_beyond;
		memcpy(ret->frame, walk->frame, walk->nr_frames * sizeof *walk->frame);
		return true;
	}
	walk->is_used = false;
	walk->nr_regs = walk->nr_words = walk->nr_beyond = 0;
	m->noting = walk;
	return false;
}

void
memo_spoil(struct memo *m)
{
	if (m)
		m->noting = NULL;
}

void
memo_note_register(struct memo *m, int i, uint64_t value)
{
	struct memo_walk *walk = m ? m->noting : NULL;

	if (walk && walk->nr_regs < STACK_MAX_REGS)
		walk->reg[walk->nr_regs++] = (struct memo_word){ (uint64_t)i, value };
	else
		memo_spoil(m);
}

void
memo_note_word(struct memo *m, uint64_t addr, uint64_t value)
{
	struct memo_walk *walk = m ? m->noting : NULL;

	if (walk && walk->nr_words < MAX_WORDS)
		walk->word[walk->nr_words++] = (struct memo_word){ addr, value };
	else
		memo_spoil(m);
}

void
memo_note_beyond(struct memo *m, uint64_t addr)
{
	struct memo_walk *walk = m ? m->noting : NULL;

	if (walk && walk->nr_beyond < MAX_BEYOND)
		walk->beyond[walk->nr_beyond++].v = addr;
	else
		memo_spoil(m);
}

void
memo_keep(struct memo *m, const struct stack *result)
{
	struct memo_walk *walk = m ? m->noting : NULL;

	memo_spoil(m);
	if (!walk || result->nr > MAX_FRAMES)
		return;
	walk->is_complete = result->is_complete;
	walk->is_cut = result->is_cut;
	walk->is_beyond = result->is_beyond;
	walk->nr_frames = result->nr;
	memcpy(walk->frame, result->frame, result->nr * sizeof *walk->frame);
	walk->is_used = true;
}
