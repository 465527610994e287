/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_nccl_log.c - NCCL's debug output of any bytes: what is made of it is words that print */
#include "fuzz.h"

#include "vendor/nccl_log.h"
#include "vendor/nccl_setup.h"
#include "muster/arena.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Words of printable ASCII, a blank between two of them, none twice. */
static void check_words(const char *text, size_t size)
{
	FUZZ_CHECK(strnlen(text, size) < size, "no end");
	for (const char *at = text; *at; at++)
		FUZZ_CHECK(isgraph((unsigned char)*at) || (*at == ' ' && at > text && at[-1] != ' ' && at[1]),
			"0x%02x at %td of \"%s\"", (unsigned char)*at, at - text, text);
	for (const char *word = text; *word; word += strcspn(word, " "), word += *word == ' ') {
		size_t length = strcspn(word, " ");
		for (const char *at = word + length; *at; at += strcspn(at, " ")) {
			at++;
			FUZZ_CHECK(strcspn(at, " ") != length || strncmp(at, word, length) != 0, "twice: %s", text);
		}
	}
}

static void check_tail(const char *text, size_t length, size_t size)
{
	char *out = muster_calloc(size, 1);
	FUZZ_CHECK(muster_nccl_log_tail(text, length, out, size) == out, "another buffer");
	size_t used = strnlen(out, size);
	FUZZ_CHECK(used < size, "no end");
	for (size_t i = 0; i < used; i++)
		FUZZ_CHECK(isprint((unsigned char)out[i]), "0x%02x at %zu", (unsigned char)out[i], i);
	free(out);
}

static void check_text(const char *text, size_t size)
{
	FUZZ_CHECK(strnlen(text, size) < size, "no end");
	for (const char *at = text; *at; at++)
		FUZZ_CHECK(isprint((unsigned char)*at), "0x%02x at %td", (unsigned char)*at, at - text);
}

static void check_setup(const char *text, size_t length)
{
	struct muster_nccl_setup setup;
	muster_nccl_setup_parse(text, length, &setup);
	check_text(setup.network, sizeof setup.network);
	check_text(setup.plugin_file, sizeof setup.plugin_file);
	check_text(setup.collnet, sizeof "loaded");
	FUZZ_CHECK(setup.nvls_channels >= -1, "%d channels", setup.nvls_channels);
	FUZZ_CHECK(setup.algorithm_count <= MUSTER_NCCL_ALGORITHMS, "%zu algorithms", setup.algorithm_count);
	for (size_t i = 0; i < setup.algorithm_count; i++) {
		check_text(setup.algorithms[i].name, sizeof setup.algorithms[i].name);
		for (size_t j = 0; j < i; j++)
			FUZZ_CHECK(setup.algorithms[i].bytes != setup.algorithms[j].bytes, "a size twice");
	}
}

/* A word that prints; `from` is anywhere in the text. */
static void check_way(const char *text, size_t length, size_t from)
{
	struct muster_nccl_way way;
	muster_nccl_log_parse_way(text, length, from, 0, 1, &way);
	FUZZ_CHECK(muster_nccl_log_parse_channels(text, length, from) != 0, "no channels");
	check_words(way.transport, sizeof way.transport);
	check_words(way.nic, sizeof way.nic);
	FUZZ_CHECK(*way.transport && *way.nic, "an empty word");
	FUZZ_CHECK(!strpbrk(way.transport, " ") && !strpbrk(way.nic, " "), "%s, %s", way.transport, way.nic);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const size_t sizes[] = { 1, 2, 4, 5, 16, 100, 1024 };
	struct muster_nccl_log log;
	muster_nccl_log_parse((const char *)bytes, size, &log);
	check_words(log.transports, sizeof log.transports);
	check_words(log.devices, sizeof log.devices);
	FUZZ_CHECK(log.gdr_channels <= log.network_channels, "%zu of %zu", log.gdr_channels, log.network_channels);
	check_setup((const char *)bytes, size);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		check_tail((const char *)bytes, size, sizes[i]);
	check_way((const char *)bytes, size, 0);
	check_way((const char *)bytes, size, size / 2);
	check_way((const char *)bytes, size, size);
	return 0;
}
