/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli.c - options by a table, and where the program finds its files */
#include "cli/cli.h"

#include "check_main.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS 8

struct parsed {
	const char *file, *name;
	bool flag;
	char each[64];
	int number;
	uint64_t bytes;
	enum colour { RED, GREEN, BLUE } colour;
	const char *operands[2];
	size_t operand_count;
	int rest;
	/* asked for */
	size_t least;
	const char *needed;
	bool no_rest;
};

static int take_each(void *arg, const char *text, struct muster_error *err)
{
	struct parsed *p = arg;
	if (strcmp(text, "bad") == 0)
		return muster_fail(err, MUSTER_EUSAGE, "--each: bad is bad");
	snprintf(p->each + strlen(p->each), sizeof p->each - strlen(p->each), "[%s]", text);
	return 0;
}

static int parse(const char *const *words, struct parsed *p, struct muster_error *err)
{
	static const char *const colours[] = { "red", "green", "blue" };
	const struct muster_option table[] = {
		{ "--file", "FILE", "a file", .text = &p->file },
		{ "--file-name", "NAME", "a name", .text = &p->name },
		{ "--flag", NULL, "a flag", .flag = &p->flag },
		{ "--maybe", "[DIR]", "a flag, or a folder", .is_path_optional = true, .flag = &p->flag,
			.text = &p->file },
		{ "--each", "X", "may be repeated", .each = take_each, .arg = p },
		{ "--number", "N", "a number", .number = &p->number, .low = 2, .high = 9 },
		{ "--bytes", "SIZE", "a size", .bytes = &p->bytes },
		{ "--wait", "SECONDS", "a time", .number = &p->number, .low = 10, .high = 600, .is_time = true },
		{ "--limit", "N", .instead = "--number" },
		{ "--blue", .instead = "--colour blue" },
		{ "--colour", "NAME", "a colour", MUSTER_CLI_CHOICE(&p->colour, colours) },
	};
	char *argv[MAX_WORDS + 2] = { (char *)"cmd" };
	int argc = 1;
	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)words[argc - 1];
	struct muster_cli cli = {
		.usage = "muster cmd [options] [FILE [FILE]]",
		MUSTER_CLI_OPTIONS(table),
		.epilogue = "The end.",
		.operands = p->operands,
		.operands_least = p->least,
		.operands_most = 2,
		.needed = p->needed,
		.takes_rest = !p->no_rest,
	};
	int result = muster_cli_parse(&cli, argc, argv, err);
	p->operand_count = cli.operand_count;
	p->rest = cli.rest;
	return result;
}

static const struct {
	const char *words[MAX_WORDS];
	const char *file, *name;
	bool flag;
	const char *each, *first, *second;
	int rest;
} good[] = {
	{ { NULL }, NULL, NULL, false, "", NULL, NULL, 1 },
	{ { "--file", "x" }, "x", NULL, false, "", NULL, NULL, 3 },
	{ { "--file=x" }, "x", NULL, false, "", NULL, NULL, 2 },
	{ { "--file=a=b", "--flag" }, "a=b", NULL, true, "", NULL, NULL, 3 },
	{ { "--file-name", "n" }, NULL, "n", false, "", NULL, NULL, 3 },
	{ { "--file", "x", "--file", "y" }, "y", NULL, false, "", NULL, NULL, 5 },
	{ { "--file", "-" }, "-", NULL, false, "", NULL, NULL, 3 },
	{ { "--file", "-5" }, "-5", NULL, false, "", NULL, NULL, 3 },
	{ { "one", "--flag", "two" }, NULL, NULL, true, "", "one", "two", 4 },
	{ { "-" }, NULL, NULL, false, "", "-", NULL, 2 },
	{ { "--each", "a", "--each=b" }, NULL, NULL, false, "[a][b]", NULL, NULL, 4 },
	{ { "--flag", "--", "--file", "x" }, NULL, NULL, true, "", NULL, NULL, 3 },
	{ { "--maybe" }, NULL, NULL, true, "", NULL, NULL, 2 },
	{ { "--maybe", "/x" }, "/x", NULL, true, "", NULL, NULL, 3 },
	{ { "--maybe", "x" }, NULL, NULL, true, "", "x", NULL, 3 },
	{ { "--maybe=x" }, "x", NULL, true, "", NULL, NULL, 2 },
	{ { "--maybe", "--file", "y" }, "y", NULL, true, "", NULL, NULL, 4 },
	{ { "one", "--" }, NULL, NULL, false, "", "one", NULL, 3 },
};

TEST_EACH(a_good_command_line_is_taken_apart, good)
{
	struct parsed p = { 0 };
	struct muster_error err = { 0 };
	ck_assert_msg(parse(good[_i].words, &p, &err) == 0, "%s", err.text);
	ck_assert_pstr_eq(p.file, good[_i].file);
	ck_assert_pstr_eq(p.name, good[_i].name);
	ck_assert_int_eq(p.flag, good[_i].flag);
	ck_assert_str_eq(p.each, good[_i].each);
	ck_assert_uint_eq(p.operand_count, (size_t)(good[_i].first != NULL) + (good[_i].second != NULL));
	ck_assert_pstr_eq(p.operands[0], good[_i].first);
	ck_assert_pstr_eq(p.operands[1], good[_i].second);
	ck_assert_int_eq(p.rest, good[_i].rest);
}

TEST(an_argument_goes_where_its_type_says)
{
	static const char *const words[] = { "--number", "9", "--bytes=8K", "--colour", "blue", NULL };
	static const char *const none[] = { NULL }, *const old[] = { "--limit", "3", "--blue", NULL };
	struct parsed p = { .number = 5, .bytes = 6, .colour = GREEN };
	struct muster_error err = { 0 };
	ck_assert_int_eq(parse(none, &p, &err), 0);
	ck_assert_int_eq(p.number, 5);
	ck_assert_uint_eq(p.bytes, 6);
	ck_assert_int_eq(p.colour, GREEN);
	ck_assert_int_eq(parse(words, &p, &err), 0);
	ck_assert_int_eq(p.number, 9);
	ck_assert_uint_eq(p.bytes, 8192);
	ck_assert_int_eq(p.colour, BLUE);
	p.colour = RED;
	ck_assert_int_eq(parse(old, &p, &err), 0);
	ck_assert_int_eq(p.number, 3);
	ck_assert_int_eq(p.colour, BLUE);
}

static const struct {
	const char *text;
	int seconds;
} times[] = { { "10", 10 }, { "10s", 10 }, { "600", 600 }, { "5m", 300 }, { "10m", 600 } };

TEST_EACH(a_time_may_have_a_unit, times)
{
	const char *const words[] = { "--wait", times[_i].text, NULL };
	struct parsed p = { 0 };
	struct muster_error err = { 0 };
	ck_assert_msg(parse(words, &p, &err) == 0, "%s", err.text);
	ck_assert_int_eq(p.number, times[_i].seconds);
}

TEST(a_command_begins_or_has_its_exit_code)
{
	static const struct {
		const char *word;
		bool begins;
		int code;
	} rows[] = { { "--flag", true, 0 }, { "--help", false, 0 }, { "--nonsense", false, 2 } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool flag = false;
		const struct muster_option table[] = { { "--flag", NULL, "a flag", .flag = &flag } };
		struct muster_cli cli = { .usage = "muster cmd", MUSTER_CLI_OPTIONS(table) };
		struct muster_paths paths = { 0 };
		char *argv[] = { (char *)"cmd", (char *)rows[i].word, NULL };
		int code = -1;
		ck_assert_int_eq(muster_cli_begin(&cli, 2, argv, &paths, &code), rows[i].begins);
		ck_assert_int_eq(code, rows[i].code);
		ck_assert_int_eq(paths.configs != NULL, rows[i].begins);
	}
}

static const struct {
	const char *words[MAX_WORDS], *said;
} bad[] = {
	{ { "--fil", "x" },
		"unknown option --fil; did you mean \"--file\" or \"--file-name\"? (muster cmd --help lists all "
		"options)" },
	{ { "--clour=x" }, "unknown option --clour; did you mean \"--colour\"? (muster cmd --help lists all options)" },
	{ { "-c" }, "unknown option -c; did you mean \"--colour\"? (muster cmd --help lists all options)" },
	{ { "--zzzzzz" }, "unknown option --zzzzzz (muster cmd --help lists all options)" },
	{ { "--flag --maybe" }, "unknown option --flag --maybe (muster cmd --help lists all options)" },
	{ { "--wait", "9" }, "--wait: a time from 10 to 600 s is needed, such as 10, 10s or 5m, found \"9\"" },
	{ { "--wait", "11m" }, "--wait: a time from 10 to 600 s is needed, such as 10, 10s or 5m, found \"11m\"" },
	{ { "--wait", "5x" }, "--wait: a time from 10 to 600 s is needed, such as 10, 10s or 5m, found \"5x\"" },
	{ { "--wait", "s" }, "--wait: a time from 10 to 600 s is needed, such as 10, 10s or 5m, found \"s\"" },
	{ { "--file" }, "--file needs a value: FILE" },
	{ { "--file", "--flag" }, "--file needs a value: FILE" },
	{ { "--file=" }, "--file needs a value: FILE" },
	{ { "--file", "" }, "--file needs a value: FILE" },
	{ { "--flag=yes" }, "--flag takes no value" },
	{ { "--each", "bad" }, "--each: bad is bad" },
	{ { "--number", "1" }, "--number: a whole number from 2 to 9 is needed, found \"1\"" },
	{ { "--number", "10" }, "--number: a whole number from 2 to 9 is needed, found \"10\"" },
	{ { "--bytes", "8X" }, "--bytes: a byte count such as 8388608, 8M or 1G is needed, found \"8X\"" },
	{ { "--colour", "pink" }, "--colour: red, green or blue is needed, found \"pink\"" },
	{ { "a", "b", "c" }, "unexpected argument 'c' (usage: muster cmd [options] [FILE [FILE]])" },
};

TEST_EACH(a_bad_command_line_is_one_sentence, bad)
{
	struct parsed p = { 0 };
	struct muster_error err = { 0 };
	ck_assert_int_eq(parse(bad[_i].words, &p, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_str_eq(err.text, bad[_i].said);
}

static const struct {
	const char *words[MAX_WORDS], *needed, *said;
} wanting[] = {
	{ { "a", "--flag" }, "two files are needed", "cmd: two files are needed" },
	{ { "a", "b", "--", "c" }, NULL, "unexpected argument 'c' (usage: muster cmd [options] [FILE [FILE]])" },
	{ { "a", "--", "b", "--flag" }, NULL,
		"unexpected argument '--flag' (usage: muster cmd [options] [FILE [FILE]])" },
};

TEST_EACH(too_little_or_too_much_is_one_sentence, wanting)
{
	struct parsed p = { .least = 2, .needed = wanting[_i].needed, .no_rest = true };
	struct muster_error err = { 0 };
	ck_assert_int_eq(parse(wanting[_i].words, &p, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_str_eq(err.text, wanting[_i].said);
}

TEST(help_lists_every_option)
{
	static const char *const words[] = { "--flag", "--help", "--nonsense", NULL };
	struct parsed p = { 0 };
	struct muster_error err = { 0 };
	char text[2048] = "";
	int pipe_fds[2], saved = dup(STDOUT_FILENO);
	fflush(stdout);
	ck_assert_int_eq(pipe(pipe_fds), 0);
	dup2(pipe_fds[1], STDOUT_FILENO);
	ck_assert_int_eq(parse(words, &p, &err), 1);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(pipe_fds[1]);
	ck_assert_int_gt(read(pipe_fds[0], text, sizeof text - 1), 0);
	close(pipe_fds[0]);
	close(saved);
	ck_assert_str_eq(text, "usage: muster cmd [options] [FILE [FILE]]\n\n"
			       "  --file FILE       a file\n"
			       "  --file-name NAME  a name\n"
			       "  --flag            a flag\n"
			       "  --maybe [DIR]     a flag, or a folder\n"
			       "  --each X          may be repeated\n"
			       "  --number N        a number; 2 to 9\n"
			       "  --bytes SIZE      a size\n"
			       "  --wait SECONDS    a time; 10 to 600 s, or as 90s, 5m, 2h\n"
			       "  --colour NAME     a colour\n"
			       "  --help            print this help\n"
			       "\nThe end.\n");
}

TEST_MAIN(.setup = NULL)
