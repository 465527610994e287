/* ring_ready.c - what the ranks bring to the barrier of a ring's round */
#include "coord/ring_ready.h"

#include "util/text.h"
#include "muster/arena.h"
#include "coord/message.h"
#include "coord/coordinator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *next_line(char **rest)
{
	char *line = *rest ? strsep(rest, "\n") : NULL;
	return line;
}

static void read_hand(struct muster_ring_ready *hand)
{
	char *rest = hand->text, *can = next_line(&rest), *last = next_line(&rest), *end = NULL;
	hand->facts = rest ? rest : "";
	hand->uuid = hand->kind = hand->detail = "";
	if (can && *can == '+') {
		hand->uuid = can + 1;
		char *blank = strchr(can, ' ');
		if (blank) {
			*blank = '\0';
			hand->kind = blank + 1;
		}
	} else {
		hand->why = can && *can == '-' ? can + 1 : "it did not say that it can take part";
	}
	long status = last ? strtol(last, &end, 10) : 0;
	if (last && end != last && *end == ' ' && status >= 0 && status <= MUSTER_RING_CRASHED) {
		hand->end = (enum muster_ring_end)status;
		hand->seconds = strtod(end, &end);
		hand->detail = *end == ' ' ? end + 1 : end;
	}
}

void muster_ring_ready_read(struct muster_ring_ready *hands, size_t count)
{
	for (size_t i = 0; i < count; i++)
		read_hand(&hands[i]);
}

static int by_rank(const void *a, const void *b)
{
	const struct muster_ring_ready *x = a, *y = b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

struct muster_ring_ready *muster_ring_ready_of(
	const struct muster_coordinator *root, const struct muster_barrier *barrier, size_t *ret_count)
{
	struct muster_ring_ready *hands = muster_calloc((size_t)root->ranks, sizeof *hands);
	size_t count = 0, length;
	for (size_t i = 0; i < root->leader_count; i++) {
		const struct muster_barrier_entry *bundle = &barrier->entries[i];
		size_t at = 0;
		const char *bytes;
		int id, rank;
		if (!bundle->here || !muster_message_header(bundle->bytes, bundle->length, &id, 1, &at))
			continue;
		while (count < (size_t)root->ranks &&
			muster_message_part(bundle->bytes, bundle->length, &at, &rank, &bytes, &length))
			if (rank < root->ranks)
				hands[count++] = (struct muster_ring_ready){
					.rank = rank,
					.node = i,
					.text = muster_asprintf("%.*s", (int)length, bytes),
				};
	}
	qsort(hands, count, sizeof *hands, by_rank);
	*ret_count = count;
	return hands;
}

void muster_ring_ready_free(struct muster_ring_ready *hands, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(hands[i].text);
	free(hands);
}

void muster_ring_ready_leave_out(struct muster_ring_ready *hand, const char *format, const char *what, int rank)
{
	snprintf(hand->left_out, sizeof hand->left_out, format, what, rank);
	hand->why = hand->left_out;
}

/* They are of the same node, and a node has few ranks. */
void muster_ring_ready_leave_out_duplicate_gpus(struct muster_ring_ready *hands, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = i; !hands[i].why && j-- > 0 && i - j <= 1024;)
			if (!hands[j].why && hands[j].node == hands[i].node &&
				strcmp(hands[j].uuid, hands[i].uuid) == 0)
				muster_ring_ready_leave_out(&hands[i],
					"left out of the ring: %srank %d has taken the same GPU", "", hands[j].rank);
}

void muster_ring_ready_leave_out_mismatches(
	const struct muster_probe *probe, struct muster_ring_ready *hands, size_t count)
{
	const char *most = NULL;
	size_t most_count = 0;
	for (size_t i = 0; i < count; i++) {
		size_t same = 0;
		if (hands[i].why || !*hands[i].kind || (most && strcmp(hands[i].kind, most) == 0))
			continue;
		for (size_t j = 0; j < count; j++)
			same += !hands[j].why && strcmp(hands[j].kind, hands[i].kind) == 0;
		if (same > most_count) {
			most_count = same;
			most = hands[i].kind;
		}
		if (2 * same > count)
			break;
	}
	for (size_t i = 0; i < count; i++) {
		struct muster_ring_ready *hand = &hands[i];
		if (hand->why || !*hand->kind || strcmp(hand->kind, most) == 0)
			continue;
		snprintf(hand->left_out, sizeof hand->left_out,
			"left out of the ring: its %s is %.40s, and that of %zu ranks is %.40s", probe->ring_agree,
			hand->kind, most_count, most);
		hand->why = hand->left_out;
	}
}

const struct muster_ring_ready *muster_ring_ready_find(const struct muster_ring_ready *hands, size_t count, int rank)
{
	const struct muster_ring_ready key = { .rank = rank };
	return count ? bsearch(&key, hands, count, sizeof *hands, by_rank) : NULL;
}
