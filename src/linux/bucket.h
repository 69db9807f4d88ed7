/* SPDX-License-Identifier: MIT */
/* A limit of bytes per second that several threads share: who has moved something
 * pays for it afterwards, by the time at which the next one may begin. */
#pragma once

#include <pthread.h>
#include <stdint.h>

struct nb_bucket {
	pthread_mutex_t lock;
	uint64_t free_at_us; /* when all that was moved is paid for */
};

#define NB_BUCKET_INIT \
	{ \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* How long to wait before the next bytes; 0: go on. */
uint64_t nb_bucket_wait_us(struct nb_bucket *b, uint64_t now_us);

/* Bytes were moved at this rate's expense. */
void nb_bucket_pay(struct nb_bucket *b, uint64_t now_us, uint64_t bytes, uint64_t rate_bps);
