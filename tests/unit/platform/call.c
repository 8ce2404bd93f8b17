/*
 * call.c: what calls look like in memory, for each processor; it runs on any.
 */
#include "platform/call.h"

#include "check.h"
#include "platform/platform.h"

#define COUNT_OF_BYTES(bytes_) (sizeof(bytes_) / sizeof(bytes_)[0])

typedef bool call_fn(const uint8_t *end, size_t room, th_code_call *out);

/* Aligns instructions where the processor wants it. */
static union {
    uint8_t bytes[16];
    uint64_t align;
} code;

static bool ask(call_fn *fn, const uint8_t *bytes, size_t n, size_t room, th_code_call *out) {
    memset(code.bytes, 0x90, sizeof(code.bytes));
    memcpy(code.bytes + 8 - n, bytes, n);
    *out = (th_code_call){0, false, 0, 0};
    return fn(code.bytes + 8, room, out);
}

#define CHECK_CALL(fn_, length_, direct_, to_, ...)                                                \
    do {                                                                                           \
        static const uint8_t bytes_[] = {__VA_ARGS__};                                             \
        th_code_call call_;                                                                        \
        CHECK(ask(fn_, bytes_, COUNT_OF_BYTES(bytes_), 8, &call_));                                \
        CHECK_EQ(call_.length, (length_));                                                         \
        CHECK_EQ(call_.direct, (direct_));                                                         \
        CHECK_EQ(call_.to, (to_));                                                                 \
        CHECK(!ask(fn_, bytes_, COUNT_OF_BYTES(bytes_), (length_)-1, &call_));                     \
    } while (0)

#define CHECK_NO_CALL(fn_, ...)                                                                    \
    do {                                                                                           \
        static const uint8_t bytes_[] = {__VA_ARGS__};                                             \
        th_code_call call_;                                                                        \
        CHECK(!ask(fn_, bytes_, COUNT_OF_BYTES(bytes_), 8, &call_));                               \
    } while (0)

TEST(x86_64) {
    /*
     * Calls are relative, by a register, by memory of each addressing mode; jumps and other groups
     * are none.
     */
    CHECK_CALL(th_call_x86_64, 5, true, 0x1234, 0xe8, 0x34, 0x12, 0, 0);
    CHECK_CALL(th_call_x86_64, 5, true, -16, 0xe8, 0xf0, 0xff, 0xff, 0xff);
    CHECK_CALL(th_call_x86_64, 2, false, 0, 0xff, 0xd0);                      /* *%rax */
    CHECK_CALL(th_call_x86_64, 2, false, 0, 0x41, 0xff, 0xd4);                /* *%r12 */
    CHECK_CALL(th_call_x86_64, 2, false, 0, 0xff, 0x13);                      /* *(%rbx) */
    CHECK_CALL(th_call_x86_64, 3, false, 0, 0xff, 0x50, 0x18);                /* *0x18(%rax) */
    CHECK_CALL(th_call_x86_64, 3, false, 0, 0xff, 0x14, 0xc7);                /* *(%rdi,%rax,8) */
    CHECK_CALL(th_call_x86_64, 4, false, 0, 0xff, 0x54, 0x24, 0x08);          /* *8(%rsp) */
    CHECK_CALL(th_call_x86_64, 6, false, 0, 0xff, 0x15, 1, 2, 3, 0);          /* *0x30201(%rip) */
    CHECK_CALL(th_call_x86_64, 6, false, 0, 0xff, 0x90, 0, 1, 0, 0);          /* *0x100(%rax) */
    CHECK_CALL(th_call_x86_64, 7, false, 0, 0xff, 0x14, 0xc5, 0, 1, 0, 0);    /* *0x100(,%rax,8) */
    CHECK_CALL(th_call_x86_64, 7, false, 0, 0xff, 0x94, 0x24, 0x00, 1, 0, 0); /* *0x100(%rsp) */
    /* bytes of others before it: mov -0x18(%rbp),%eax; mov %eax,%edi; call *%rdx */
    th_code_call call;
    const uint8_t by_register[] = {0x8b, 0x45, 0xe8, 0x89, 0xc7, 0xff, 0xd2};
    CHECK(ask(th_call_x86_64, by_register, sizeof(by_register), 8, &call));
    CHECK(call.direct);
    CHECK_EQ(call.other, 2);
    CHECK_NO_CALL(th_call_x86_64, 0xe9, 0x34, 0x12, 0, 0); /* jmp */
    CHECK_NO_CALL(th_call_x86_64, 0xff, 0xe0);             /* jmp *%rax */
    CHECK_NO_CALL(th_call_x86_64, 0xff, 0x30);             /* pushq (%rax) */
    CHECK_NO_CALL(th_call_x86_64, 0xff, 0x50);             /* the beginning of a longer one */
    CHECK_NO_CALL(th_call_x86_64, 0xc3);                   /* ret */
}

TEST(aarch64) {
    /* Calls are bl, blr, blraaz; not b, br, ret, nor anything at an odd place. */
    th_code_call call;
    static const uint8_t bl[] = {0x02, 0x00, 0x00, 0x94};
    CHECK_CALL(th_call_aarch64, 4, true, 4, 0x02, 0x00, 0x00, 0x94);  /* bl .+8 */
    CHECK_CALL(th_call_aarch64, 4, true, -8, 0xff, 0xff, 0xff, 0x97); /* bl .-4 */
    CHECK_CALL(th_call_aarch64, 4, false, 0, 0x60, 0x02, 0x3f, 0xd6); /* blr x19 */
    CHECK_CALL(th_call_aarch64, 4, false, 0, 0x1f, 0x08, 0x3f, 0xd6); /* blraaz x0 */
    CHECK_NO_CALL(th_call_aarch64, 0x02, 0x00, 0x00, 0x14);           /* b */
    CHECK_NO_CALL(th_call_aarch64, 0x60, 0x02, 0x1f, 0xd6);           /* br x19 */
    CHECK_NO_CALL(th_call_aarch64, 0xc0, 0x03, 0x5f, 0xd6);           /* ret */
    memcpy(code.bytes + 3, bl, 4);
    CHECK(!th_call_aarch64(code.bytes + 7, 7, &call));
}

TEST(riscv64) {
    /* Calls are jal and jalr with ra, c.jalr; not with other registers, not c.ebreak or c.jr. */
    CHECK_CALL(th_call_riscv64, 4, true, 4, 0xef, 0x00, 0x80, 0x00);     /* jal .+8 */
    CHECK_CALL(th_call_riscv64, 4, true, -8, 0xef, 0xf0, 0xdf, 0xff);    /* jal .-4 */
    CHECK_CALL(th_call_riscv64, 4, true, 0xffc, 0xef, 0x10, 0x00, 0x00); /* jal .+0x1000 */
    CHECK_CALL(th_call_riscv64, 4, true, 2044, 0xef, 0x00, 0x10, 0x00);  /* jal .+0x800 */
    CHECK_CALL(th_call_riscv64, 4, false, 0, 0xe7, 0x80, 0x07, 0x00);    /* jalr a5 */
    CHECK_CALL(th_call_riscv64, 2, false, 0, 0x82, 0x97);                /* c.jalr a5 */
    CHECK_NO_CALL(th_call_riscv64, 0x6f, 0x00, 0x80, 0x00);              /* j */
    CHECK_NO_CALL(th_call_riscv64, 0x67, 0x80, 0x00, 0x00);              /* ret */
    CHECK_NO_CALL(th_call_riscv64, 0x02, 0x90);                          /* c.ebreak */
    CHECK_NO_CALL(th_call_riscv64, 0x82, 0x87);                          /* c.jr a5 */
}

/* ---- what is told of places of this program ---- */

static int spans_ok(const th_os_span *spans, unsigned n, uintptr_t at) {
    int in = 0;
    for (unsigned i = 0; i < n; i++) {
        CHECK(spans[i].low < spans[i].high);
        in += at >= spans[i].low && at < spans[i].high;
    }
    return in;
}

#if defined(TH_CALL_BEFORE) && !defined(TH_PLATFORM_POSIX)
#define NEEDS_CODE() ((void)0)
#else
#define NEEDS_CODE() CHECK_SKIP("calls are not known on this processor or system")
#endif

TEST(the_librarys_own_code_is_left_out) {
    /* This function lies where calls are looked for; the library's lie nowhere. */
    NEEDS_CODE();
    static th_os_span spans[4096];
    const unsigned n = th_os_code_spans(spans, 4096);
    CHECK(n > 0 && n <= 4096);
    CHECK_EQ(th_os_code_spans(NULL, 0), n);
    CHECK_EQ(spans_ok(spans, n, (uintptr_t)&spans_ok), 1);
    CHECK_EQ(spans_ok(spans, n, (uintptr_t)&th_os_code_spans), 0);
    CHECK_EQ(spans_ok(spans, n, (uintptr_t)&th_call_x86_64), 0);
    CHECK_EQ(spans_ok(spans, n, (uintptr_t)&th_os_code_call), 0);
    CHECK_EQ(spans_ok(spans, n, (uintptr_t)&th_context_switch), 0);
}

static uintptr_t here;

static __attribute__((noinline)) void returns(void) {
    here = (uintptr_t)__builtin_return_address(0);
}

TEST(a_place_behind_a_call_is_told) {
    /*
     * What is told is the call's own place; a place where no call ends has none, nor has one
     * without code.
     */
    NEEDS_CODE();
    th_os_place place;
    returns();
    CHECK(th_os_code_call(here, &place, NULL));
    CHECK(place.file[0] != '\0' && !strchr(place.file, '/'));
    CHECK(place.offset != 0);
    const uintptr_t offset = place.offset;
    returns(); /* another place; with it the compiler keeps the first call */
    CHECK(th_os_code_call(here, &place, NULL) && place.offset > offset);
    CHECK(!th_os_code_call((uintptr_t)&place, &place, NULL));
    CHECK(!th_os_code_call(0, &place, NULL));
    CHECK(!th_os_code_call(UINTPTR_MAX, &place, NULL));
}
