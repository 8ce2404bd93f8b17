/*
 * sha_posix.c: see sha.h. SHA-256 from libcrypto.
 *
 * The algorithm is looked up once a context, not once a digest: in OpenSSL 3 a look-up takes locks
 * and costs more than hashing a short file.
 */
#include "sha.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

struct sha {
    EVP_MD *algorithm;
    EVP_MD_CTX *context;
};

static void require(int done) {
    if (done != 1) {
        fputs("treesum: libcrypto gives no SHA-256\n", stderr);
        _Exit(1);
    }
}

struct sha *sha_new(void) {
    struct sha *sha = memory_new(sizeof *sha);
    sha->algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
    sha->context = EVP_MD_CTX_new();
    require(sha->algorithm && sha->context);
    return sha;
}

void sha_free(struct sha *sha) {
    EVP_MD_CTX_free(sha->context);
    EVP_MD_free(sha->algorithm);
    free(sha);
}

void sha_begin(struct sha *sha) {
    require(EVP_DigestInit_ex2(sha->context, sha->algorithm, NULL));
}

void sha_update(struct sha *sha, const void *data, size_t size) {
    require(EVP_DigestUpdate(sha->context, data, size));
}

void sha_end(struct sha *sha, unsigned char digest[32]) {
    require(EVP_DigestFinal_ex(sha->context, digest, NULL));
}
