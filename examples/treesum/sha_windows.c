/*
 * sha_windows.c: see sha.h. SHA-256 from bcrypt.dll.
 */
#include "sha.h"

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
/* After the headers that it needs. */
#include <bcrypt.h>

#include "memory.h"

struct sha {
    BCRYPT_ALG_HANDLE algorithm;
    BCRYPT_HASH_HANDLE hash;
};

static void require(NTSTATUS code) {
    if (code < 0) {
        fputs("treesum: bcrypt.dll gives no SHA-256\n", stderr);
        _Exit(1);
    }
}

struct sha *sha_new(void) {
    struct sha *sha = memory_new(sizeof *sha);
    require(BCryptOpenAlgorithmProvider(&sha->algorithm, BCRYPT_SHA256_ALGORITHM, NULL, 0));
    return sha;
}

void sha_free(struct sha *sha) {
    BCryptCloseAlgorithmProvider(sha->algorithm, 0);
    free(sha);
}

void sha_begin(struct sha *sha) {
    require(BCryptCreateHash(sha->algorithm, &sha->hash, NULL, 0, NULL, 0, 0));
}

void sha_update(struct sha *sha, const void *data, size_t size) {
    require(BCryptHashData(sha->hash, (unsigned char *)(uintptr_t)data, (ULONG)size, 0));
}

void sha_end(struct sha *sha, unsigned char digest[32]) {
    require(BCryptFinishHash(sha->hash, digest, 32, 0));
    BCryptDestroyHash(sha->hash);
}
