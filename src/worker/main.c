/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the worker process: runs the probes, which may crash it, and sends their samples
 *
 * A worker never loads MPI. Standard output and standard error are for the messages of vendor libraries; results have
 * a pipe of their own.
 *
 * One thread obeys one command after the other, and commands that come meanwhile wait in the pipe. Only a probe that
 * asks muster_cancelled reads the pipe during its command, where only "abort" may come; for all other commands an abort
 * comes too late and is dropped. The end of the pipe means that the supervisor has gone: the worker exits. What one
 * command leaves for later ones is the GPU, what the drivers hold, and the static state of probes.
 */
#include "worker/device_select.h"
#include "worker/protocol.h"
#include "worker/worker.h"

#include "vendor/library.h"
#include "vendor/nvml.h"
#include "json/object.h"
#include "model/sample_json.h"
#include "util/file.h"
#include "util/leaks.h"
#include "util/line_reader.h"
#include "muster/arena.h"
#include "probes/context.h"
#include "util/env.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct worker {
	struct muster_probe_ctx ctx; /* what probes are given */
	struct muster_line_reader commands;
	bool ended;          /* no more commands come */
	char cancelled[400]; /* why the present command is cancelled; "" when it is not */
	struct muster_gpu gpu;
	struct muster_arena *arena;         /* node name, peers */
	struct muster_worker_answer answer; /* to the present command; its figures and texts are these */
	struct muster_ring_figure figures[MUSTER_RING_FIGURES_MAX];
	char agree[48], path[64], ring_id[2 * MUSTER_RING_ID_BYTES + 1];
	bool skip_cuda;
};

/* A broken protocol between muster's own parts. The supervisor reports the last line of our standard error. */
static _Noreturn __attribute__((format(printf, 1, 2))) void die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(MUSTER_WORKER_BROKEN);
}

/* {key: value}: a line is begun, the value is written, and line_end sends the line at once, so that a crash loses
 * nothing. */
static void line_begin(struct muster_json_writer_text *line, const char *key)
{
	muster_json_writer_text_begin(line);
	muster_json_writer_object(&line->w);
	muster_json_writer_key(&line->w, key);
}

static void line_end(struct muster_json_writer_text *line)
{
	muster_json_writer_object_end(&line->w);
	fputc('\n', line->w.out);
	char *text = muster_json_writer_text_end(line);
	if (muster_write_all(MUSTER_WORKER_RESULTS, text, line->length) != 0)
		_exit(MUSTER_WORKER_BROKEN); /* the supervisor has exited */
	free(text);
}

static void send_text(const char *key, const char *text)
{
	struct muster_json_writer_text line;
	line_begin(&line, key);
	muster_json_writer_string(&line.w, text);
	line_end(&line);
}

static void send_step(void *arg, const char *text)
{
	(void)arg;
	send_text("step", text);
}

static void send_evidence(void *arg, const char *text)
{
	(void)arg;
	send_text("evidence", text);
}

/* The supervisor does not read samples: the values that it needs are in the answer. These are the text that all ranks
 * of a ring must have in common, and the ring's rate for each message size. */
static void note_for_answer(struct worker *worker, const struct muster_sample *sample)
{
	const struct muster_probe *probe = worker->ctx.probe;
	const char *name = sample->metric->name;
	if (probe->ring_agree && strcmp(name, probe->ring_agree) == 0 && sample->value.type == MUSTER_STRING) {
		snprintf(worker->agree, sizeof worker->agree, "%s", sample->value.string);
		worker->answer.agree = worker->agree;
	}
	if (!probe->ring_rate || strcmp(name, probe->ring_rate) != 0 || sample->value.type != MUSTER_NUMBER ||
		!isfinite(sample->value.number) || worker->answer.figure_count == MUSTER_RING_FIGURES_MAX)
		return;
	worker->figures[worker->answer.figure_count++] = (struct muster_ring_figure){
		.bytes = (uint64_t)muster_label_number(sample->labels, sample->label_count, "bytes"),
		.rate = sample->value.number,
	};
}

static void send_sample(void *arg, const struct muster_sample *sample)
{
	note_for_answer(arg, sample);
	struct muster_json_writer_text line;
	line_begin(&line, "sample");
	muster_sample_write(&line.w, sample);
	line_end(&line);
}

static void broken(void *arg, const char *why)
{
	(void)arg;
	die("%s", why);
}

/* err: NULL when the command went well. */
static void send_answer(const char *key, struct muster_worker_answer answer, const struct muster_error *err)
{
	struct muster_json_writer_text line;
	answer.code = muster_code_name(err ? err->code : MUSTER_OK);
	answer.error = err ? err->text : NULL;
	line_begin(&line, key);
	muster_object_write(&line.w, &muster_worker_answer_type, &answer);
	line_end(&line);
}

static void send_done(struct worker *worker, int failed, const struct muster_error *err)
{
	worker->answer.simulated = muster_library_any_standin();
	send_answer("done", worker->answer, failed ? err : NULL);
}

/* ---- commands ---- */

/* Commands come from our own supervisor: a malformed one is a bug, not input from outside. */
static void read_command(
	struct worker *worker, const struct muster_json *command, const struct muster_object_type *type, void *into)
{
	struct muster_error err;
	struct muster_json_reader reader = { .arena = worker->arena, .err = &err };
	if (muster_object_read(&reader, command, type, into) < 0)
		die("malformed command: %s", err.text);
}

static const char *need_string(const struct muster_json *command, const char *key)
{
	const struct muster_json *text = muster_json_member(command, key);
	if (!text || muster_json_type(text) != MUSTER_JSON_STRING)
		die("command without %s", key);
	return muster_json_string(text);
}

/* The next command, good until the next call: 1 when there is one; 0 when none has come within wait_ms (-1: wait for
 * one); -1 when no more come. */
static int next_command(struct worker *worker, int wait_ms, const char **ret, size_t *ret_length)
{
	struct pollfd commands = { .fd = MUSTER_WORKER_COMMANDS, .events = POLLIN };
	while (!worker->ended) {
		int got = muster_line_reader_next(&worker->commands, ret, ret_length);
		if (worker->commands.too_long > 0)
			die("a command of more than %zu bytes", worker->commands.most);
		if (got > 0 && !worker->commands.cut)
			return 1;
		worker->ended = got >= 0 || errno != EAGAIN;
		if (!worker->ended && poll(&commands, 1, wait_ms) == 0)
			return 0;
	}
	return -1;
}

static struct muster_json *parse_command(const char *text, size_t length)
{
	struct muster_json *command = NULL;
	struct muster_error err;
	if (muster_json_parse(text, length, &command, &err) < 0)
		die("malformed command: %s", err.text);
	return command;
}

/* During a command the supervisor sends no other one. */
static void take_abort(struct worker *worker, const char *text, size_t length)
{
	struct muster_json *command = parse_command(text, length);
	if (strcmp(need_string(command, "do"), "abort") != 0)
		die("a command during another command");
	snprintf(worker->cancelled, sizeof worker->cancelled, "%s", need_string(command, "why"));
	muster_json_free(command);
}

/* Whether the present command is cancelled: -1 with MUSTER_ECALLEDOFF then, in every call from the first one on. A
 * supervisor that has exited cancels it too. */
static int cancelled(void *arg, struct muster_error *err)
{
	struct worker *worker = arg;
	const char *text;
	size_t length;
	if (!*worker->cancelled) {
		int got = next_command(worker, 0, &text, &length);
		if (got == 0)
			return 0;
		if (got > 0)
			take_abort(worker, text, length);
	}
	return muster_fail(err, MUSTER_ECALLEDOFF, "cancelled: %s",
		*worker->cancelled ? worker->cancelled : "the supervisor has exited");
}

static void send_failing(void *arg, const struct muster_error *err)
{
	(void)arg;
	send_answer("failing", (struct muster_worker_answer){ .gpus = -1 }, err);
}

static const struct muster_probe_sink sink = {
	.sample = send_sample,
	.step = send_step,
	.evidence = send_evidence,
	.failing = send_failing,
	.cancelled = cancelled,
	.broken = broken,
};

/* Once the GPU is known: `begin` of the probes, then CUDA's context on the GPU. What probes read of the GPU in `begin`
 * is not yet changed by this context. Without CUDA only probes that need no more than NVML begin, and the result is -1
 * with the error that the caller has already. */
static int use_gpu(struct worker *worker, bool has_cuda, struct muster_error *err)
{
	for (size_t i = 0; i < muster_probe_count(); i++)
		if (muster_probe_at(i)->begin && (has_cuda || muster_probe_at(i)->by_nvml))
			muster_probe_at(i)->begin(&worker->ctx);
	return has_cuda ? muster_device_use(&worker->ctx, &worker->gpu, err) : -1;
}

/* By NVML alone: CUDA is slow to start, and the ranks ask it later. */
static void do_count(struct worker *worker)
{
	struct muster_error err;
	unsigned int count = 0;
	const struct muster_nvml *nvml = muster_nvml(&err);
	int failed = nvml ? MUSTER_NVML(nvml, &err, nvmlDeviceGetCount_v2, &count) : -1;
	worker->answer.gpus = (int)count;
	send_done(worker, failed, &err);
}

/* {"do":"open"}: load NVML and CUDA, and start CUDA; with "skip" nothing, as the worker before died of one of them. */
static void do_open(struct worker *worker, const struct muster_json *command)
{
	struct muster_error err;
	worker->skip_cuda = muster_json_member(command, "skip") != NULL;
	int failed = worker->skip_cuda ? 0 : muster_device_open(&worker->ctx, &err);
	send_done(worker, failed, &err);
}

/* The worker before died of the drivers: none is loaded again. Each library that is asked for later says why. */
static void skip_drivers(struct worker *worker, const struct muster_take *take)
{
	struct muster_gpu *gpu = &worker->gpu;
	snprintf(gpu->why_none, sizeof gpu->why_none, "%s", take->why_skipped);
	gpu->died_of = muster_device_died_of(take->skipped_at);
	if (gpu->died_of)
		muster_library_refuse(
			*gpu->died_of == 'n' ? &muster_nvml_library : &muster_cuda_library, gpu->why_none);
	muster_device_assume(&worker->ctx, gpu);
}

/* {"do":"take", …}: choose the GPU; without a launcher bind this thread to the CPUs near it; then make the context. The
 * answer has what is known of the GPU also when the command fails, since NVML may show a GPU that CUDA cannot use: the
 * error then becomes why_none. */
static void do_take(struct worker *worker, const struct muster_json *command)
{
	struct muster_take take = { .env = worker->ctx.env };
	struct muster_error err;
	int failed = 0;
	read_command(worker, command, &muster_take_type, &take);
	worker->ctx.env = take.env;
	if (worker->skip_cuda)
		skip_drivers(worker, &take);
	else
		failed = muster_device_select(&worker->ctx, &worker->gpu, &err);
	if (!failed && !take.env.in_job && (!worker->skip_cuda || worker->gpu.died_of))
		muster_device_bind_cpus(&worker->ctx, &worker->gpu);
	if (*worker->gpu.bus_id && !worker->skip_cuda)
		failed = use_gpu(worker, !failed, &err);
	if (failed) {
		snprintf(worker->gpu.why_none, sizeof worker->gpu.why_none, "%s", err.text);
		worker->gpu.why_code = err.code;
	}

	worker->answer.gpu = worker->gpu.bus_id;
	worker->answer.uuid = worker->gpu.uuid;
	worker->answer.path = muster_device_path(&worker->ctx, &worker->gpu, worker->path, sizeof worker->path);
	worker->answer.why_none = worker->gpu.why_none;
	send_done(worker, failed, &err);
}

static void do_peers(struct worker *worker, const struct muster_json *command)
{
	read_command(worker, command, &muster_peers_type, &worker->ctx.env);
	send_done(worker, 0, NULL);
}

/* Ids of NCCL are bytes; in JSON they are hexadecimal, two lower-case digits a byte. out has 2 * count + 1 bytes. */
static void hex_encode(const unsigned char *bytes, size_t count, char *out)
{
	for (size_t i = 0; i < count; i++) {
		out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	out[2 * count] = '\0';
}

static void hex_decode(const char *text, unsigned char *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	if (strspn(text, digits) < 2 * count)
		die("malformed ring id");
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)((strchr(digits, text[2 * i]) - digits) << 4 |
					   (strchr(digits, text[2 * i + 1]) - digits));
}

/* {"do":"ring", …}: its ids are one text, of 256 digits for each id. The parts AWAIT and REST go on with a
 * communicator, and must have no id; the others must have one at least. */
static int do_ring(struct worker *worker, const struct muster_json *command, struct muster_error *err)
{
	struct muster_ring_command ring = { .ids = NULL };
	read_command(worker, command, &muster_ring_type, &ring);
	size_t count = strlen(ring.ids) / (2 * MUSTER_RING_ID_BYTES);
	bool needed = ring.ring.part == MUSTER_RING_WHOLE || ring.ring.part == MUSTER_RING_BEGIN;
	if ((count == 0) == needed || count > MUSTER_RING_IDS_MAX || strlen(ring.ids) % (2 * MUSTER_RING_ID_BYTES) != 0)
		die("malformed ring ids");
	hex_decode(ring.ids, ring.ring.ids[0], count * MUSTER_RING_ID_BYTES);
	ring.ring.id_count = (int)count;
	worker->ctx.env.visit = 0;
	return worker->ctx.probe->ring(&worker->ctx, &ring.ring, err);
}

static int do_traffic(struct worker *worker, const struct muster_json *command, struct muster_error *err)
{
	struct muster_traffic traffic = { .peer = -1 };
	read_command(worker, command, &muster_traffic_type, &traffic);
	worker->ctx.env.visit = traffic.visit;
	return worker->ctx.probe->traffic(&worker->ctx, &traffic, err);
}

/* A command for one probe: call the callback that the action names, and answer. The error of a probe of the rank gets
 * the reason why the rank has no GPU, where there is one. After the answer `between` of all probes runs. */
static void do_probe(struct worker *worker, const char *action, const struct muster_json *command)
{
	struct muster_error err;
	unsigned char id[MUSTER_RING_ID_BYTES] = { 0 };
	int failed;
	worker->ctx.probe = muster_probe_find(need_string(command, "probe"));
	if (!worker->ctx.probe)
		die("unknown probe %s", need_string(command, "probe"));
	if (strcmp(action, "run") == 0 || strcmp(action, "together") == 0) {
		read_command(worker, command, &muster_visit_type, &worker->ctx.env);
		failed = (*action == 'r' ? worker->ctx.probe->run : worker->ctx.probe->together)(&worker->ctx, &err);
	} else if (strcmp(action, "finish") == 0)
		failed = worker->ctx.probe->finish(&worker->ctx, &err);
	else if (strcmp(action, "ring") == 0)
		failed = do_ring(worker, command, &err);
	else if (strcmp(action, "traffic") == 0)
		failed = do_traffic(worker, command, &err);
	else if (strcmp(action, "ring_id") == 0)
		failed = worker->ctx.probe->ring_id(&worker->ctx, id, &err);
	else
		die("unknown command %s", action);
	if (failed && *worker->gpu.why_none && worker->ctx.probe->scope != MUSTER_SCOPE_NODE &&
		strcmp(err.text, worker->gpu.why_none) != 0)
		muster_wrap(&err, "%s", worker->gpu.why_none);
	if (!failed && strcmp(action, "ring_id") == 0) {
		hex_encode(id, sizeof id, worker->ring_id);
		worker->answer.ring_id = worker->ring_id;
	}
	send_done(worker, failed, &err);
	for (size_t i = 0; i < muster_probe_count(); i++)
		if (muster_probe_at(i)->between)
			muster_probe_at(i)->between();
}

/* One command and its answer. False after "quit". What the command before has left in `answer` is forgotten. */
static bool obey(struct worker *worker, const char *text, size_t length)
{
	struct muster_json *command = parse_command(text, length);
	const char *action = need_string(command, "do");
	bool go_on = strcmp(action, "quit") != 0;
	*worker->cancelled = '\0';
	worker->answer = (struct muster_worker_answer){ .gpus = -1, .figures = worker->figures };
	if (strcmp(action, "open") == 0)
		do_open(worker, command);
	else if (strcmp(action, "count") == 0)
		do_count(worker);
	else if (strcmp(action, "take") == 0)
		do_take(worker, command);
	else if (strcmp(action, "peers") == 0)
		do_peers(worker, command);
	else if (go_on && strcmp(action, "abort") != 0) /* an abort after its command had ended */
		do_probe(worker, action, command);
	muster_json_free(command);
	return go_on;
}

int muster_cmd_worker(int argc, char **argv)
{
	(void)argv;
	if (argc != 1 || fcntl(MUSTER_WORKER_COMMANDS, F_GETFD) < 0) {
		fprintf(stderr, "muster: worker is for muster's own use\n");
		return MUSTER_WORKER_BROKEN;
	}
	const char *root = muster_env(MUSTER_ENV_ROOT);
	struct worker worker = { .arena = muster_arena_new(), .gpu = { .cuda_device = -1, .visible = -1 } };
	snprintf(worker.gpu.choice, sizeof worker.gpu.choice, "none");
	worker.ctx = (struct muster_probe_ctx){
		.env = { .root = root ? root : "", .gpu = &worker.gpu, .node_name = "" },
		.sink = &sink,
		.arg = &worker,
	};
	const char *text;
	size_t length;
	fcntl(MUSTER_WORKER_COMMANDS, F_SETFL, O_NONBLOCK); /* so that a command can be cancelled while it runs */
	muster_line_reader_init(&worker.commands, MUSTER_WORKER_COMMANDS, MUSTER_PROTOCOL_COMMAND_MAX);
	while (next_command(&worker, -1, &text, &length) > 0 && obey(&worker, text, length))
		;
	muster_line_reader_done(&worker.commands);
	muster_arena_free(worker.arena);
	fflush(NULL);
	muster_leaks_check();
	_exit(0); /* exit handlers of drivers may hang, and the kernel releases everything */
}
