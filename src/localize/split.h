/* split.h - whether the nodes are separate parts; called by blame.c alone
 */
#ifndef MUSTER_LOCALIZE_SPLIT_H
#define MUSTER_LOCALIZE_SPLIT_H

#include "localize/blame.h"

/* With parts and suspects known, find the gaps between parts and whether there is a split. If there may be one, or
 * rest_failed (as of muster_suspects_find), a node that works with no other node stays a suspect only when it was tried
 * with all parts. */
void muster_suspects_find_split(struct muster_suspects *s, bool rest_failed);

#endif
