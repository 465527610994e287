/* worker_process.c - a worker that is a process */
#include "coord/worker_process.h"

#include "muster/arena.h"

#include <stdlib.h>
#include <unistd.h>

void muster_worker_process_init(struct muster_worker_process *worker, const char *program)
{
	size_t count = 0;
	while (environ[count])
		count++;
	*worker = (struct muster_worker_process){
		.program = program,
		.environment = muster_calloc(count + 1, sizeof *worker->environment),
		.process = { .commands = -1, .results = -1, .noise = -1 },
	};
	for (size_t i = 0; i < count; i++)
		worker->environment[i] = muster_strdup(environ[i]);
}

void muster_worker_process_done(struct muster_worker_process *worker)
{
	for (char **entry = worker->environment; entry && *entry; entry++)
		free(*entry);
	free(worker->environment);
	worker->environment = NULL;
}

static int start(void *arg, struct muster_error *err)
{
	struct muster_worker_process *worker = arg;
	return muster_subprocess_start(&worker->process, worker->program, worker->environment, err);
}

static int send_line(void *arg, const char *text, size_t length, struct muster_error *err)
{
	struct muster_worker_process *worker = arg;
	return muster_subprocess_send(&worker->process, text, length, err);
}

static int next_line(void *arg, const char **ret, size_t *ret_length, struct muster_error *err)
{
	struct muster_worker_process *worker = arg;
	return muster_subprocess_next_line(&worker->process, ret, ret_length, err);
}

static void read_output(void *arg)
{
	struct muster_worker_process *worker = arg;
	muster_subprocess_read_noise(&worker->process);
}

static void quit(void *arg, int grace_ms)
{
	struct muster_worker_process *worker = arg;
	muster_subprocess_quit(&worker->process, grace_ms);
}

static bool end(void *arg, int grace_ms, char *ret_how, size_t size)
{
	struct muster_worker_process *worker = arg;
	return muster_subprocess_end(&worker->process, grace_ms, ret_how, size);
}

static const char *last_output(void *arg, char *out, size_t size)
{
	const struct muster_worker_process *worker = arg;
	return muster_subprocess_last_words(&worker->process, out, size);
}

static int fd(void *arg)
{
	const struct muster_worker_process *worker = arg;
	return worker->process.results;
}

const struct muster_worker_ops muster_worker_process_ops = {
	.start = start,
	.send = send_line,
	.next_line = next_line,
	.read_output = read_output,
	.quit = quit,
	.end = end,
	.last_output = last_output,
	.fd = fd,
};
