/* SPDX-License-Identifier: Apache-2.0 */
/* probe_fake.h - a probe's context without a worker: its sink keeps every sample
 *
 * Linked into every tests/unit/probes/test_*.c.
 */
#ifndef MUSTER_PROBE_FAKE_H
#define MUSTER_PROBE_FAKE_H

#include "muster/arena.h"
#include "probes/context.h"

#define FAKE_PEERS_MAX 16

struct probe_fake {
	struct muster_probe_ctx ctx; /* env: one rank of one, leader, no GPU; the test changes what it needs */
	struct muster_gpu gpu;
	struct muster_peer peers[FAKE_PEERS_MAX];
	struct muster_arena *arena;
	struct muster_samples samples;
	const char *steps;     /* texts of all steps so far, each with a newline */
	const char *cancelled; /* why the command is cancelled; NULL: it is not */
	int given_up;          /* how often the probe said that it fails */
	char evidence[MUSTER_ERROR_TEXT_MAX];
	char root[256];                /* a fresh directory */
	const struct fake_knob *knobs; /* the test's own; the last one has no name */
	const char *place;             /* the first label of samples that are expected without labels; NULL: any */
	int result;                    /* of the last phase */
	bool was_run;
	struct muster_error error;
};

/* A variable of the test's script that rows set and read by its name: FAKE_KNOB("percent", script.percent). */
struct fake_knob {
	const char *name;
	void *place;
	char type;
};
/* clang-format off */
#define FAKE_KNOB(name, place) { name, &(place), _Generic((place), bool: 'b', int: 'i', unsigned int: 'i', \
	long: 'l', unsigned long: 'l', unsigned long long: 'l', double: 'd', const char *: 's') }
/* clang-format on */

/* A case of a table: what fake_given sets before the run, and what fake_expect finds after it. */
struct fake_row {
	const char *name, *given, *expected;
};

/* A context for probe with an empty directory as root. */
struct probe_fake *fake_new(const struct muster_probe *probe);
/* Removes the directory too. */
void fake_free(struct probe_fake *fake);
/* Give the rank a GPU, alone and without NVML. */
void fake_gpu(struct probe_fake *fake, const char *bus_id, const char *uuid);
/* Forget the samples and the steps, to run once more. */
void fake_forget(struct probe_fake *fake);

/* Write a file under the root, directories included. A NULL text makes a directory of that name. */
void fake_file(struct probe_fake *fake, const char *path, const char *text);

/* The one sample of a metric whose first label (when label is not NULL) and third label (when other is not NULL) are
 * these; the test fails when there is none. */
const struct muster_sample *fake_sample(
	struct probe_fake *fake, const char *metric, const char *label, const char *other);
size_t fake_count(struct probe_fake *fake, const char *metric);

/* Its value; the test fails when it has another type. */
double fake_number(struct probe_fake *fake, const char *metric, const char *label);
const char *fake_string(struct probe_fake *fake, const char *metric, const char *label);
bool fake_boolean(struct probe_fake *fake, const char *metric, const char *label);
/* The reason why it is null. */
const char *fake_reason(struct probe_fake *fake, const char *metric, const char *label);

/* Set what is given, words between " | ":
 *	NAME=VALUE     a variable of the environment; "-NAME" removes it
 *	/PATH=TEXT     a file under the root, with a newline at the end; "/PATH/" is a folder, "-/PATH" removes,
 *	               "/PATH->TARGET" is a link
 *	name=VALUE     a knob of the test, or one of all tests: see find_knob
 *	begin, run, together, finish, forget
 *	               these phases of the probe, where the run is not the last thing; forget the samples so far */
void fake_given(struct probe_fake *fake, const char *given);
/* Run the probe, whether it succeeds or not. */
void fake_run(struct probe_fake *fake);
/* Find what is expected, words between " | "; name is that of the row:
 *	METRIC [LABEL=TEXT]... VALUE
 *	               the first sample with these labels ("~" is a blank): a number, true or false, 'TEXT, -REASON
 *	               when it is null, !REASON when it could not be read, [1 2 3] for its windows, or #N for the number
 *	               of such samples, of all places
 *	knob VALUE     a number, or 'TEXT
 *	error 'TEXT    why the last phase failed; without this word it must have succeeded
 *	code 'TEXT     the name of the error's code
 *	steps 'TEXT    the steps, with "; " between two
 *	evidence 'TEXT
 * A number may have a tolerance, "5~0.1", or be a limit, ">=5", "<=5", ">0". In a text, "*" stands for any text, and
 * "?" for one character. */
void fake_expect(struct probe_fake *fake, const char *expected, const char *name);
/* All three. */
void fake_case(struct probe_fake *fake, const struct fake_row *row);

/* Every metric of the probe's table has a sample: a fact is never left out. `except` ends in NULL, or is NULL. */
void fake_complete(struct probe_fake *fake, const char *const *except);

#endif
