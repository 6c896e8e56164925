#include <config.h>

#include "export/push.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/thread.h"
#include "export/push-delta.h"
#include "export/push-http.h"
#include "export/push-queue.h"
#include "os/clock.h"

#define NS_PER_S UINT64_C(1000000000)
#define FIRST_DELAY_NS NS_PER_S
#define LAST_DELAY_NS (60 * NS_PER_S)
/* More than a server can ask for. */
#define MOST_WAIT_S 300
#define MESSAGE_BYTES 512
#define MESSAGES_MAX 4

struct push {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* With LOCK: */
	struct push_queue queue;
	struct push_sums sums;
	char message[MESSAGES_MAX][MESSAGE_BYTES]; /* for the user, the oldest first */
	size_t nr_messages;
	char said[MESSAGE_BYTES]; /* the last message so far */
	bool has_dropped;	  /* since the last profile that was accepted */
	bool is_closed, is_over;
	/* The thread's: */
	struct push_series series;
	char *url; /* for messages */
	struct push_http *http;
	struct profile *base; /* the last profile that was accepted; NULL: nothing yet */
	uint64_t from_ns;     /* its time */
	uint64_t nr_failed;   /* in a row */
	uint64_t next_ns;     /* no request before; by os_now_ns() */
};

uint64_t
push_delay_ns(uint64_t nr, uint64_t random)
{
	uint64_t delay_ns = FIRST_DELAY_NS;

	while (--nr && delay_ns < LAST_DELAY_NS)
		delay_ns *= 2;
	if (delay_ns > LAST_DELAY_NS)
		delay_ns = LAST_DELAY_NS;
	return delay_ns - random % (delay_ns / 2);
}

/*
 * Store a message, unless it was the last one.  If too many wait, it replaces the last of them.
 * With the lock.
 */
static void
push_say(struct push *push, const char *what, const char *why, const char *then)
{
	char text[MESSAGE_BYTES];

	snprintf(text, sizeof text, "%s %s%s%s%s", what, push->url, *why ? ": " : "", why, then);
	if (strcmp(text, push->said) == 0)
		return;
	memcpy(push->said, text, sizeof text);
	if (push->nr_messages < MESSAGES_MAX)
		push->nr_messages++;
	memcpy(push->message[push->nr_messages - 1], text, sizeof text);
}

/* ---- the thread ---- */

/* Send P with the time UNTIL_NS.  Without the lock. */
static enum push_answer
push_send(struct push *push, const struct profile *p, uint64_t until_ns, uint64_t *ret_wait_s,
	char *why, size_t why_size)
{
	auto_push_request struct push_request r = { .url = NULL };
	auto_profile struct profile *delta = NULL;
	struct err e;

	*ret_wait_s = 0;
	if (push_delta(&delta, p, push->base, &e) < 0 ||
		push_request_make(&r, &push->series, delta, push->from_ns, until_ns, &e) < 0) {
		text_abbreviate(e.msg, why, why_size);
		return PUSH_FAILED;
	}
	return push_http_post(push->http, r.url, r.type, r.body, r.len, ret_wait_s, why, why_size);
}

/* The next profile is compared with ITEM, which the server has. */
static void
note_accepted(struct push *push, struct push_item item)
{
	profile_free(push->base);
	push->base = item.p;
	push->from_ns = item.until_ns;
	push->sums.nr_accepted++;
	if (push->nr_failed)
		push_say(push, "profiles are accepted again by", "", "");
	push->nr_failed = 0;
	push->has_dropped = false;
}

static void
note_failed(struct push *push, uint64_t wait_s, const char *why)
{
	uint64_t random = 0, delay_ns;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		random = os_now_ns();
	delay_ns = push_delay_ns(++push->nr_failed, random);
	if (wait_s > MOST_WAIT_S)
		wait_s = MOST_WAIT_S;
	if (delay_ns < wait_s * NS_PER_S)
		delay_ns = wait_s * NS_PER_S;
	push->next_ns = os_now_ns() + delay_ns;
	push->sums.nr_retries++;
	push_say(push, "cannot push to", why, "; retrying");
}

/* Send the oldest profile.  With the lock, which is released meanwhile. */
static void
push_oldest(struct push *push)
{
	const struct push_item item = push->queue.v[0];
	uint64_t wait_s;
	char why[300] = "";
	enum push_answer answer;

	push->queue.is_busy = true;
	pthread_mutex_unlock(&push->lock);
	answer = push_send(push, item.p, item.until_ns, &wait_s, why, sizeof why);
	pthread_mutex_lock(&push->lock);
	push->queue.is_busy = false;
	if (answer == PUSH_FAILED) {
		if (!push->is_over)
			note_failed(push, wait_s, why);
		return;
	}
	push_queue_take(&push->queue);
	if (answer == PUSH_ACCEPTED) {
		note_accepted(push, item);
		return;
	}
	profile_free(item.p);
	push->sums.nr_refused++;
	push_say(push, "a profile was refused by", why, "");
}

/* Wait until a profile can be sent or no more will come.  With the lock. */
static void
wait_for_work(struct push *push)
{
	const struct timespec until = { .tv_sec = (time_t)(push->next_ns / NS_PER_S),
		.tv_nsec = (long)(push->next_ns % NS_PER_S) };

	if (!push->queue.nr)
		pthread_cond_wait(&push->changed, &push->lock);
	else
		pthread_cond_timedwait(&push->changed, &push->lock, &until);
}

static void *
push_run(void *arg)
{
	struct push *push = arg;

	pthread_mutex_lock(&push->lock);
	while (!push->is_over && !(push->is_closed && !push->queue.nr))
		if (push->queue.nr && os_now_ns() >= push->next_ns)
			push_oldest(push);
		else
			wait_for_work(push);
	pthread_mutex_unlock(&push->lock);
	return NULL;
}

/* ---- the caller's side ---- */

static void
push_release(struct push *push)
{
	push_http_close(push->http);
	push_series_release(&push->series);
	push_queue_release(&push->queue);
	profile_free(push->base);
	pthread_cond_destroy(&push->changed);
	pthread_mutex_destroy(&push->lock);
	free(push->url);
	free(push);
}

/* Return a push without a thread; NULL if memory runs out. */
static struct push *
push_new(struct push_series *series, uint64_t from_ns)
{
	struct push *push = calloc(1, sizeof *push);
	pthread_condattr_t clock;

	if (!push) {
		push_series_release(series);
		return NULL;
	}
	push->series = *series;
	*series = (struct push_series){ 0 };
	push->from_ns = from_ns;
	push->url = push_public_url(push->series.url);
	pthread_mutex_init(&push->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&push->changed, &clock);
	pthread_condattr_destroy(&clock);
	if (push->url)
		return push;
	push_release(push);
	return NULL;
}

int
push_begin(struct push **ret, struct push_series *series, const char *headers, const char *tenant,
	uint64_t from_ns, struct err *e)
{
	struct push *push = push_new(series, from_ns);

	if (!push)
		return err_set(e, ENOMEM, "cannot push profiles");
	if (push_http_open(&push->http, headers, tenant, &push->is_over, e) < 0 ||
		(!thread_start(&push->thread, push_run, push) &&
			err_set(e, EAGAIN, "cannot push profiles") < 0)) {
		push_release(push);
		return -1;
	}
	*ret = push;
	return 0;
}

void
push_add(struct push *push, struct profile *p, uint64_t until_ns)
{
	const struct push_item item = { p, until_ns, push_profile_bytes(p) };
	size_t nr_dropped;

	pthread_mutex_lock(&push->lock);
	nr_dropped = push_queue_add(&push->queue, item);
	push->sums.nr_dropped += nr_dropped;
	if (nr_dropped && !push->has_dropped)
		push_say(push, "the oldest profile was dropped, as too many wait for", "", "");
	push->has_dropped |= nr_dropped > 0;
	pthread_cond_signal(&push->changed);
	pthread_mutex_unlock(&push->lock);
}

bool
push_message(struct push *push, char *buf, size_t size)
{
	bool has_message;

	pthread_mutex_lock(&push->lock);
	has_message = push->nr_messages;
	if (has_message) {
		snprintf(buf, size, "%s", push->message[0]);
		push->nr_messages--;
		memmove(push->message[0], push->message[1],
			push->nr_messages * sizeof *push->message);
	}
	pthread_mutex_unlock(&push->lock);
	return has_message;
}

void
push_close(struct push *push)
{
	pthread_mutex_lock(&push->lock);
	push->is_closed = true;
	push->next_ns = 0; /* one more request at once */
	pthread_cond_signal(&push->changed);
	pthread_mutex_unlock(&push->lock);
}

bool
push_is_done(struct push *push)
{
	bool is_done;

	pthread_mutex_lock(&push->lock);
	is_done = !push->queue.nr;
	pthread_mutex_unlock(&push->lock);
	return is_done;
}

void
push_free(struct push *push, struct push_sums *ret)
{
	if (!push)
		return;
	pthread_mutex_lock(&push->lock);
	__atomic_store_n(&push->is_over, true, __ATOMIC_RELAXED);
	pthread_cond_signal(&push->changed);
	pthread_mutex_unlock(&push->lock);
	pthread_join(push->thread, NULL);
	push->sums.nr_dropped += push->queue.nr;
	if (ret)
		*ret = push->sums;
	push_release(push);
}
