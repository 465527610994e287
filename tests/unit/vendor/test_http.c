/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c - one GET, of a file and of a server that answers well, badly or never */
#include "check_main.h"
#include "vendor/http.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char *text;
static size_t length;
static struct muster_error err;

static int get(const char *url, size_t most)
{
	const struct muster_http_request request = {
		.url = url, .header = "Metadata: true", .connect_ms = 5000, .total_ms = 5000, .most = most
	};
	return muster_http_get(&request, &text, &length, &err);
}

/* A server for one connection: what came in is in heard; answer NULL: it never answers. */
static struct {
	int listener;
	const char *answer;
	char heard[1024], url[64];
	pthread_t thread;
} server;

static void *serve(void *arg)
{
	(void)arg;
	int client = accept(server.listener, NULL, NULL);
	ssize_t got = read(client, server.heard, sizeof server.heard - 1);
	server.heard[got > 0 ? got : 0] = '\0';
	if (server.answer && write(client, server.answer, strlen(server.answer)) < 0)
		perror("write");
	if (!server.answer && read(client, &got, 1) > 0) /* until the other side has had enough */
		puts("more was asked");
	close(client);
	return NULL;
}

static void start_server(const char *answer)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	server.answer = answer;
	server.listener = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(server.listener, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(server.listener, 1), 0);
	ck_assert_int_eq(getsockname(server.listener, (struct sockaddr *)&address, &size), 0);
	snprintf(server.url, sizeof server.url, "http://127.0.0.1:%d/x?y=1", ntohs(address.sin_port));
	ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void stop_server(void)
{
	pthread_join(server.thread, NULL);
	close(server.listener);
}

TEST(an_answer_comes_whole_with_a_nul_behind_it)
{
	setenv("http_proxy", "http://127.0.0.1:1", 1); /* nobody is there: proxies are not asked */
	start_server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde");
	ck_assert_msg(get(server.url, 5) == 0, "%s", err.text);
	stop_server();
	ck_assert_uint_eq(length, 5);
	ck_assert_str_eq(text, "abcde");
	ck_assert_ptr_nonnull(strstr(server.heard, "GET /x?y=1 HTTP/1."));
	ck_assert_ptr_nonnull(strstr(server.heard, "\r\nMetadata: true\r\n"));
	free(text);
}

static const struct {
	const char *answer;
	const char *why;
} refusals[] = {
	{ "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", "the answer is HTTP status 404" },
	{ "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
		"the answer is HTTP status 301" },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef", "the answer is longer than 5 bytes" },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", NULL },
};

TEST_EACH(what_is_no_whole_answer_is_an_error, refusals)
{
	start_server(refusals[_i].answer);
	ck_assert_int_eq(get(server.url, 5), -1);
	stop_server();
	ck_assert_int_eq(err.code, MUSTER_EIO);
	if (refusals[_i].why)
		ck_assert_str_eq(err.text, refusals[_i].why);
}

TEST(a_silent_server_is_given_up_in_time)
{
	start_server(NULL);
	const struct muster_http_request request = {
		.url = server.url, .connect_ms = 5000, .total_ms = 100, .most = 5
	};
	ck_assert_int_eq(muster_http_get(&request, &text, &length, &err), -1);
	stop_server();
	ck_assert_int_eq(err.code, MUSTER_ETIME);
}

TEST(a_file_is_an_answer_and_other_protocols_are_not_spoken)
{
	char path[] = "/tmp/muster-http-XXXXXX", url[64];
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "hello", 5), 5);
	close(fd);
	snprintf(url, sizeof url, "file://%s", path);
	ck_assert_msg(get(url, 5) == 0, "%s", err.text);
	ck_assert_str_eq(text, "hello");
	free(text);
	ck_assert_int_eq(get(url, 4), -1);
	ck_assert_str_eq(err.text, "the answer is longer than 4 bytes");
	unlink(path);
	ck_assert_int_eq(get(url, 5), -1);
	ck_assert_int_eq(err.code, MUSTER_EIO);
	ck_assert_int_eq(get("ftp://127.0.0.1/", 5), -1);
	ck_assert_ptr_nonnull(strcasestr(err.text, "protocol"));
	ck_assert_int_eq(get("http://127.0.0.1:1/", 5), -1);
	ck_assert_int_eq(err.code, MUSTER_EIO);
}

static void begin(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (get("file:///dev/null", 1) < 0 && err.code == MUSTER_ELIB) {
		printf("%s\n", err.text);
		exit(77);
	}
	free(text);
}

TEST_MAIN(.begin = begin)
