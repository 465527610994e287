/* SPDX-License-Identifier: Apache-2.0 */
/* noise.c - recorded noise of real hosts: read a file, and tell how long an operation takes
 *
 * What a file must keep to, line by line: a line that begins with '#' and an empty one are skipped; the name of a kind
 * alone begins a series; two numbers are a row of the series. The first row of a series is at 0, times rise, and there
 * are two rows at least, because the last one is only the end. So every series has a length above 0, and every moment
 * of it has a factor.
 */
#include "sim/noise.h"

#include "util/array.h"
#include "util/file.h"
#include "util/text.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)16 << 20)
#define FACTOR_MIN 0.01
#define FACTOR_MAX 10000
#define MS_MAX 86400e3
#define NAME_END ".txt"

static const char *const kinds[MUSTER_SIM_NOISE_KINDS] = { "", "copies", "memory", "product", "allreduce", "exchange",
	"step" };

/* -- reading -- */

/* "12.7 2.1": milliseconds and a factor. False: the line is anything else, or a number is out of its bounds. */
static bool read_row(const char *line, struct muster_sim_noise_row *ret)
{
	char *end;
	struct muster_sim_noise_row row = { .seconds = strtod(line, &end) / 1e3 };
	if (end == line || (*end != ' ' && *end != '\t'))
		return false;
	line = end;
	row.factor = strtod(line, &end);
	*ret = row;
	return end != line && end[strspn(end, " \t\r")] == '\0' && row.seconds >= 0 && row.seconds <= MS_MAX / 1e3 &&
	       row.factor >= FACTOR_MIN && row.factor <= FACTOR_MAX;
}

/* Add a line that is neither empty nor a comment. NULL, or what is wrong with the line. */
static const char *add_line(struct muster_sim_noise *noise, const char *line)
{
	struct muster_sim_noise_series *last = noise->count > 0 ? &noise->series[noise->count - 1] : NULL;
	struct muster_sim_noise_row row;
	size_t length = strcspn(line, " \t\r");
	for (size_t kind = 1; kind < MUSTER_SIM_NOISE_KINDS; kind++) {
		if (strlen(kinds[kind]) != length || strncmp(line, kinds[kind], length) != 0 ||
			line[length + strspn(line + length, " \t\r")])
			continue;
		if (last && last->count < 2)
			return "the series before has less than two rows";
		MUSTER_ARRAY_PUSH(noise->series, noise->count, noise->room,
			(struct muster_sim_noise_series){ .kind = (enum muster_sim_noise_kind)kind });
		return NULL;
	}
	if (!last || !read_row(line, &row))
		return last ? "a time in ms, up to a day, and a factor from 0.01 to 10000 are needed, or the name of a "
			      "series: copies, memory, product, allreduce, exchange or step"
			    : "the name of a series is needed: copies, memory, product, allreduce, exchange or step";
	if (last->count == 0 ? row.seconds > 0 : row.seconds <= last->rows[last->count - 1].seconds)
		return last->count == 0 ? "the first time of a series is 0" : "each time is later than the one before";
	MUSTER_ARRAY_PUSH(last->rows, last->count, last->room, row);
	return NULL;
}

int muster_sim_noise_read(const char *path, struct muster_sim_noise *ret, struct muster_error *err)
{
	struct muster_sim_noise noise = { 0 };
	const char *wrong = NULL;
	size_t length, number = 0;
	char *text, *end, *line;
	if (muster_file_read(path, FILE_BYTES_MAX, &text, &length, err) < 0) {
		err->code = MUSTER_EUSAGE;
		return -1;
	}
	for (line = text; line && !wrong; line = wrong ? line : end) {
		number++;
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		if (*line != '#' && line[strspn(line, " \t\r")])
			wrong = add_line(&noise, line);
	}
	if (!wrong && (noise.count == 0 || noise.series[noise.count - 1].count < 2)) {
		wrong = noise.count == 0 ? "no series" : "the last series has less than two rows";
		line = "";
	}
	if (wrong) {
		muster_fail(err, MUSTER_EUSAGE, "%s:%zu: %s; found \"%.60s\"", path, number, wrong, line);
		muster_sim_noise_done(&noise);
	} else {
		*ret = noise;
	}
	free(text);
	return wrong ? -1 : 0;
}

void muster_sim_noise_done(struct muster_sim_noise *noise)
{
	for (size_t i = 0; i < noise->count; i++)
		free(noise->series[i].rows);
	free(noise->series);
	*noise = (struct muster_sim_noise){ 0 };
}

const char *muster_sim_noise_list(const char *folder, struct muster_arena *arena)
{
	struct muster_names names = { 0 };
	const char *list = "";
	muster_file_names(folder, NAME_END, alphasort, &names, NULL);
	for (size_t i = 0; i < names.count; i++)
		list = muster_arena_printf(
			arena, "%s%.*s, ", list, (int)(strlen(names.items[i]) - strlen(NAME_END)), names.items[i]);
	muster_names_done(&names);
	return list;
}

const char *muster_sim_noise_find(
	const char *folder, const char *name_or_path, struct muster_arena *arena, struct muster_error *err)
{
	struct muster_sim_noise noise;
	const char *named = muster_arena_printf(arena, "%s/%s" NAME_END, folder, name_or_path);
	char path[PATH_MAX];
	if ((strchr(name_or_path, '/') || !realpath(named, path)) && !realpath(name_or_path, path)) {
		muster_fail(err, MUSTER_EUSAGE, "--noise: %sor a file is needed, found \"%.200s\"",
			muster_sim_noise_list(folder, arena), name_or_path);
		return NULL;
	}
	if (muster_sim_noise_read(path, &noise, err) < 0)
		return NULL;
	muster_sim_noise_done(&noise);
	return muster_arena_string(arena, path);
}

/* -- playing -- */

/* The series of a GPU, by its place among the series of its kind; with fewer series than GPUs they begin again. NULL:
 * the file has none of this kind. */
static const struct muster_sim_noise_series *series_of(
	const struct muster_sim_noise *noise, enum muster_sim_noise_kind kind, size_t gpu)
{
	size_t count = 0;
	for (size_t i = 0; i < noise->count; i++)
		count += noise->series[i].kind == kind;
	gpu = count > 0 ? gpu % count : 0;
	for (size_t i = 0; i < noise->count; i++)
		if (noise->series[i].kind == kind && gpu-- == 0)
			return &noise->series[i];
	return NULL;
}

/* The row that holds at that time, which is before the end of the series. Rows are sorted by time, and each step of the
 * search halves them. */
static size_t row_at(const struct muster_sim_noise_series *series, double seconds)
{
	size_t low = 0, high = series->count - 1;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		*(series->rows[middle].seconds <= seconds ? &low : &high) = middle;
	}
	return low;
}

/* Go on from row to row, and in each do as much of the work as the row's time allows: `seconds` is the work that is
 * left, as undisturbed time, `took` the time that has passed. At the end of the series go on at its beginning. */
double muster_sim_noise_seconds(const struct muster_sim_noise *noise, enum muster_sim_noise_kind kind, size_t gpu,
	double begins, double seconds)
{
	const struct muster_sim_noise_series *series = series_of(noise, kind, gpu);
	if (!series || !isfinite(seconds))
		return seconds;
	double length = series->rows[series->count - 1].seconds, now = fmod(begins, length), took = 0;
	now = now < 0 ? fmod(now + length, length) : now;
	for (size_t i = row_at(series, now);; i++) {
		if (i + 1 == series->count)
			now = 0, i = 0;
		const struct muster_sim_noise_row *row = &series->rows[i];
		double lasts = row[1].seconds - now;
		if (lasts >= seconds * row->factor)
			return took + seconds * row->factor;
		seconds -= lasts / row->factor;
		took += lasts;
		now = row[1].seconds;
	}
}
