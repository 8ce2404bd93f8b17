/*
 * call.c: see call.h. Bytes are read one by one: instructions of two and four bytes are
 * little-endian on all of these processors, and need not be aligned where they lie.
 */
#include "platform/call.h"

static uint32_t word_at(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static bool found(th_code_call *out, unsigned length) {
    *out = (th_code_call){.length = length};
    return true;
}

/*
 * A direct call. Its bytes may belong to other instructions instead: then its target is no code,
 * and a call through a register of length `other` is meant.
 */
static bool found_direct(th_code_call *out, unsigned length, int64_t to, unsigned other) {
    *out = (th_code_call){.length = length, .direct = true, .to = to, .other = other};
    return true;
}

/* The length of a `call *...` (FF /2) with this operand, without prefixes; 0: it is no call. */
static unsigned x86_indirect_length(uint8_t modrm, uint8_t sib) {
    unsigned mod = modrm >> 6;
    unsigned rm = modrm & 7;
    if ((modrm >> 3 & 7) != 2) {
        return 0;
    }
    unsigned length = 2;
    if (mod != 3 && rm == 4) {
        length++;
        rm = mod == 0 ? sib & 7 : rm; /* there 5 means no base, but a displacement of 32 bits */
    }
    return length + (mod == 1 ? 1 : mod == 2 || (mod == 0 && rm == 5) ? 4 : 0);
}

/* The length of the `call *...` that ends here; 0: none does. */
static unsigned x86_indirect_before(const uint8_t *end, size_t room) {
    for (unsigned length = 2; length <= 7 && length <= room; length++) {
        const uint8_t *at = end - length;
        if (at[0] == 0xff && x86_indirect_length(at[1], length > 2 ? at[2] : 0) == length) {
            return length;
        }
    }
    return 0;
}

bool th_call_x86_64(const uint8_t *end, size_t room, th_code_call *out) {
    unsigned indirect = x86_indirect_before(end, room);
    if (room >= 5 && end[-5] == 0xe8) {
        return found_direct(out, 5, (int32_t)word_at(end - 4), indirect);
    }
    return indirect && found(out, indirect);
}

bool th_call_aarch64(const uint8_t *end, size_t room, th_code_call *out) {
    if (((uintptr_t)end & 3) || room < 4) {
        return false;
    }
    uint32_t word = word_at(end - 4);
    if ((word & 0xfc000000) == 0x94000000) { /* bl: 26 bits, words from its own address */
        int64_t to = (int64_t)(word & 0x3ffffff) - ((word & 0x2000000) ? 0x4000000 : 0);
        return found_direct(out, 4, 4 * to - 4, 0);
    }
    bool blr = (word & 0xfffffc1f) == 0xd63f0000;
    bool blra = (word & 0xfefff800) == 0xd63f0800; /* blraaz, blraa, ... */
    return (blr || blra) && found(out, 4);
}

/* The target of a jal, in bytes from its own address. */
static int64_t riscv_jal_to(uint32_t word) {
    int64_t to =
        (int64_t)((word >> 21 & 0x3ff) << 1 | (word >> 20 & 1) << 11 | (word >> 12 & 0xff) << 12);
    return to - ((word >> 31) ? 1 << 20 : 0);
}

bool th_call_riscv64(const uint8_t *end, size_t room, th_code_call *out) {
    if (((uintptr_t)end & 1) || room < 2) {
        return false;
    }
    unsigned half = (unsigned)end[-2] | (unsigned)end[-1] << 8;
    bool compressed = (half & 0xf07f) == 0x9002 && (half >> 7 & 31) != 0; /* c.jalr */
    if (room >= 4) {
        uint32_t word = word_at(end - 4);
        if ((word & 0xfff) == 0x0ef) { /* jal ra */
            return found_direct(out, 4, riscv_jal_to(word) - 4, compressed ? 2 : 0);
        }
        if ((word & 0x7fff) == 0x00e7) { /* jalr ra, also the second instruction of a `call` */
            return found(out, 4);
        }
    }
    return compressed && found(out, 2);
}
