/*
 * no_secret.c: in place of libsodium's, hashes without a random secret, so that a schedule can be
 * repeated.
 */
#include <sodium.h>
#include <string.h>

int sodium_init(void) {
    return 0;
}

void crypto_shorthash_keygen(unsigned char secret[crypto_shorthash_KEYBYTES]) {
    memset(secret, 0, crypto_shorthash_KEYBYTES);
}

int crypto_shorthash(unsigned char *out, const unsigned char *in, unsigned long long size,
                     const unsigned char *secret) {
    uint64_t hash = secret[0];
    for (unsigned long long i = 0; i < size; i++) {
        hash = (hash ^ in[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    memcpy(out, &hash, sizeof hash);
    return 0;
}
