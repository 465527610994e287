/* nccl_log.c - NCCL's own debug output: have it written to us, and read what it says
 *
 * Lines of NCCL 2.14 to 2.28 look like this; older ones print bus ids instead of the device numbers in brackets:
 *   node:2187:2301 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB/SHARP [RO]; OOB eth0:10.0.0.4<0>
 *   node:2187:2301 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read
 *   node:2187:2301 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0(3)/GDRDMA/Shared
 *   node:2187:2301 [0] NCCL INFO 24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels
 * Since 2.22 channels are made at the first collective, so the log is complete only after one.
 */
#include "vendor/nccl_log.h"
#include "muster/arena.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_BYTES_MAX ((size_t)16 << 20)
#define TAIL_LINES 10

/* A piece of the log; never NUL-terminated. */
struct span {
	const char *at, *end;
};

static int log_fd = -1; /* the memory that NCCL writes to; -1: the user has named a file */
static bool started;

int muster_nccl_log_start(struct muster_error *err)
{
	if (started)
		return 0;
	const char *level = getenv("NCCL_DEBUG");
	if (!level || (strcasecmp(level, "INFO") != 0 && strcasecmp(level, "TRACE") != 0))
		setenv("NCCL_DEBUG", "INFO", 1);
	/* INIT carries the channels and devices; ENV says which variables and files steer NCCL. */
	setenv("NCCL_DEBUG_SUBSYS", "INIT,ENV", 0);
	if (!getenv("NCCL_DEBUG_FILE")) {
		/* NCCL opens the file by name: /proc gives this anonymous file a name, and no file remains on disk. */
		log_fd = memfd_create("nccl-log", MFD_CLOEXEC);
		if (log_fd < 0)
			return muster_fail(err, MUSTER_EIO, "memfd_create for NCCL's log: %s", strerror(errno));
		char path[64];
		snprintf(path, sizeof path, "/proc/self/fd/%d", log_fd);
		setenv("NCCL_DEBUG_FILE", path, 1);
	}
	started = true;
	return 0;
}

/* The file's name as NCCL makes it from NCCL_DEBUG_FILE: %h is the host up to the first dot, %p the process. */
static void user_path(char *ret, size_t size)
{
	const char *from = getenv("NCCL_DEBUG_FILE");
	char host[256] = "";
	gethostname(host, sizeof host - 1);
	host[strcspn(host, ".")] = '\0';
	size_t length = 0;
	ret[0] = '\0';
	for (; from && *from && length + 1 < size; from++) {
		if (*from != '%' || !from[1]) {
			ret[length++] = *from;
			ret[length] = '\0';
			continue;
		}
		from++;
		if (*from == 'h')
			snprintf(ret + length, size - length, "%s", host);
		else if (*from == 'p')
			snprintf(ret + length, size - length, "%ld", (long)getpid());
		else
			snprintf(ret + length, size - length, "%c", *from);
		length += strlen(ret + length);
	}
}

int muster_nccl_log_read(char **ret_text, size_t *ret_length, struct muster_error *err)
{
	char path[4096] = "memory";
	int fd = log_fd;
	if (fd < 0) {
		user_path(path, sizeof path);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	struct stat info;
	if (fd < 0 || fstat(fd, &info) < 0) {
		int saved = errno;
		if (fd >= 0 && fd != log_fd)
			close(fd);
		return muster_fail(err, saved == EACCES ? MUSTER_ENOPERMISSION : MUSTER_EIO, "NCCL's log %s: %s", path,
			strerror(saved));
	}
	size_t size = info.st_size > 0 ? (size_t)info.st_size : 0;
	size = size < LOG_BYTES_MAX ? size : LOG_BYTES_MAX;
	char *text = muster_calloc(size + 1, 1);
	size_t length = 0;
	while (length < size) {
		ssize_t got = pread(fd, text + length, size - length, (off_t)length);
		if (got <= 0 && !(got < 0 && errno == EINTR))
			break;
		length += got > 0 ? (size_t)got : 0;
	}
	if (fd != log_fd)
		close(fd);
	*ret_text = text;
	*ret_length = length;
	return 0;
}

/* Take the next line off text; false at the end. */
static bool next_line(struct span *text, struct span *line)
{
	if (text->at == text->end)
		return false;
	const char *newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
	line->at = text->at;
	line->end = newline ? newline : text->end;
	text->at = newline ? newline + 1 : text->end;
	while (line->end > line->at && isspace((unsigned char)line->end[-1]))
		line->end--;
	return true;
}

/* What follows the first `what` in text; false when it does not occur. */
static bool after(struct span text, const char *what, struct span *rest)
{
	const char *found = memmem(text.at, (size_t)(text.end - text.at), what, strlen(what));
	if (!found)
		return false;
	*rest = (struct span){ found + strlen(what), text.end };
	return true;
}

static bool starts(struct span text, const char *what)
{
	return (size_t)(text.end - text.at) >= strlen(what) && memcmp(text.at, what, strlen(what)) == 0;
}

/* Take the piece up to a character of `stops` off text. */
static struct span take_until(struct span *text, const char *stops)
{
	struct span piece = { text->at, text->at };
	while (piece.end < text->end && (*piece.end == '\0' || !strchr(stops, *piece.end)))
		piece.end++;
	text->at = piece.end < text->end ? piece.end + 1 : piece.end;
	return piece;
}

/* Append a word to a list of distinct words separated by spaces, if there is room. */
static void add_word(char *list, size_t size, const char *word)
{
	size_t length = strlen(word), used = strlen(list);
	for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strncmp(at, word, length) == 0 && (at[length] == ' ' || at[length] == '\0'))
			return;
	if (length > 0 && used + length + 2 <= size)
		snprintf(list + used, size - used, "%s%s", used ? " " : "", word);
}

/* The first two parts of "P2P/CUMEM/read" or "NET/IB/0(3)/GDRDMA/Shared", as one printable word. */
static void transport_word(struct span transport, char *ret, size_t size)
{
	struct span kind = take_until(&transport, "/"), name = take_until(&transport, "/");
	snprintf(ret, size, "%.*s/%.*s", (int)(kind.end - kind.at), kind.at, (int)(name.end - name.at), name.at);
	for (char *at = ret; *at; at++)
		if (!isgraph((unsigned char)*at))
			*at = isspace((unsigned char)*at) ? '_' : '?';
}

/* Kinds of transport in the order in which they are listed; NVLS has no channels of its own in the log. */
enum { KIND_P2P, KIND_SHM, KIND_NET, KIND_COLLNET, KIND_NVLS, KIND_COUNT };
static const char *const kinds[] = { "P2P/", "SHM/", "NET/", "COLLNET/" };
struct words {
	char of[KIND_COUNT][256];
};

static void parse_channel(struct span transport, struct words *words, struct muster_nccl_log *log)
{
	for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
		if (!starts(transport, kinds[kind]))
			continue;
		char word[64];
		transport_word(transport, word, sizeof word - sizeof "/GDRDMA");
		if (kind == KIND_NET || kind == KIND_COLLNET) {
			struct span rest;
			bool gdr = after(transport, "/GDRDMA", &rest);
			if (gdr)
				snprintf(word + strlen(word), sizeof word - strlen(word), "/GDRDMA");
			log->network_channels++;
			log->gdr_channels += gdr;
		}
		add_word(words->of[kind], sizeof words->of[kind], word);
	}
}

/* "[0]mlx5_0:1/IB [1]={[0] mlx5_1:1/RoCE, [1] mlx5_2:1/RoCE} [RO]; OOB ...": every name after a bracketed number. */
static void parse_devices(struct span list, bool socket, struct muster_nccl_log *log)
{
	log->devices[0] = '\0';
	list = take_until(&list, ";");
	while (list.at < list.end) {
		take_until(&list, "[");
		struct span index = take_until(&list, "]");
		if (index.at == index.end || !isdigit((unsigned char)*index.at))
			continue;
		while (list.at < list.end && *list.at == ' ')
			list.at++;
		if (list.at == list.end || !(isalnum((unsigned char)*list.at) || *list.at == '_'))
			continue;
		const char *stops = socket ? ":/,}<[ " : "/,}<[ ";
		struct span name = { list.at, list.at };
		while (name.end < list.end && isgraph((unsigned char)*name.end) && !strchr(stops, *name.end))
			name.end++;
		list.at = name.end;
		char word[64];
		snprintf(word, sizeof word, "%.*s", (int)(name.end - name.at), name.at);
		add_word(log->devices, sizeof log->devices, word);
	}
}

/* "24 coll channels, 0 collnet channels, 16 nvls channels, ...": is the number before " nvls channels" above 0? */
static bool has_nvls_channels(struct span line)
{
	struct span rest;
	if (!after(line, " nvls channels", &rest))
		return false;
	const char *digit = rest.at - strlen(" nvls channels");
	bool any = false;
	while (digit > line.at && isdigit((unsigned char)digit[-1]))
		any |= *--digit != '0';
	return any;
}

void muster_nccl_log_parse(const char *text, size_t length, struct muster_nccl_log *ret)
{
	struct words words = { 0 };
	struct span rest = { text, text + length }, line, message, transport;
	*ret = (struct muster_nccl_log){ 0 };
	while (next_line(&rest, &line)) {
		if (!after(line, "NCCL INFO ", &message))
			continue;
		if ((starts(message, "Channel ") || starts(message, "CollNet ")) && after(message, " via ", &transport))
			parse_channel(transport, &words, ret);
		else if (starts(message, "NET/") && after(message, " : Using ", &transport))
			parse_devices(transport, starts(message, "NET/Socket"), ret);
		else if (has_nvls_channels(message) || starts(message, "Connected NVLS tree"))
			add_word(words.of[KIND_NVLS], sizeof words.of[KIND_NVLS], "NVLS");
	}
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		char *at = words.of[kind];
		while (*at) {
			char *end = at + strcspn(at, " ");
			bool last = *end == '\0';
			*end = '\0';
			add_word(ret->transports, sizeof ret->transports, at);
			at = last ? end : end + 1;
		}
	}
}

const char *muster_nccl_log_tail(const char *text, size_t length, char *out, size_t size)
{
	/* A ring of the last lines; warnings drive the others out. */
	struct span last[TAIL_LINES], rest = { text, text + length }, line, message;
	size_t count = 0;
	bool warned = false;
	while (next_line(&rest, &line)) {
		bool warning = after(line, "NCCL WARN ", &message);
		if (warning && !warned)
			count = 0;
		warned |= warning;
		if (line.at == line.end || warned != warning)
			continue;
		if (!warning && !after(line, "NCCL INFO ", &message))
			message = line;
		last[count++ % TAIL_LINES] = message;
	}
	/* From the last line backwards, as far as they fit; then turned to the front. */
	char *at = out + size - 1;
	*at = '\0';
	size_t kept = count < TAIL_LINES ? count : TAIL_LINES;
	for (size_t i = 1; i <= kept && at > out; i++) {
		struct span piece = last[(count - i) % TAIL_LINES];
		if (*at && at - out <= 3)
			break;
		if (*at)
			memcpy(at -= 3, " | ", 3);
		while (piece.end > piece.at && at > out) {
			unsigned char byte = (unsigned char)*--piece.end;
			*--at = byte < 128 && isprint(byte) ? (char)byte : '?';
		}
	}
	memmove(out, at, strlen(at) + 1);
	return out;
}
