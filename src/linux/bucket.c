/* SPDX-License-Identifier: MIT */
#include "linux/bucket.h"

uint64_t nb_bucket_wait_us(struct nb_bucket *b, uint64_t now_us)
{
	uint64_t wait;

	pthread_mutex_lock(&b->lock);
	wait = b->free_at_us > now_us ? b->free_at_us - now_us : 0;
	pthread_mutex_unlock(&b->lock);
	return wait;
}

void nb_bucket_pay(struct nb_bucket *b, uint64_t now_us, uint64_t bytes, uint64_t rate_bps)
{
	/* Rates below one page a second only look like a stop. */
	unsigned __int128 us = (unsigned __int128)bytes * 1000000 / (rate_bps ? rate_bps : 1);

	pthread_mutex_lock(&b->lock);
	/* What was not used in the past is not saved up: no bursts. */
	if (b->free_at_us < now_us)
		b->free_at_us = now_us;
	if (us > UINT64_MAX / 2 - b->free_at_us)
		b->free_at_us = UINT64_MAX / 2;
	else
		b->free_at_us += (uint64_t)us;
	pthread_mutex_unlock(&b->lock);
}
