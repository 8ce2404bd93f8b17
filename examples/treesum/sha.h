/*
 * sha.h: SHA-256, from libcrypto, on Windows from the system. A context belongs to one user at a
 * time, and may move between threads with it.
 */
#ifndef TREESUM_SHA_H
#define TREESUM_SHA_H

#include <stddef.h>

struct sha;

struct sha *sha_new(void);
void sha_free(struct sha *sha);

void sha_begin(struct sha *sha);
void sha_update(struct sha *sha, const void *data, size_t size);
void sha_end(struct sha *sha, unsigned char digest[32]);

#endif
