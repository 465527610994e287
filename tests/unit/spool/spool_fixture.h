/* SPDX-License-Identifier: Apache-2.0 */
/* spool_fixture.h - a folder with spools, and lines as a rank writes them
 *
 * Lines are given with ' in place of ". Only record_text() knows how what a rank measured stands in a spool.
 */
#ifndef MUSTER_TESTS_SPOOL_FIXTURE_H
#define MUSTER_TESTS_SPOOL_FIXTURE_H

#include "spool/read.h"
#include "spool/write.h"
#include "muster/arena.h"

#include <check.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/muster-spool-XXXXXX";

static inline void folder_setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static inline void folder_teardown(void)
{
	DIR *all = opendir(folder);
	char path[512];
	for (struct dirent *entry; all && (entry = readdir(all));) {
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		unlink(path);
		rmdir(path);
	}
	closedir(all);
	rmdir(folder);
	memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
}

static inline const char *in_folder(const char *name)
{
	static char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

/* Append to a file of the folder. */
__attribute__((format(printf, 2, 3))) static inline void put(const char *name, const char *format, ...)
{
	va_list args;
	char *text = NULL;
	va_start(args, format);
	ck_assert_int_ge(vasprintf(&text, format, args), 0);
	va_end(args);
	FILE *out = fopen(in_folder(name), "ae");
	ck_assert_ptr_nonnull(out);
	for (const char *at = text; *at; at++)
		fputc(*at == '\'' ? '"' : *at, out);
	ck_assert_int_eq(fclose(out), 0);
	free(text);
}

/* The first line of a process, of the run "r1" of 4 ranks; more: further members, each with a comma before it. */
static inline void put_first(const char *name, const char *by, int rank, const char *node, const char *more)
{
	put(name,
		"\n{'by':'%s','spool':%d,'muster':'0.1.0','run':'r1','started':'2026-11-21T10:00:00Z','rank':%d,"
		"'ranks':4,'node':'%s','sku':'x.json','profile':'quick','strict':false,'repeats':1%s}\n",
		by, MUSTER_SPOOL_VERSION, rank, node, more);
}

/* What a rank measured, in one go: the number of GPUs of its node, its share of memory, and how a probe ended. */
static inline void put_record(const char *name, const char *by, double t, int rank, const char *node, const char *probe,
	const char *status, int gpus)
{
	char detail[64] = "", sample[128] = "";
	if (strcmp(status, "ok") != 0)
		snprintf(detail, sizeof detail, ",'detail':'the worker ended'");
	if (gpus > 0)
		snprintf(sample, sizeof sample, "{'metric':'node.gpu_count','value':%d}", gpus);
	put(name,
		"\n{'by':'%s','t':%g,'about_rank':{'rank':%d,'local_rank':0,'node':'%s','gpu':'0001:00:00.0',"
		"'gpu_uuid':'GPU-1','simulated':true}}\n",
		by, t, rank, node);
	if (*sample)
		put(name, "\n{'by':'%s','t':%g,'sample':%s}\n", by, t, sample);
	put(name, "\n{'by':'%s','t':%g,'outcome':{'probe':'%s','status':'%s','elapsed_ms':5%s}}\n", by, t, probe,
		status, detail);
}

/* The word behind key, which ends with "="; usual: where the line has no such word. */
static inline const char *word_behind(const char *line, const char *key, const char *usual)
{
	static char words[4][32];
	static int next;
	const char *at = strstr(line, key);
	if (!at)
		return usual;
	char *word = words[next++ % 4];
	ck_assert_int_eq(sscanf(at + strlen(key), "%31s", word), 1);
	return word;
}

static inline void put_words_of(const char *name, const char *what, const char *words)
{
	char by[40], node[32], probe[32], status[16];
	double t;
	int rank, gpus, at = 0;
	if (strcmp(what, "line") == 0) {
		put(name, "%s\n", words);
	} else if (strcmp(what, "first") == 0) {
		ck_assert_int_eq(sscanf(words, "%39s %d %31s", by, &rank, node), 3);
		put(name,
			"\n{'by':'%s','spool':%d,'run':'%s','started':'2026-11-21T%sZ','rank':%d,'ranks':%s,"
			"'node':'%s','sku':'x.json','profile':'quick'}\n",
			by, MUSTER_SPOOL_VERSION, word_behind(words, "run=", "r1"),
			word_behind(words, "at=", "10:00:00"), rank, word_behind(words, "of=", "4"), node);
	} else if (strcmp(what, "record") == 0) {
		ck_assert_int_eq(
			sscanf(words, "%39s %lf %d %31s %31s %15s %d", by, &t, &rank, node, probe, status, &gpus), 7);
		put_record(name, by, t, rank, node, probe, status, gpus);
	} else {
		ck_assert_int_eq(sscanf(words, "%39s %lf %n", by, &t, &at), 2);
		put(name, "{'by':'%s','t':%g,'%s':'%s'}\n", by, t, what, words + at);
	}
}

/* Spools as words, a line for each line: FILE, without its ".jsonl", and
 *
 *   first BY RANK NODE [run=NAME] [at=HH:MM:SS] [of=RANKS]    the first line of a process
 *   step|end BY SECONDS TEXT
 *   record BY SECONDS RANK NODE PROBE STATUS GPUS             as put_record
 *   line TEXT                                                 the line itself
 */
static inline void put_words(const char *text)
{
	char *copy = strdup(text), *rest = copy;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char file[32], what[8], name[64];
		int at = 0;
		ck_assert_msg(sscanf(line, "%31s %7s %n", file, what, &at) == 2, "%s", line);
		snprintf(name, sizeof name, "%s.jsonl", file);
		put_words_of(name, what, line + at);
	}
	free(copy);
}

static inline struct muster_rank *find_rank(struct muster_run *run, int number, const char **ret_node)
{
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t i = 0; i < run->nodes[n].rank_count; i++)
			if (run->nodes[n].ranks[i].rank == number) {
				if (ret_node)
					*ret_node = run->nodes[n].name;
				return &run->nodes[n].ranks[i];
			}
	return NULL;
}

#endif
