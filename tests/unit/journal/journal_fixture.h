/* journal_fixture.h - a folder with journals, and lines as a rank writes them
 *
 * Lines are given with ' in place of ". Only record_text() knows how what a rank measured stands in a journal.
 */
#ifndef MUSTER_TESTS_JOURNAL_FIXTURE_H
#define MUSTER_TESTS_JOURNAL_FIXTURE_H

#include "journal/read.h"
#include "journal/write.h"
#include "muster/arena.h"

#include <check.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/muster-journal-XXXXXX";

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
