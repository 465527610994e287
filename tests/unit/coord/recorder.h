/* SPDX-License-Identifier: Apache-2.0 */
/* recorder.h - a transport for one rank that keeps what the rank sends, and a clock that a test sets
 */
#ifndef MUSTER_TESTS_UNIT_COORD_RECORDER_H
#define MUSTER_TESTS_UNIT_COORD_RECORDER_H

#include "coord/message.h"
#include "transport/transport.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDER_MAX = 2048 };

struct recorder {
	struct muster_transport transport; /* first: the one is cast to the other */
	struct muster_clock clock;
	double now_ms;
	struct recorded {
		int to, tag;
		char *bytes;
		size_t length;
	} sent[RECORDER_MAX];
	int count;
	struct muster_message waiting[RECORDER_MAX]; /* for the rank to receive */
	int first, last;
	int waited_fd;                                                   /* of the last wait; -1: none */
	void (*answer)(struct recorder *r, const struct recorded *sent); /* NULL, or called for each message sent */
};

static double recorder_now(const struct muster_clock *clock)
{
	const char *r = (const char *)clock - offsetof(struct recorder, clock);
	return ((const struct recorder *)(const void *)r)->now_ms;
}

static int recorder_send(
	struct muster_transport *t, int to, int tag, char *bytes, size_t length, struct muster_error *err)
{
	struct recorder *r = (struct recorder *)t;
	(void)err;
	ck_assert_int_lt(r->count, RECORDER_MAX);
	r->sent[r->count++] = (struct recorded){ to, tag, bytes, length };
	if (r->answer)
		r->answer(r, &r->sent[r->count - 1]);
	return 0;
}

static bool recorder_receive(struct muster_transport *t, struct muster_message *ret)
{
	struct recorder *r = (struct recorder *)t;
	if (r->first == r->last)
		return false;
	*ret = r->waiting[r->first++];
	return true;
}

/* Nothing comes from outside: the wait is over when the time is. */
static void recorder_wait(struct muster_transport *t, int fd, double until_ms)
{
	struct recorder *r = (struct recorder *)t;
	r->waited_fd = fd;
	if (r->first == r->last && until_ms > r->now_ms)
		r->now_ms = until_ms;
}

static void recorder_close(struct muster_transport *t, int grace_ms)
{
	(void)t, (void)grace_ms;
}

static inline void recorder_init(struct recorder *r, int rank, int size)
{
	static const struct muster_transport_ops ops = { "recorder", recorder_send, recorder_receive, recorder_wait,
		recorder_close };
	memset(r, 0, sizeof *r);
	r->clock.now_ms = recorder_now;
	muster_transport_init(&r->transport, &ops, &r->clock, rank, size);
}

/* Forget what was sent so far. */
static inline void recorder_clear(struct recorder *r)
{
	for (int i = 0; i < r->count; i++)
		free(r->sent[i].bytes);
	r->count = 0;
}

static inline void recorder_done(struct recorder *r)
{
	recorder_clear(r);
	while (r->first < r->last)
		muster_message_done(&r->waiting[r->first++]);
	muster_transport_close(&r->transport, 0);
}

/* A message for the rank; takes what was packed. */
static inline void recorder_deliver(struct recorder *r, int from, enum muster_tag tag, struct muster_packer *p)
{
	ck_assert_int_lt(r->last, RECORDER_MAX);
	r->waiting[r->last++] =
		(struct muster_message){ .tag = (int)tag, .from = from, .bytes = p->bytes, .length = p->length };
	*p = (struct muster_packer){ 0 };
}

/* The `number`th message (from 0) that was sent with this tag; NULL: there are not so many. */
static inline const struct recorded *recorder_sent(const struct recorder *r, enum muster_tag tag, int number)
{
	for (int i = 0; i < r->count; i++)
		if (r->sent[i].tag == (int)tag && number-- == 0)
			return &r->sent[i];
	return NULL;
}

#endif
