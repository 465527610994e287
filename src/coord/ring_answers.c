/* ring_answers.c - rank 0's messages to the ranks at a ring barrier: one for each leader, with a part for each rank */
#include "coord/ring_answers.h"

#include "coord/send.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct muster_packer *muster_ring_answers_begin(
	const struct muster_ring_context *context, struct muster_barrier_id barrier)
{
	const struct muster_membership *members = context->members;
	struct muster_packer *answers = muster_calloc(members->node_count + 1, sizeof *answers);
	for (size_t i = 0; i < members->node_count; i++)
		muster_pack_parts(&answers[i], barrier);
	return answers;
}

void muster_ring_answers_add(
	struct muster_packer *answers, const struct muster_ring_entry *entry, struct muster_ring_place place)
{
	struct muster_packer p = { 0 };
	muster_pack_ring_place(&p, &place);
	muster_pack_part(&answers[entry->node], entry->rank, p.bytes, p.length);
	muster_packer_done(&p);
}

void muster_ring_answers_text(
	const struct muster_ring_context *context, struct muster_packer *answers, int rank, const char *text)
{
	struct muster_packer p = { 0 };
	muster_pack_text(&p, text);
	muster_pack_part(&answers[context->members->members[rank].node_index], rank, p.bytes, p.length);
	muster_packer_done(&p);
}

void muster_ring_answers_send(
	const struct muster_ring_context *context, enum muster_tag tag, struct muster_packer *answers)
{
	const struct muster_membership *members = context->members;
	struct muster_packer none = { 0 };
	muster_pack_parts(&none, (struct muster_barrier_id){ MUSTER_BARRIER_RING, 0, 0 });
	for (size_t i = 0; i < members->node_count; i++)
		if (tag != MUSTER_TAG_CANCEL || answers[i].length > none.length)
			muster_send_packed(context->transport, members->leaders[i], tag, &answers[i]);
		else
			muster_packer_done(&answers[i]);
	muster_packer_done(&none);
	free(answers);
}

void muster_ring_say(const struct muster_ring_context *context, const char *format, ...)
{
	char text[MUSTER_ERROR_TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	context->say(context->say_arg, text);
}

double muster_ring_time_left(const struct muster_ring_context *context, double now_ms)
{
	return context->limit_ms - now_ms - context->deadlines->last_ring;
}
