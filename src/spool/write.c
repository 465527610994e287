/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - the spool, written by a thread of its own
 *
 * The supervisor appends lines to the queue; the thread takes the whole queue, writes it without the lock, and comes
 * back for the next: so one system call writes what came during the last one, and the run never waits. A disk that
 * hangs fills the queue up to QUEUE_MAX; further lines are lost, which is said once at the end (muster_spool_trouble).
 *
 * All ranks of a node append to one file (O_APPEND), whose lines are therefore mixed; "by" tells them apart. When a
 * line is synced to the disk:
 *
 *   header, trial, end, outcome, kept, facts of the rank   soon, after the write that has the line
 *   sample, step, place                                    QUIET_MS after the last line, or together with one of the
 *                                                          others
 *   each of these, with more than CROWDED ranks            QUIET_MS after the last line only
 */
#include "spool/write.h"

#include "json/object.h"
#include "model/limits.h"
#include "model/run_json.h"
#include "model/windows.h"
#include "muster/run_data.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/env.h"
#include "util/text.h"
#include "muster/report.h"
#include "util/version.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	CROWDED = 1024,       /* ranks of a run: with more, no line asks for a sync */
	QUEUE_MAX = 32 << 20, /* bytes that wait for a slow disk */
	QUIET_MS = 250,       /* without a new line: then a step, too, is synced to the disk, as its call may hang */
	NAME_MAX_BYTES = 200, /* of a file's name */
};

struct muster_spool {
	int fd;
	char id[17]; /* of this process, "by" in its lines: 16 hexadecimal digits */
	char *path;
	double start_ms;
	size_t trials_written;
	char step[640]; /* the last one that was written */
	size_t step_length;
	/* shared with the thread that writes */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t news;
	char *queue; /* lines that wait; NULL after the thread has taken it */
	size_t length, room;
	bool sync, closing; /* sync: a line in the queue asks for it */
	bool crowded;       /* so many ranks write to the folder that waiting for the disk would stop others */
	char trouble[512];  /* the first error of writing; "" */
	bool told;          /* muster_spool_trouble has returned it */
};

/* ---- the thread ---- */

static void note_trouble(struct muster_spool *spool, int why)
{
	if (why && !*spool->trouble)
		snprintf(spool->trouble, sizeof spool->trouble, "%s: %s", spool->path, strerror(why));
}

/* Write the queue in one piece. Sync when a line asked for that, and when no line has come for QUIET_MS. dirty: what
 * was written may not be on the disk yet, so the thread wakes after QUIET_MS though no line comes. */
static void *write_all(void *arg)
{
	struct muster_spool *spool = arg;
	bool dirty = false;
	pthread_mutex_lock(&spool->lock);
	for (;;) {
		int waited = 0;
		struct timespec until = muster_clock_after(QUIET_MS);
		while (spool->length == 0 && !spool->closing && waited == 0)
			waited = dirty ? pthread_cond_clockwait(&spool->news, &spool->lock, CLOCK_MONOTONIC, &until)
				       : pthread_cond_wait(&spool->news, &spool->lock);
		if (spool->length == 0 && spool->closing && !dirty)
			break;
		char *bytes = spool->queue;
		size_t length = spool->length;
		bool sync = spool->sync || length == 0;
		spool->queue = NULL;
		spool->length = spool->room = 0;
		spool->sync = false;
		pthread_mutex_unlock(&spool->lock);
		int why = muster_write_all(spool->fd, bytes, length);
		if (sync && fdatasync(spool->fd) < 0 && !why && errno != EINVAL)
			why = errno;
		dirty = !sync;
		free(bytes);
		pthread_mutex_lock(&spool->lock);
		note_trouble(spool, why);
	}
	pthread_mutex_unlock(&spool->lock);
	return NULL;
}

/* ---- lines ---- */

/* Seconds since the process's start, in whole milliseconds. */
static double elapsed_s(const struct muster_spool *spool)
{
	return (double)(long)(muster_now_ms() - spool->start_ms) / 1e3;
}

static void line_begin(const struct muster_spool *spool, struct muster_json_writer_text *line)
{
	muster_json_writer_text_begin(line);
	fputc('\n', line->w.out);
	muster_json_writer_object(&line->w);
	muster_json_writer_pair(&line->w, "by", muster_string(spool->id));
}

/* Hand a line to the thread. */
static void append_text(struct muster_spool *spool, const char *text, size_t length, bool sync)
{
	pthread_mutex_lock(&spool->lock);
	if (spool->length + length > QUEUE_MAX) {
		note_trouble(spool, ENOBUFS);
	} else {
		MUSTER_ARRAY_RESERVE(spool->queue, spool->length, spool->room, length);
		memcpy(spool->queue + spool->length, text, length);
		spool->length += length;
		spool->sync = spool->sync || sync;
		pthread_cond_signal(&spool->news);
	}
	pthread_mutex_unlock(&spool->lock);
}

static void line_end(struct muster_spool *spool, struct muster_json_writer_text *line, bool sync)
{
	muster_json_writer_object_end(&line->w);
	fputc('\n', line->w.out);
	char *text = muster_json_writer_text_end(line);
	append_text(spool, text, line->length, sync && !spool->crowded);
	free(text);
}

static const struct muster_field header_fields[] = {
	{ MUSTER_FIELD_AS(muster_spool_header, "spool", format, INT) },
	{ MUSTER_FIELD_AS(muster_spool_header, "muster", version, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_spool_header, run, TEXT) },
	{ MUSTER_FIELD(muster_spool_header, job, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_spool_header, started, TEXT) },
	{ MUSTER_FIELD(muster_spool_header, rank, INT), .low = 0, .high = MUSTER_RUN_RANKS_MAX - 1 },
	{ MUSTER_FIELD(muster_spool_header, ranks, INT), .low = 1, .high = MUSTER_RUN_RANKS_MAX },
	{ MUSTER_FIELD(muster_spool_header, node, TEXT) },
	{ MUSTER_FIELD(muster_spool_header, nodelist, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_spool_header, sku, TEXT) },
	{ MUSTER_FIELD(muster_spool_header, overlay, TEXT), .optional = true },
	{ MUSTER_FIELD(muster_spool_header, profile, TEXT), .read = muster_profile_read },
	{ MUSTER_FIELD(muster_spool_header, strict, INT), .read = muster_strictness_read,
		.write = muster_strictness_write, .optional = true },
	{ MUSTER_FIELD(muster_spool_header, beside_jobs, BOOLEAN), .optional = true },
	{ MUSTER_FIELD(muster_spool_header, measures, INT), .read = muster_measures_read,
		.write = muster_measures_write, .optional = true },
	{ MUSTER_FIELD(muster_spool_header, repeats, INT), .high = MUSTER_REPEATS_MAX, .optional = true },
};
const struct muster_object_type muster_spool_header_type = MUSTER_OBJECT_TYPE(muster_spool_header, header_fields);

static void write_header(struct muster_spool *spool, struct muster_spool_header header)
{
	struct muster_json_writer_text line;
	header.format = MUSTER_SPOOL_VERSION;
	header.version = muster_version;
	line_begin(spool, &line);
	muster_members_write(&line.w, &muster_spool_header_type, &header);
	line_end(spool, &line, true);
}

/* ---- */

char *muster_spool_run_name(const char *started)
{
	/* mpirun and srun with PMIx name each start of a program; srun without PMIx has the step */
	const char *space = getenv("PMIX_NAMESPACE"), *job = getenv("SLURM_JOB_ID");
	const char *step = muster_env_of_step("SLURM_STEP_ID"), *restart = getenv("SLURM_RESTART_COUNT");
	if (!space && !(job && step))
		return muster_asprintf("%s %ld", started, (long)getpid());
	return muster_asprintf(
		"%s.%s.%s.%s", job ? job : "", step ? step : "", restart ? restart : "", space ? space : "");
}

/* "gpu-1.site" is gpu-1.site.jsonl, "a/b" is a%2Fb.jsonl. A dot at the beginning is encoded too. The name is cut after
 * NAME_MAX_BYTES: nodes whose names begin alike then share a file. */
char *muster_spool_path(const char *directory, const char *node)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	char name[NAME_MAX_BYTES + 4];
	size_t used = 0;
	for (const char *at = node; *at && used < NAME_MAX_BYTES; at++)
		used += (size_t)snprintf(name + used, 4,
			strchr(plain, *at) || (*at == '.' && used > 0) ? "%c" : "%%%02X", (unsigned char)*at);
	return muster_asprintf("%s/%s.jsonl", directory, used ? name : "%");
}

/* The descriptor, or -1 with err. The folder may be one that other users write to: what stands there already may be a
 * link or a FIFO. */
static int open_file(const char *directory, const char *path, struct muster_error *err)
{
	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		return muster_fail(err, MUSTER_EIO, "%s: cannot create this directory: %s", directory, strerror(errno));
	/* never through a link, and a FIFO must not make us wait */
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
	struct stat status;
	if (fd < 0)
		return muster_fail(err, MUSTER_EIO, "%s: %s", path, strerror(errno));
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		close(fd);
		return muster_fail(err, MUSTER_EIO, "%s: exists and is not a regular file", path);
	}
	return fd;
}

int muster_spool_open(struct muster_spool **ret, const char *directory, const struct muster_spool_header *header,
	double start_ms, struct muster_error *err)
{
	char *path = muster_spool_path(directory, header->node);
	int fd = open_file(directory, path, err);
	if (fd < 0) {
		free(path);
		return -1;
	}
	struct muster_spool *spool = muster_calloc(1, sizeof *spool);
	uint64_t random = 0;
	if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
		random = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	*spool = (struct muster_spool){
		.fd = fd,
		.path = path,
		.start_ms = start_ms,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.news = PTHREAD_COND_INITIALIZER,
	};
	snprintf(spool->id, sizeof spool->id, "%016llx", (unsigned long long)random);
	sigset_t all, before; /* signals are for the main thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int why = pthread_create(&spool->thread, NULL, write_all, spool);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (why) {
		close(fd);
		free(path);
		free(spool);
		return muster_fail(err, MUSTER_EIO, "cannot start a thread: %s", strerror(why));
	}
	write_header(spool, *header);
	*ret = spool;
	return 0;
}

void muster_spool_place(struct muster_spool *spool, int rank, int ranks)
{
	struct muster_json_writer_text line;
	if (!spool)
		return;
	spool->crowded = ranks > CROWDED;
	line_begin(spool, &line);
	muster_json_writer_pair(&line.w, "rank", muster_number(rank));
	muster_json_writer_pair(&line.w, "ranks", muster_number(ranks));
	line_end(spool, &line, false);
}

void muster_spool_line(struct muster_spool *spool, const char *line, size_t length, bool sync)
{
	static const char step[] = "{\"step\":";
	bool is_step = length > sizeof step && memcmp(line, step, sizeof step - 1) == 0;
	if (!spool || length < 3 || (is_step && length == spool->step_length && memcmp(line, spool->step, length) == 0))
		return;
	if (is_step) {
		spool->step_length = length <= sizeof spool->step ? length : 0;
		memcpy(spool->step, line, spool->step_length);
	}
	/* "{" and the rest, with the writer's name and the time between them */
	char *text = muster_asprintf(
		"\n{\"by\":\"%s\",\"t\":%.3f,%.*s\n", spool->id, elapsed_s(spool), (int)length - 1, line + 1);
	append_text(spool, text, strlen(text), sync && !spool->crowded);
	free(text);
}

void muster_spool_trials(struct muster_spool *spool, const struct muster_run *run)
{
	while (spool && spool->trials_written < run->trial_count) {
		struct muster_json_writer_text line;
		line_begin(spool, &line);
		muster_json_writer_pair(&line.w, "t", muster_number(elapsed_s(spool)));
		muster_json_writer_key(&line.w, "trial");
		muster_object_write(&line.w, &muster_trial_type, &run->trials[spool->trials_written++]);
		line_end(spool, &line, true);
	}
}

void muster_spool_end(struct muster_spool *spool, const char *why)
{
	struct muster_json_writer_text line;
	if (!spool)
		return;
	line_begin(spool, &line);
	muster_json_writer_pair(&line.w, "t", muster_number(elapsed_s(spool)));
	muster_json_writer_pair(&line.w, "end", muster_string(why));
	line_end(spool, &line, true);
}

const char *muster_spool_trouble(struct muster_spool *spool)
{
	if (!spool || spool->told)
		return NULL;
	pthread_mutex_lock(&spool->lock);
	spool->told = *spool->trouble != '\0';
	pthread_mutex_unlock(&spool->lock);
	return spool->told ? spool->trouble : NULL;
}

void muster_spool_close(struct muster_spool *spool, int grace_ms)
{
	if (!spool)
		return;
	pthread_mutex_lock(&spool->lock);
	spool->closing = true;
	pthread_cond_signal(&spool->news);
	pthread_mutex_unlock(&spool->lock);
	struct timespec until = muster_clock_after(grace_ms);
	if (pthread_clockjoin_np(spool->thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
		pthread_detach(spool->thread); /* the disk hangs, and the process is about to exit: nothing is freed */
		return;
	}
	close(spool->fd);
	free(spool->queue);
	free(spool->path);
	pthread_mutex_destroy(&spool->lock);
	pthread_cond_destroy(&spool->news);
	free(spool);
}
