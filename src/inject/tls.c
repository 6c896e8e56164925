/* Determine whether a thread has used a library: its thread-local variables have changed. */
#include <config.h>

#include "inject/tls.h"

#include "arch/arch.h"
#include "base/cleanup.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "os/memory.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

bool
inject_tls_is_used(const struct inject_tls *tls, const struct target *t, pid_t tid, raddr tp)
{
	auto_free char *now = NULL, *first = NULL;
	struct err e;

	if (!tls->offset)
		return tid == t->pid;
	now = malloc(tls->bytes);
	first = calloc(1, tls->bytes);
	return now && first &&
		os_read(t, (raddr){ tp.v + (uint64_t)tls->offset }, now, tls->bytes, &e) == 0 &&
		os_read(t, tls->image, first, tls->image_bytes, &e) == 0 &&
		memcmp(now, first, tls->bytes) != 0;
}

/* Find the offset of the block, in a word that ld.so has filled for the library. */
static int
note_offset(const struct image_relocation *r, void *arg)
{
	int64_t *slot = arg;

	if (!arch_tls_relocation || r->type != arch_tls_relocation || r->has_symbol)
		return 0;
	slot[0] = (int64_t)r->at.v;
	slot[1] = r->addend;
	return 1;
}

/* A larger block is not a malloc's; jemalloc 5.3 has 2.6 KiB. */
#define MAX_TLS_BYTES 65536

void
inject_tls_find(struct inject_tls *ret, const struct object *o, const struct target *t)
{
	int64_t slot[2], offset;
	struct err e;

	*ret = (struct inject_tls){ .offset = 0 };
	if (image_each_relocation(o->image, note_offset, slot) != 1 ||
		os_read(t, (raddr){ (uint64_t)slot[0] }, &offset, sizeof offset, &e) < 0)
		return;
	for (size_t i = 0; i < image_nr_phdrs(o->image); i++) {
		const Elf64_Phdr *ph = image_phdr(o->image, i);

		if (ph->p_type != PT_TLS || ph->p_memsz > MAX_TLS_BYTES ||
			ph->p_filesz > ph->p_memsz)
			continue;
		*ret = (struct inject_tls){ .offset = offset - slot[1],
			.image = { ph->p_vaddr + image_bias(o->image) },
			.image_bytes = ph->p_filesz,
			.bytes = ph->p_memsz };
	}
}
