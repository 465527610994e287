/* SPDX-License-Identifier: Apache-2.0 */
/* worker_script.c - a worker that is a script */
#include "worker_script.h"

#include "json/json.h"
#include "util/text.h"
#include "muster/arena.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double now(const struct worker_script *w)
{
	return muster_clock_now(w->clock);
}

/* ---- lines ---- */

/* Lines come in the order of their time. */
static void say_at(struct worker_script *w, double at_ms, char *text)
{
	struct script_line **at = &w->first, *line = muster_calloc(1, sizeof *line);
	while (*at && (*at)->at_ms <= at_ms)
		at = &(*at)->next;
	*line = (struct script_line){ .at_ms = at_ms, .text = text, .next = *at };
	*at = line;
	muster_loop_wake(w->job->loop, w->rank, at_ms);
}

static void forget_lines(struct worker_script *w)
{
	while (w->first) {
		struct script_line *line = w->first;
		w->first = line->next;
		free(line->text);
		free(line);
	}
}

static void leave_ring(struct worker_script *w)
{
	if (w->ring)
		w->ring->members[w->ring_index] = NULL;
	w->ring = NULL;
}

/* ---- samples ---- */

static void add_sample(struct worker_script *w, double at_ms, const struct muster_metric *metric, size_t bytes)
{
	char labels[256] = "", value[64];
	size_t used = 0;
	for (size_t i = 0; i < MUSTER_LABELS_MAX && metric->labels[i]; i++) {
		bool name = muster_label_find(metric->labels[i])->type == MUSTER_STRING;
		used += (size_t)snprintf(labels + used, sizeof labels - used,
			name ? "%s\"%s\":\"x%d/1\"" : "%s\"%s\":%d", i ? "," : "", metric->labels[i],
			name ? w->rank : (int)bytes + (int)i);
	}
	if (metric->type == MUSTER_NUMBER)
		snprintf(value, sizeof value, "%d", w->rank * 1000 + w->next_value++ % 1000);
	else
		snprintf(value, sizeof value, "%s", metric->type == MUSTER_STRING ? "\"text\"" : "true");
	say_at(w, at_ms,
		muster_asprintf("{\"sample\":{\"metric\":\"%s\"%s%s%s,\"value\":%s}}", metric->name,
			used ? ",\"labels\":{" : "", labels, used ? "}" : "", value));
}

static void add_samples(struct worker_script *w, double from_ms, double until_ms)
{
	for (int i = 0; i < w->samples_each && w->probe->metric_count > 0; i++) {
		const struct muster_metric *metric = &w->probe->metrics[(size_t)i % w->probe->metric_count];
		bool of_node = metric->scope == MUSTER_SCOPE_NODE || metric->scope == MUSTER_SCOPE_PORT;
		if (!of_node || w->probe->scope == MUSTER_SCOPE_NODE) /* else only the node's leader has it */
			add_sample(w, random_between(&w->random, from_ms, until_ms), metric, 0);
	}
}

/* ---- rings ---- */

static struct script_ring *ring_of(struct script_job *job, uint64_t id, int ranks)
{
	struct script_ring **list = &job->rings[id % SCRIPT_RINGS], *ring = *list;
	while (ring && ring->id != id)
		ring = ring->next;
	if (ring)
		return ring;
	ring = muster_calloc(1, sizeof *ring + (size_t)ranks * sizeof *ring->members);
	ring->id = id;
	ring->ranks = ranks;
	ring->first_node = -1;
	ring->next = *list;
	*list = ring;
	return ring;
}

static void end_ring(struct worker_script *w, double at_ms, const char *code, const char *error)
{
	leave_ring(w);
	say_at(w, at_ms,
		strcmp(code, "ok") == 0
			? muster_asprintf("{\"done\":{\"code\":\"ok\",\"figures\":[{\"bytes\":8388608,\"rate\":60},{"
					  "\"bytes\":536870912,\"rate\":100}],"
					  "\"simulated\":true}}")
			: muster_asprintf(
				  "{\"done\":{\"code\":\"%s\",\"error\":\"%s\",\"simulated\":true}}", code, error));
}

/* The last of its ranks has come: it ends for all of them a while later. */
static void finish_ring(struct script_ring *ring, double at_ms)
{
	for (int i = 0; i < ring->joined; i++) {
		struct worker_script *w = ring->members[i];
		if (!w)
			continue;
		if (ring->traffic) {
			w->traffic_done += !ring->later;
			end_ring(w, at_ms, "ok", "");
		} else if (ring->bad)
			end_ring(w, at_ms, i == 0 ? "remote" : "vendor", "ncclAllReduce: remote error");
		else {
			add_sample(w, at_ms, muster_metric_find("rank.allreduce_us"), 1);
			end_ring(w, at_ms, "ok", "");
		}
	}
}

/* A member of a command, which must be a text; NULL when it is absent. */
static const char *text_of(const struct muster_json *command, const char *key)
{
	const struct muster_json *text = muster_json_member(command, key);
	return text ? muster_json_string(text) : NULL;
}

static void join_ring(struct worker_script *w, const struct muster_json *command, double at_ms)
{
	int ranks = (int)muster_json_number(muster_json_member(command, "ring_ranks"));
	double timeout_ms = muster_json_number(muster_json_member(command, "timeout_ms"));
	int part = (int)muster_json_number(muster_json_member(command, "ring_part"));
	const char *ids = text_of(command, "ring_ids");
	uint64_t id = part == MUSTER_RING_REST ? w->full_id : muster_hash(ids, strlen(ids));
	if (part == MUSTER_RING_BEGIN || part == MUSTER_RING_AWAIT) { /* ranks meet when they go on */
		w->full_id = part == MUSTER_RING_BEGIN ? id : w->full_id;
		end_ring(w, at_ms, "ok", "");
		return;
	}
	struct script_ring *ring = ring_of(w->job, id, ranks);
	if (!muster_json_boolean(muster_json_member(command, "ring_trial"))) {
		w->full_id = ring->id;
		w->full_rank = (int)muster_json_number(muster_json_member(command, "ring_rank"));
		w->full_ranks = ranks;
	}
	if (ring->joined >= ring->ranks) { /* another incarnation of somebody: NCCL would not take it either */
		end_ring(w, at_ms, "vendor", "a rank came twice");
		return;
	}
	w->ring_index = ring->joined;
	ring->members[ring->joined++] = w;
	ring->several_nodes = ring->several_nodes || (ring->first_node >= 0 && ring->first_node != w->node);
	ring->first_node = ring->first_node < 0 ? w->node : ring->first_node;
	ring->bad = ring->bad || w->plan->bad_node;
	w->ring = ring;
	w->ring_until_ms = at_ms + timeout_ms;
	muster_loop_wake(w->job->loop, w->rank, w->ring_until_ms);
	if (ring->joined == ring->ranks) {
		ring->bad = ring->bad && ring->several_nodes;
		finish_ring(ring, at_ms + 300);
	}
}

/* A round of traffic joins two ranks, or all, of the last full ring: they share a key, as they share a communicator. */
static void join_traffic(struct worker_script *w, const struct muster_json *command, double at_ms)
{
	int peer = (int)muster_json_number(muster_json_member(command, "peer"));
	int low = peer < w->full_rank ? peer : w->full_rank, high = peer < w->full_rank ? w->full_rank : peer;
	char key[128];
	snprintf(key, sizeof key, "%llx/%d/%d/%d/%d-%d", (unsigned long long)w->full_id, w->probe->order,
		(int)muster_json_number(muster_json_member(command, "visit")),
		(int)muster_json_number(muster_json_member(command, "round")), peer < 0 ? -1 : low,
		peer < 0 ? -1 : high);
	struct script_ring *ring = ring_of(w->job, muster_hash(key, strlen(key)), peer < 0 ? w->full_ranks : 2);
	if (ring->joined >= ring->ranks) {
		end_ring(w, at_ms, "vendor", "a rank came twice");
		return;
	}
	ring->traffic = true;
	ring->later = muster_json_number(muster_json_member(command, "visit")) > 0;
	w->ring_index = ring->joined;
	ring->members[ring->joined++] = w;
	w->ring = ring;
	w->ring_until_ms = at_ms + muster_json_number(muster_json_member(command, "timeout_ms"));
	muster_loop_wake(w->job->loop, w->rank, w->ring_until_ms);
	if (ring->joined == ring->ranks)
		finish_ring(ring, at_ms + 20);
}

/* ---- commands ---- */

static void answer(struct worker_script *w, double at_ms, const char *more)
{
	say_at(w, at_ms, muster_asprintf("{\"done\":{\"code\":\"ok\",\"simulated\":true%s}}", more));
}

static double takes(struct worker_script *w, double low_ms, double high_ms)
{
	return random_between(&w->random, low_ms, high_ms) * w->plan->slow;
}

/* A crash: what was said before it comes, and then the end. */
static void die_at(struct worker_script *w, double at_ms)
{
	w->ended = true;
	snprintf(w->how, sizeof w->how, "signal 11 (Segmentation fault)");
	w->free_ms = at_ms;
	muster_loop_wake(w->job->loop, w->rank, at_ms);
}

static void take_gpu(struct worker_script *w, double at_ms)
{
	char more[160];
	snprintf(more, sizeof more,
		",\"gpu\":\"0000:%02x:00.0\",\"uuid\":\"GPU-%d\",\"path\":\"numa%d\",\"why_none\":\"\"", w->rank & 255,
		w->rank, w->rank / 2 % 2);
	answer(w, at_ms, more);
}

static void make_id(struct worker_script *w, double at_ms)
{
	char more[320];
	int used = snprintf(more, sizeof more, ",\"ring_id\":\"");
	snprintf(more + used, sizeof more - (size_t)used, "%0*x%08x\"", 2 * MUSTER_RING_ID_BYTES - 8, w->rank,
		++w->job->ring_count);
	answer(w, at_ms, more);
}

static void cancel(struct worker_script *w)
{
	if (w->ring)
		end_ring(w, now(w) + takes(w, 1, 200), "called_off", "called off");
}

/* The worker's fate in its rounds of traffic. */
static bool fails_in_traffic(struct worker_script *w, double at_ms)
{
	if (w->plan->in_traffic == WORKER_LIVES || w->traffic++ != w->plan->at_traffic)
		return false;
	switch (w->plan->in_traffic) {
	case WORKER_CRASHES: die_at(w, at_ms); break;
	case WORKER_HANGS: w->hangs = true; break;
	case WORKER_TAKES_RANK_ALONG:
		w->died_ms = now(w);
		muster_loop_kill(w->job->loop, w->rank);
		break;
	default: say_at(w, at_ms, muster_strdup("{\"done\":{\"code\":\"vendor\",\"error\":\"it broke\"}}"));
	}
	return true;
}

static void obey(struct worker_script *w, const struct muster_json *command, const char *action)
{
	const char *name = text_of(command, "probe");
	double begin_ms = now(w) > w->free_ms ? now(w) : w->free_ms, end_ms = begin_ms + takes(w, 1, 60);
	if (name)
		w->probe = muster_probe_find(name);
	if (w->commands++ == w->plan->at_command && w->plan->worker == WORKER_CRASHES) {
		if (name && strcmp(action, "ring") != 0)
			add_samples(w, begin_ms, end_ms);
		die_at(w, end_ms);
		return;
	}
	if (w->commands - 1 == w->plan->at_command && w->plan->worker == WORKER_HANGS) {
		w->hangs = true;
		return;
	}
	w->free_ms = end_ms;
	if (strcmp(action, "traffic") == 0 && fails_in_traffic(w, end_ms))
		return;
	if (strcmp(action, "open") == 0)
		answer(w, begin_ms + takes(w, 200, 900), "");
	else if (strcmp(action, "take") == 0)
		take_gpu(w, begin_ms + takes(w, 100, 400));
	else if (strcmp(action, "ring_id") == 0)
		make_id(w, end_ms);
	else if (strcmp(action, "ring") == 0)
		join_ring(w, command, end_ms);
	else if (strcmp(action, "traffic") == 0 && w->probe->traffic_shape == MUSTER_TRAFFIC_EACH)
		answer(w, end_ms, "");
	else if (strcmp(action, "traffic") == 0)
		join_traffic(w, command, end_ms);
	else if (w->commands - 1 == w->plan->at_command && w->plan->worker == WORKER_ERROR && name)
		say_at(w, end_ms, muster_strdup("{\"done\":{\"code\":\"vendor\",\"error\":\"it broke\"}}"));
	else {
		if (name)
			add_samples(w, begin_ms, end_ms);
		answer(w, end_ms, strcmp(action, "run") == 0 ? ",\"agree\":\"2.28.9\"" : "");
	}
}

/* ---- what a supervisor sees ---- */

static int start(void *arg, struct muster_error *err)
{
	struct worker_script *w = arg;
	(void)err;
	forget_lines(w);
	w->ended = w->hangs = false;
	w->free_ms = now(w);
	return 0;
}

static int send_line(void *arg, const char *text, size_t length, struct muster_error *err)
{
	struct worker_script *w = arg;
	struct muster_json *command = NULL;
	if (w->ended || w->hangs)
		return 0;
	if (muster_json_parse(text, length, &command, err) < 0)
		abort();
	const char *action = text_of(command, "do");
	if (strcmp(action, "abort") == 0)
		cancel(w);
	else
		obey(w, command, action);
	muster_json_free(command);
	return 0;
}

/* The sample that was just taken, into the account. */
static void account_for(struct worker_script *w, const char *line)
{
	static const char begin[] = "{\"sample\":{\"metric\":\"";
	const char *name = line + sizeof begin - 1,
		   *end = strncmp(line, begin, sizeof begin - 1) == 0 ? strchr(name, '"') : NULL;
	char metric_name[128];
	if (!end || (size_t)(end - name) >= sizeof metric_name)
		return;
	snprintf(metric_name, sizeof metric_name, "%.*s", (int)(end - name), name);
	const struct muster_metric *metric = muster_metric_find(metric_name);
	if (muster_probe_find(muster_metric_probe(metric))->ring)
		return;
	struct script_account *account = &w->account[metric->scope];
	const char *value = strstr(line, "\"value\":");
	account->samples++;
	if (metric->type == MUSTER_NUMBER && value)
		account->sum += strtod(value + strlen("\"value\":"), NULL);
}

static int next_line(void *arg, const char **ret, size_t *ret_length, struct muster_error *err)
{
	struct worker_script *w = arg;
	(void)err;
	*ret = NULL;
	if (w->ring && now(w) >= w->ring_until_ms)
		end_ring(w, now(w), "time", "the ranks' agreement did not end in time");
	if (w->first && w->first->at_ms <= now(w)) {
		struct script_line *line = w->first;
		free(w->held);
		*ret = w->held = line->text;
		*ret_length = strlen(*ret);
		account_for(w, *ret);
		w->first = line->next;
		free(line);
		return 0;
	}
	return w->ended && !w->first && now(w) >= w->free_ms;
}

static void read_output(void *arg)
{
	(void)arg;
}

static void quit(void *arg, int grace_ms)
{
	(void)arg;
	(void)grace_ms;
}

static bool end(void *arg, int grace_ms, char *ret_how, size_t size)
{
	struct worker_script *w = arg;
	bool by_itself = w->ended;
	(void)grace_ms;
	snprintf(ret_how, size, "%s", by_itself ? w->how : "killed");
	leave_ring(w);
	forget_lines(w);
	return by_itself;
}

static const char *last_output(void *arg, char *out, size_t size)
{
	(void)arg;
	snprintf(out, size, "%s", "");
	return out;
}

static int fd(void *arg)
{
	(void)arg;
	return -1;
}

static double next_ms(void *arg)
{
	const struct worker_script *w = arg;
	double next = w->first ? w->first->at_ms : w->ended ? w->free_ms : INFINITY;
	return w->ring && w->ring_until_ms < next ? w->ring_until_ms : next;
}

const struct muster_worker_ops worker_script_ops = {
	.start = start,
	.send = send_line,
	.next_line = next_line,
	.read_output = read_output,
	.quit = quit,
	.end = end,
	.last_output = last_output,
	.fd = fd,
	.next_ms = next_ms,
};

void worker_script_done(struct worker_script *w)
{
	leave_ring(w);
	forget_lines(w);
	free(w->held);
}

void script_job_done(struct script_job *job)
{
	for (size_t i = 0; i < SCRIPT_RINGS; i++)
		while (job->rings[i]) {
			struct script_ring *ring = job->rings[i];
			job->rings[i] = ring->next;
			free(ring);
		}
}
