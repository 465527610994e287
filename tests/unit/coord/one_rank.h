/* SPDX-License-Identifier: Apache-2.0 */
/* one_rank.h - a rank of a job without the others: its worker is a script, and what the rank sends is kept
 *
 * A test has one such rank, with its leader or rank 0 played by recorder.answer.
 */
#ifndef MUSTER_TESTS_UNIT_COORD_ONE_RANK_H
#define MUSTER_TESTS_UNIT_COORD_ONE_RANK_H

#include "coord/supervisor.h"

#include "check_main.h"
#include "muster/arena.h"
#include "recorder.h"

enum { WORKER_FD = 777 }; /* is none; a wait gets it */

/* ---- the worker: for each command one line, or an end ---- */

struct answer {
	const char *action; /* of the command that it is for */
	const char *line;   /* NULL: the worker ends; "": it hangs */
};

static struct recorder r;

static struct script {
	const struct answer *answers; /* up to action NULL; others are "ok" */
	char *commands[64];
	size_t count, started;
	size_t refused; /* this start of a worker fails, and all after it; 0: none */
	char *due[4];   /* lines */
	size_t first, last;
	bool ended;
	size_t quit_after; /* so many commands had been sent when there were to be no more; 0: never */
	int quit_sent;     /* messages of the rank by then */
} script;

static const char take_line[] =
	"{\"done\":{\"code\":\"ok\",\"gpu\":\"0001:00:00.0\",\"uuid\":\"GPU-5\",\"path\":\"p\",\"agree\":\"2.28\"}}";

static inline int worker_start(void *worker, struct muster_error *err)
{
	struct script *w = worker;
	w->started++;
	if (w->refused > 0 && w->started >= w->refused)
		return muster_fail(err, MUSTER_EIO, "no more processes");
	w->ended = false;
	w->first = w->last = 0;
	return 0;
}

static inline int worker_send(void *worker, const char *text, size_t length, struct muster_error *err)
{
	struct script *w = worker;
	char what[32];
	const char *line = "{\"done\":{\"code\":\"ok\"}}";
	(void)err;
	ck_assert_uint_lt(w->count, LENGTH(w->commands));
	w->commands[w->count++] = strndup(text, length);
	if (strstr(text, "\"take\""))
		line = take_line;
	if (strstr(text, "\"ring_id\","))
		line = "{\"done\":{\"code\":\"ok\",\"ring_id\":\"abcd\"}}";
	if (strstr(text, "\"abort\""))
		line = "";
	for (const struct answer *answer = w->answers; answer && answer->action; answer++) {
		snprintf(what, sizeof what, "\"do\": \"%s\"", answer->action);
		if (!strstr(text, what))
			continue;
		line = answer->line;
		break;
	}
	if (!line)
		w->ended = true;
	else if (*line)
		w->due[w->last++] = (char *)(uintptr_t)line;
	return 0;
}

static inline int worker_next_line(void *worker, const char **ret, size_t *ret_length, struct muster_error *err)
{
	struct script *w = worker;
	(void)err;
	*ret = w->first < w->last ? w->due[w->first++] : NULL;
	*ret_length = *ret ? strlen(*ret) : 0;
	if (w->first == w->last)
		w->first = w->last = 0;
	return !*ret && w->ended;
}

/* The same for a worker whose rings and rounds of traffic yield a sample each before they are done. */
static inline int next_line_with_sample(void *worker, const char **ret, size_t *ret_length, struct muster_error *err)
{
	static const char sample_line[] = "{\"sample\":{\"metric\":\"nccl.ring_ranks\",\"value\":6}}";
	struct script *w = worker;
	static size_t given;
	const char *command = w->count ? w->commands[w->count - 1] : "";
	if (w->first < w->last && given != w->count &&
		(strstr(command, "\"do\": \"ring\"") || strstr(command, "\"do\": \"traffic\""))) {
		given = w->count;
		*ret = sample_line;
		*ret_length = strlen(sample_line);
		return 0;
	}
	return worker_next_line(worker, ret, ret_length, err);
}

static inline void worker_read_output(void *worker)
{
	(void)worker;
}

static inline void worker_quit(void *worker, int grace_ms)
{
	ck_assert_int_eq(grace_ms, 0);
	struct script *w = worker;
	w->quit_after = w->count;
	w->quit_sent = r.count;
}

static inline bool worker_end(void *worker, int grace_ms, char *how, size_t size)
{
	(void)grace_ms;
	snprintf(how, size, "killed");
	return ((struct script *)worker)->ended;
}

static inline const char *worker_last_output(void *worker, char *out, size_t size)
{
	(void)worker, (void)size;
	*out = '\0';
	return out;
}

static inline int worker_fd(void *worker)
{
	(void)worker;
	return WORKER_FD;
}

static const struct muster_worker_ops worker_ops = {
	.start = worker_start,
	.send = worker_send,
	.next_line = worker_next_line,
	.read_output = worker_read_output,
	.quit = worker_quit,
	.end = worker_end,
	.last_output = worker_last_output,
	.fd = worker_fd,
};

/* The command with this action, or the `number`th of them, from 0; NULL: there is none. */
static inline const char *command_number(const char *action, int number)
{
	char what[32];
	snprintf(what, sizeof what, "\"do\": \"%s\"", action);
	for (size_t i = 0; i < script.count; i++)
		if (strstr(script.commands[i], what) && number-- == 0)
			return script.commands[i];
	return NULL;
}

static inline const char *command(const char *action)
{
	return command_number(action, 0);
}

/* ---- the rank ---- */

static struct muster_supervisor s;
static struct muster_options options;
static struct muster_supervisor_host host;

/* The rank before it says hello. */
static inline void one_rank_start(int rank, int ranks, double end_ms)
{
	recorder_init(&r, rank, ranks);
	memset(&script, 0, sizeof script);
	options = (struct muster_options){ 0 };
	host = (struct muster_supervisor_host){ .quiet = true };
	s = (struct muster_supervisor){
		.options = &options,
		.host = &host,
		.transport = &r.transport,
		.clock = &r.clock,
		.rank = rank,
		.ranks = ranks,
		.node = "n",
		.boot_id = "b",
		.end_ms = end_ms,
		.worker = { .ops = &worker_ops, .worker = &script },
	};
	muster_deadlines_init(&s.deadlines, 1);
	muster_supervisor_init(&s);
}

/* ... and after it has learned who is on its node. */
static inline void one_rank_join(const int *members, size_t count)
{
	s.members = muster_calloc(count, sizeof *s.members);
	memcpy(s.members, members, count * sizeof *members);
	s.member_count = count;
	while (members[s.local_rank] != s.rank)
		s.local_rank++;
}

static inline void one_rank_done(void)
{
	for (size_t i = 0; i < script.count; i++)
		free(script.commands[i]);
	muster_supervisor_done(&s);
	recorder_done(&r);
}

/* What the rank said when it entered a round, and which phase had ended then; ret_ended may be NULL. */
static inline struct muster_ring_ready entered_with(int round, enum muster_phase *ret_ended)
{
	struct muster_enter enter;
	struct muster_ring_ready found;
	for (int i = 0; i < r.count; i++) {
		if (r.sent[i].tag != MUSTER_TAG_ENTER)
			continue;
		ck_assert(muster_unpack_enter(r.sent[i].bytes, r.sent[i].length, &enter));
		if (enter.barrier.kind != MUSTER_BARRIER_RING || enter.barrier.round != round)
			continue;
		ck_assert(muster_unpack_ring_ready(enter.payload.bytes, enter.payload.length, &found));
		if (ret_ended)
			*ret_ended = enter.ended;
		return found;
	}
	ck_abort_msg("it did not enter round %d", round);
}

/* An answer of a barrier, from the leader; a message like RELEASE has one part. */
static inline void answer_barrier(
	struct muster_barrier_id id, int from, enum muster_tag tag, const char *bytes, size_t length)
{
	struct muster_packer p = { 0 };
	muster_pack_parts(&p, id);
	muster_pack_part(&p, s.rank, bytes, length);
	recorder_deliver(&r, from, tag, &p);
}

/* How often the record has this text. */
static inline int times_recorded(const struct muster_record *record, const char *text)
{
	const char *at = record->bytes, *end = at + record->length;
	int count = 0;
	while (at && (at = memmem(at, (size_t)(end - at), text, strlen(text))) != NULL) {
		at++;
		count++;
	}
	return count;
}

#endif
