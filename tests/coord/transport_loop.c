/* SPDX-License-Identifier: Apache-2.0 */
/* transport_loop.c - a whole job inside one process, with a virtual clock */
#include "transport_loop.h"

#include "util/array.h"
#include "muster/arena.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOOP_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LOOP_ASAN
#endif
#ifdef LOOP_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#define AFTER_EVERYTHING 1e15 /* the clock of a dead rank, in milliseconds */
enum {
	STACK_BYTES = 256 << 10,
	PAGE = 4096,
	MANY = 4096,     /* with more ranks than this, stacks are trimmed ... */
	TRIM_EVERY = 16, /* ... after so many waits */
};
#define LONG_MS 1e6
#define MESSAGE_MS 0.1

enum event_kind { WAKE, DELIVER };

struct event {
	double at_ms;
	uint64_t number; /* events of one moment happen in the order in which they were made */
	enum event_kind kind;
	int rank;
	unsigned int wait; /* WAKE: the wait that it ends, and no later one */
	struct muster_message *message;
};

struct link { /* when the last message of a sender to a receiver arrives: later messages arrive after it */
	uint64_t key;
	double at_ms;
};

struct endpoint {
	struct muster_transport transport; /* first: the one is cast to the other */
	struct muster_clock clock;
	struct muster_loop *loop;
	ucontext_t context;
	struct muster_message *first, **last;
	unsigned int wait;
	bool ended, dead, waits, paused;
	double looks; /* at the clock, since it is dead */
#ifdef LOOP_ASAN
	void *fake_stack;
#endif
};

struct muster_loop {
	struct muster_loop_hooks hooks;
	int size, alive;
	struct endpoint *ends;
	char *stacks;
	size_t stack_bytes;
	double now_ms, longest_turn_ms; /* longest_turn_ms: of rank 0, CPU time */
	double turn_ms, turn_from_ms;   /* of rank 0's turn: what was counted, and since when it is counted again */
	long long memory, memory_peak, sent; /* bytes of rank 0; of messages that it sent in this turn */
	uint64_t numbers, messages, turns;
	struct event *heap;
	size_t heap_count, heap_room;
	struct link *links; /* open addressing */
	size_t link_count, link_room;
	ucontext_t scheduler;
	void (*main)(void *arg, int rank);
	void *arg;
#ifdef LOOP_ASAN
	void *fake_stack;
	const void *stack_bottom;
	size_t stack_size;
#endif
};

/* ---- events, in a binary heap ---- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at_ms < b->at_ms || (!(b->at_ms < a->at_ms) && a->number < b->number);
}

static void event_add(struct muster_loop *loop, struct event event)
{
	MUSTER_ARRAY_GROW(loop->heap, loop->heap_count, loop->heap_room);
	event.number = loop->numbers++;
	size_t at = loop->heap_count++;
	for (; at > 0 && before(&event, &loop->heap[(at - 1) / 2]); at = (at - 1) / 2)
		loop->heap[at] = loop->heap[(at - 1) / 2];
	loop->heap[at] = event;
}

static struct event event_take(struct muster_loop *loop)
{
	struct event first = loop->heap[0], last = loop->heap[--loop->heap_count];
	size_t at = 0, child;
	while ((child = 2 * at + 1) < loop->heap_count) {
		child += child + 1 < loop->heap_count && before(&loop->heap[child + 1], &loop->heap[child]);
		if (before(&last, &loop->heap[child]))
			break;
		loop->heap[at] = loop->heap[child];
		at = child;
	}
	loop->heap[at] = last;
	return first;
}

/* ---- the order of messages between two ranks ---- */

static struct link *link_find(struct link *links, size_t room, uint64_t key)
{
	size_t at = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (room - 1); /* 2^64 divided by the golden ratio */
	while (links[at].key && links[at].key != key)
		at = (at + 1) & (room - 1);
	return &links[at];
}

static struct link *link_of(struct muster_loop *loop, int from, int to)
{
	uint64_t key = ((uint64_t)(unsigned int)from << 32 | (unsigned int)to) + 1;
	if (2 * loop->link_count >= loop->link_room) {
		size_t room = loop->link_room ? 2 * loop->link_room : 64;
		struct link *links = muster_calloc(room, sizeof *links);
		for (size_t i = 0; i < loop->link_room; i++)
			if (loop->links[i].key)
				*link_find(links, room, loop->links[i].key) = loop->links[i];
		free(loop->links);
		loop->links = links;
		loop->link_room = room;
	}
	struct link *link = link_find(loop->links, loop->link_room, key);
	if (!link->key) {
		link->key = key;
		loop->link_count++;
	}
	return link;
}

/* ---- a rank's transport ---- */

static struct endpoint *endpoint_of(struct muster_transport *t)
{
	return (struct endpoint *)t;
}

static double endpoint_now(const struct muster_clock *clock)
{
	struct endpoint *end = (struct endpoint *)((uintptr_t)clock - offsetof(struct endpoint, clock));
	/* after every deadline, also one that begins now */
	return end->dead ? AFTER_EVERYTHING + ++end->looks * LONG_MS : end->loop->now_ms;
}

/* With what malloc keeps beside a block. */
static size_t bytes_of(struct muster_message *message)
{
	return malloc_usable_size(message) + malloc_usable_size(message->bytes) + 2 * sizeof(size_t);
}

static void deliver_later(struct muster_loop *loop, int from, int to, int tag, const char *bytes, size_t length)
{
	int copies = 1;
	double takes_ms = loop->hooks.send && from != to
				  ? loop->hooks.send(loop->hooks.arg, from, to, tag, length, &copies)
				  : MESSAGE_MS;
	struct link *link = link_of(loop, from, to);
	double at_ms = loop->now_ms + takes_ms;
	at_ms = at_ms < link->at_ms ? link->at_ms : at_ms;
	link->at_ms = at_ms;
	loop->messages++;
	for (; copies > 0; copies--) {
		struct muster_message *message = muster_calloc(1, sizeof *message);
		*message = (struct muster_message){ .tag = tag, .from = from, .length = length };
		message->bytes = muster_realloc(NULL, length + 1, 1);
		memcpy(message->bytes, bytes, length + 1);
		loop->sent += (long long)bytes_of(message);
		event_add(loop, (struct event){ .at_ms = at_ms, .kind = DELIVER, .rank = to, .message = message });
	}
}

static int loop_send(struct muster_transport *t, int to, int tag, char *bytes, size_t length, struct muster_error *err)
{
	struct endpoint *end = endpoint_of(t);
	(void)err;
	if (!end->dead)
		deliver_later(end->loop, t->rank, to, tag, bytes, length);
	free(bytes);
	return 0;
}

static bool loop_receive(struct muster_transport *t, struct muster_message *ret)
{
	struct endpoint *end = endpoint_of(t);
	struct muster_message *first = end->first;
	if (!first || end->dead)
		return false;
	end->first = first->next;
	if (!end->first)
		end->last = &end->first;
	*ret = *first;
	ret->next = NULL;
	free(first);
	return true;
}

/* ---- stacks ---- */

static void to_scheduler(struct endpoint *end, bool last)
{
	struct muster_loop *loop = end->loop;
#ifdef LOOP_ASAN
	__sanitizer_start_switch_fiber(last ? NULL : &end->fake_stack, loop->stack_bottom, loop->stack_size);
#endif
	(void)last;
	swapcontext(&end->context, &loop->scheduler);
#ifdef LOOP_ASAN
	__sanitizer_finish_switch_fiber(end->fake_stack, NULL, NULL);
#endif
}

static double cpu_ms(void)
{
	struct timespec used;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

void muster_loop_turn_pause(struct muster_loop *loop)
{
	loop->turn_ms += cpu_ms() - loop->turn_from_ms;
}

void muster_loop_turn_count(struct muster_loop *loop)
{
	loop->turn_from_ms = cpu_ms();
}

static void to_rank(struct muster_loop *loop, int rank)
{
	struct endpoint *end = &loop->ends[rank];
	loop->turns++;
	struct muster_loop_memory none = { 0 }, *memory = loop->hooks.memory ? loop->hooks.memory : &none;
	size_t before = memory->peak = memory->now;
	loop->sent = 0;
	if (rank == 0)
		muster_loop_turn_count(loop);
#ifdef LOOP_ASAN
	__sanitizer_start_switch_fiber(
		&loop->fake_stack, loop->stacks + (size_t)rank * loop->stack_bytes, loop->stack_bytes);
#endif
	swapcontext(&loop->scheduler, &end->context);
#ifdef LOOP_ASAN
	__sanitizer_finish_switch_fiber(loop->fake_stack, NULL, NULL);
#endif
	if (rank == 0) {
		muster_loop_turn_pause(loop);
		long long peak = loop->memory + (long long)(memory->peak - before);
		loop->memory_peak = peak > loop->memory_peak ? peak : loop->memory_peak;
		loop->memory += (long long)memory->now - (long long)before - loop->sent;
	}
	if (loop->turn_ms > loop->longest_turn_ms)
		loop->longest_turn_ms = loop->turn_ms;
	loop->turn_ms = 0;
}

/* Free the pages below the frames in use: a rank that once used a deep stack then waits with little memory. */
static void trim_stack(const struct endpoint *end)
{
	char here, *bottom = end->loop->stacks + (size_t)end->transport.rank * end->loop->stack_bytes;
	size_t free_bytes = (size_t)(&here - bottom);
	if (free_bytes > 4 * PAGE)
		madvise(bottom, (free_bytes - 2 * PAGE) / PAGE * PAGE, MADV_DONTNEED);
}

static void loop_wait(struct muster_transport *t, int fd, double until_ms)
{
	struct endpoint *end = endpoint_of(t);
	struct muster_loop *loop = end->loop;
	(void)fd;
	if (end->dead || end->first || until_ms <= loop->now_ms)
		return;
	end->waits = true;
	muster_loop_wake(loop, t->rank, until_ms);
#ifndef LOOP_ASAN
	if (loop->size > MANY && end->wait % TRIM_EVERY == 0)
		trim_stack(end);
#else
	(void)trim_stack;
#endif
	to_scheduler(end, false);
}

static void loop_close(struct muster_transport *t, int grace_ms)
{
	(void)t;
	(void)grace_ms;
}

static const struct muster_transport_ops loop_ops = {
	.name = "loop",
	.send = loop_send,
	.receive = loop_receive,
	.wait = loop_wait,
	.close = loop_close,
};

static void rank_main(unsigned int high, unsigned int low, unsigned int rank)
{
	struct muster_loop *loop = (struct muster_loop *)((uintptr_t)high << 32 | low);
#ifdef LOOP_ASAN
	__sanitizer_finish_switch_fiber(NULL, &loop->stack_bottom, &loop->stack_size);
#endif
	loop->main(loop->arg, (int)rank);
	struct endpoint *end = &loop->ends[rank];
	end->ended = true;
	to_scheduler(end, true);
}

/* ---- the loop ---- */

struct muster_loop *muster_loop_new(int size, size_t stack_bytes, const struct muster_loop_hooks *hooks)
{
	struct muster_loop *loop = muster_calloc(1, sizeof *loop);
	loop->hooks = hooks ? *hooks : (struct muster_loop_hooks){ 0 };
	loop->size = size;
	loop->stack_bytes = stack_bytes ? stack_bytes : STACK_BYTES;
	loop->ends = muster_calloc((size_t)size, sizeof *loop->ends);
	loop->stacks = mmap(NULL, (size_t)size * loop->stack_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (loop->stacks == MAP_FAILED)
		abort(); /* out of memory */
	for (int rank = 0; rank < size; rank++) {
		struct endpoint *end = &loop->ends[rank];
		end->loop = loop;
		end->clock.now_ms = endpoint_now;
		end->last = &end->first;
		muster_transport_init(&end->transport, &loop_ops, &end->clock, rank, size);
	}
	return loop;
}

static void drop_message(struct muster_message *message)
{
	muster_message_done(message);
	free(message);
}

static void drop_messages(struct endpoint *end)
{
	for (struct muster_message *message = end->first, *next; message; message = next) {
		next = message->next;
		drop_message(message);
	}
	end->first = NULL;
	end->last = &end->first;
}

void muster_loop_free(struct muster_loop *loop)
{
	if (!loop)
		return;
	for (int rank = 0; rank < loop->size; rank++) {
		drop_messages(&loop->ends[rank]);
		muster_transport_close(&loop->ends[rank].transport, 0); /* messages to the own rank */
	}
	for (size_t i = 0; i < loop->heap_count; i++)
		if (loop->heap[i].message)
			drop_message(loop->heap[i].message);
	munmap(loop->stacks, (size_t)loop->size * loop->stack_bytes);
	free(loop->ends);
	free(loop->heap);
	free(loop->links);
	free(loop);
}

struct muster_transport *muster_loop_endpoint(struct muster_loop *loop, int rank)
{
	return &loop->ends[rank].transport;
}

void muster_loop_wake(struct muster_loop *loop, int rank, double at_ms)
{
	event_add(loop, (struct event){ .at_ms = at_ms, .kind = WAKE, .rank = rank, .wait = loop->ends[rank].wait });
}

bool muster_loop_is_dead(const struct muster_loop *loop, int rank)
{
	return loop->ends[rank].dead;
}

double muster_loop_now(const struct muster_loop *loop)
{
	return loop->now_ms;
}

uint64_t muster_loop_messages(const struct muster_loop *loop)
{
	return loop->messages;
}

uint64_t muster_loop_turns(const struct muster_loop *loop)
{
	return loop->turns;
}

double muster_loop_longest_turn_ms(const struct muster_loop *loop)
{
	return loop->longest_turn_ms;
}

size_t muster_loop_memory_peak(const struct muster_loop *loop)
{
	return (size_t)loop->memory_peak;
}

static void tell_of_death(struct muster_loop *loop, int rank)
{
	if (rank != 0) {
		if (!loop->ends[0].ended && !loop->ends[0].dead)
			deliver_later(loop, rank, 0, MUSTER_TAG_PEER_DIED, "", 0);
		return;
	}
	for (int other = 1; other < loop->size; other++) /* rank 0 has started them: they do not outlive it */
		if (!loop->ends[other].dead && !loop->ends[other].ended)
			muster_loop_kill(loop, other);
}

void muster_loop_kill(struct muster_loop *loop, int rank)
{
	struct endpoint *end = &loop->ends[rank];
	if (end->dead || end->ended)
		return;
	end->dead = true;
	drop_messages(end);
	if (loop->hooks.tells_of_deaths)
		tell_of_death(loop, rank);
	muster_loop_wake(loop, rank, loop->now_ms);
}

static void run(struct muster_loop *loop, int rank)
{
	struct endpoint *end = &loop->ends[rank];
	end->waits = end->paused = false;
	end->wait++;
	to_rank(loop, rank);
	if (!end->ended)
		return;
	loop->alive--;
	drop_messages(end);
}

/* A rank whose wait is over: it runs, pauses or dies. */
static void turn(struct muster_loop *loop, int rank)
{
	struct endpoint *end = &loop->ends[rank];
	double pause_ms = loop->hooks.turn && !end->dead ? loop->hooks.turn(loop->hooks.arg, rank) : 0;
	if (pause_ms < 0)
		muster_loop_kill(loop, rank);
	if (pause_ms <= 0) {
		run(loop, rank);
		return;
	}
	end->waits = false; /* messages do not wake a rank that pauses */
	end->paused = true;
	end->wait++;
	muster_loop_wake(loop, rank, loop->now_ms + pause_ms);
}

static void happen(struct muster_loop *loop, struct event *event)
{
	struct endpoint *end = &loop->ends[event->rank];
	if (event->kind == DELIVER && (end->dead || end->ended)) {
		drop_message(event->message);
	} else if (event->kind == DELIVER) {
		event->message->next = NULL;
		loop->memory += event->rank == 0 ? (long long)bytes_of(event->message) : 0;
		*end->last = event->message;
		end->last = &event->message->next;
		if (end->waits)
			turn(loop, event->rank);
	} else if (!end->ended && event->wait == end->wait) {
		if (end->paused)
			run(loop, event->rank);
		else
			turn(loop, event->rank);
	}
}

static void prepare(struct muster_loop *loop, int rank)
{
	struct endpoint *end = &loop->ends[rank];
	uintptr_t address = (uintptr_t)loop;
	getcontext(&end->context);
	end->context.uc_stack.ss_sp = loop->stacks + (size_t)rank * loop->stack_bytes;
	end->context.uc_stack.ss_size = loop->stack_bytes;
	end->context.uc_link = NULL;
	/* makecontext hands over ints only */
	makecontext(&end->context, (void (*)(void))(uintptr_t)rank_main, 3, (unsigned int)(address >> 32),
		(unsigned int)address, (unsigned int)rank);
}

double muster_loop_run(struct muster_loop *loop, const double *start_ms, void (*main)(void *arg, int rank), void *arg)
{
	loop->main = main;
	loop->arg = arg;
	loop->alive = loop->size;
	for (int rank = 0; rank < loop->size; rank++) {
		prepare(loop, rank);
		muster_loop_wake(loop, rank, start_ms ? start_ms[rank] : 0);
	}
	while (loop->alive > 0 && loop->heap_count > 0) {
		struct event event = event_take(loop);
		loop->now_ms = event.at_ms > loop->now_ms ? event.at_ms : loop->now_ms;
		happen(loop, &event);
	}
	return loop->now_ms;
}
