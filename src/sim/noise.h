/* SPDX-License-Identifier: Apache-2.0 */
/* noise.h - recorded noise of real hosts: how much longer an operation takes at each moment
 *
 * A file has a series for each kind of operation, and for each GPU where they differ; src/sim/noise/README.md has the
 * format. A series is read as a rate over time: an operation gets on at the rate 1 / factor, so a stall adds the same
 * time to a short and a long operation.
 *
 * The simulator finds and checks a file once (muster_sim_noise_find); the stand-in of CUDA reads it in each worker and
 * asks muster_sim_noise_seconds() for each operation (standins/cuda_stream.c). With the series
 *
 *   copies
 *   0 1
 *   10 3
 *   16 1
 *   100 1
 *
 * a copy of 4 ms that begins at 8 ms has done 2 ms of its work at 10 ms, needs 6 ms for the other 2 ms, and takes 8 ms.
 */
#ifndef MUSTER_SIM_NOISE_H
#define MUSTER_SIM_NOISE_H

#include "muster/arena.h"
#include "muster/error.h"

#include <stddef.h>

enum muster_sim_noise_kind {
	MUSTER_SIM_NOISE_NONE, /* never disturbed */
	MUSTER_SIM_NOISE_COPIES,
	MUSTER_SIM_NOISE_MEMORY,
	MUSTER_SIM_NOISE_PRODUCT,
	MUSTER_SIM_NOISE_ALLREDUCE,
	MUSTER_SIM_NOISE_EXCHANGE,
	MUSTER_SIM_NOISE_STEP, /* for tools: a step is made of operations of the other kinds */
	MUSTER_SIM_NOISE_KINDS
};

/* factor holds from that time on; the last row is the end of the series. */
struct muster_sim_noise_row {
	double seconds, factor;
};

/* Of one kind; those of a kind are of GPU 0, 1, ... */
struct muster_sim_noise_series {
	enum muster_sim_noise_kind kind;
	struct muster_sim_noise_row *rows;
	size_t count, room;
};

struct muster_sim_noise {
	struct muster_sim_noise_series *series;
	size_t count, room;
};

/* Errors name the file and the line; code MUSTER_EUSAGE. */
int muster_sim_noise_read(const char *path, struct muster_sim_noise *ret, struct muster_error *err);
void muster_sim_noise_done(struct muster_sim_noise *noise);

/* The names of the files in the folder, each with ", " behind it; in arena. */
const char *muster_sim_noise_list(const char *folder, struct muster_arena *arena);

/* The absolute path, in arena, of a file that can be read: that of the name in the folder, or the file itself. NULL
 * with err. */
const char *muster_sim_noise_find(
	const char *folder, const char *name_or_path, struct muster_arena *arena, struct muster_error *err);

/* How long an operation of the GPU takes that begins so many seconds after the start of the recording, which repeats
 * itself, and that takes `seconds` when nothing disturbs it. */
double muster_sim_noise_seconds(const struct muster_sim_noise *noise, enum muster_sim_noise_kind kind, size_t gpu,
	double begins, double seconds);

#endif
