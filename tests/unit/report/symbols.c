/*
 * symbols.c: names of functions that are not exported, out of the program's file, and files that
 * are not what they seem.
 */
/* POSIX: <elf.h> */
#define _GNU_SOURCE
#include "platform/linux/symbols.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "support/support.h"

static th_os_symbols symbols; /* of one thread */

static unsigned count_fds(void) {
    unsigned n = 0;
    DIR *fds = opendir("/proc/self/fd");
    CHECK(fds != NULL);
    while (readdir(fds)) {
        n++;
    }
    CHECK_EQ(closedir(fds), 0);
    return n;
}

/* ---- this program ---- */

static thrum_sem sem;
static atomic_int kept; /* added behind a call, so that it is no jump */

static __attribute__((noinline)) int waits_below(void *arg) {
    const int result = thrum_sem_wait(&sem);
    atomic_fetch_add(&kept, arg != NULL);
    return result;
}

static const char *name_of_waits_below(th_os_symbols *with) {
    static char name[64];
    symbols.left = UINT64_MAX;
    th_os_code_name((uintptr_t)waits_below, name, sizeof name, with);
    return name;
}

static bool is_of_file(const char *name) {
    char own[80];
    snprintf(own, sizeof own, "%s+0x", program_invocation_short_name);
    return strncmp(name, own, strlen(own)) == 0;
}

TEST(a_static_function_is_named) {
    /* Its name is known where the file may be read, else its place; no descriptor stays open. */
    char name[64];
    const unsigned fds = count_fds();
    errno = 4711;
    CHECK_STR(name_of_waits_below(&symbols), "waits_below");
    CHECK(symbols.left < UINT64_MAX);
    th_os_code_name((uintptr_t)waits_below + 1, name, sizeof name, &symbols);
    CHECK_STR(name, "waits_below+0x1");
    CHECK(is_of_file(name_of_waits_below(NULL)));
    CHECK_EQ(errno, 4711);
    CHECK_EQ(count_fds(), fds);
}

TEST(nothing_is_read_beyond_the_limit) {
    /* When the bytes are used up, a name is the place; what is left never grows. */
    char name[64];
    uint64_t before = 0;
    CHECK_STR(name_of_waits_below(&symbols), "waits_below");
    const uint64_t needed = UINT64_MAX - symbols.left;
    for (uint64_t left = 0; left < needed; left += needed / 50 + 1) {
        symbols.left = before = left;
        th_os_code_name((uintptr_t)waits_below, name, sizeof name, &symbols);
        CHECK(is_of_file(name));
        CHECK(symbols.left <= before);
    }
}

TEST(without_descriptors_places_are_told) {
    /* The file cannot be opened: nothing else changes. */
    struct rlimit before;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    errno = 4711;
    CHECK(is_of_file(name_of_waits_below(&symbols)));
    CHECK_EQ(errno, 4711);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(standard_streams_that_are_closed_stay_free) {
    /* The file's descriptor is above them, and closed. */
    CHECK_EQ(close(STDIN_FILENO), 0);
    CHECK_STR(name_of_waits_below(&symbols), "waits_below");
    CHECK_EQ(fcntl(STDIN_FILENO, F_GETFD), -1);
}

/* ---- copies of this program ---- */

typedef struct bytes {
    unsigned char *at;
    size_t size;
} bytes;

static bytes read_own(void) {
    struct stat what;
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQ(fstat(fd, &what), 0);
    bytes own = {malloc((size_t)what.st_size), (size_t)what.st_size};
    for (size_t got = 0; got < own.size;) {
        const ssize_t n = read(fd, own.at + got, own.size - got);
        CHECK(n > 0);
        got += (size_t)n;
    }
    CHECK_EQ(close(fd), 0);
    return own;
}

/* Runs this test once more, in a program of these bytes: 0 when all went well there. */
static void run_copy(const bytes *copy, const char *test) {
    char path[] = "/tmp/thrum-symbols-XXXXXX";
    int status = 0;
    const int fd = mkstemp(path);
    CHECK(fd >= 0);
    for (size_t put = 0; put < copy->size;) {
        const ssize_t n = write(fd, copy->at + put, copy->size - put);
        CHECK(n > 0);
        put += (size_t)n;
    }
    CHECK_EQ(fchmod(fd, 0700), 0);
    CHECK_EQ(close(fd), 0);
    CHECK_EQ(setenv("SYMBOLS_COPY", path, 1), 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(path, path, test, (char *)NULL);
        _exit(77);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    (void)unlink(path);
    CHECK_EQ(unsetenv("SYMBOLS_COPY"), 0);
    CHECK(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        CHECK_SKIP("a copy of this program may not be run here");
    }
    CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST(a_stripped_program_has_places) {
    /* Its file has no table of symbols: nothing is named, and nothing fails. */
    if (getenv("SYMBOLS_COPY")) {
        CHECK(is_of_file(name_of_waits_below(&symbols)));
        return;
    }
    bytes own = read_own();
    ElfW(Ehdr) *head = (ElfW(Ehdr) *)(void *)own.at;
    head->e_shoff = 0;
    head->e_shnum = 0;
    head->e_shstrndx = 0;
    run_copy(&own, "a_stripped_program_has_places");
    free(own.at);
}

TEST(a_deleted_program_is_named) {
    /* Another file stands at its path by now, or none: the one that runs is read. */
    const char *path = getenv("SYMBOLS_COPY");
    if (path) {
        CHECK_EQ(unlink(path), 0);
        CHECK_STR(name_of_waits_below(&symbols), "waits_below");
        const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
        CHECK(fd >= 0);
        CHECK_EQ(write(fd, "#!/bin/true\n", 12), 12);
        CHECK_EQ(close(fd), 0);
        CHECK_STR(name_of_waits_below(&symbols), "waits_below");
        return;
    }
    bytes own = read_own();
    run_copy(&own, "a_deleted_program_is_named");
    free(own.at);
}

/* ---- a file made by hand ---- */

/* A module of one part, with a build-id, and a table of three functions. */
typedef struct elf {
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    unsigned char id[20];
    char strings[44];
    ElfW(Sym) table[4];
    ElfW(Shdr) sections[3];
} elf;

#define ADDRESS_OF_TWO ((uintptr_t)0x2010)

static const char strings[] = "\0one\0two_of_three\0this_is_the_third";

/* The head is that of this program, so it suits the processor. */
static elf make_elf(void) {
    elf e;
    bytes own = read_own();
    memset(&e, 0, sizeof e);
    memcpy(&e.head, own.at, sizeof e.head);
    free(own.at);
    e.head.e_phoff = offsetof(elf, part);
    e.head.e_phnum = 1;
    e.head.e_shoff = offsetof(elf, sections);
    e.head.e_shnum = 3;
    e.part = (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = 0x4000};
    memset(e.id, 7, sizeof e.id);
    memcpy(e.strings, strings, sizeof strings);
    e.table[1] = (ElfW(Sym)){
        .st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x1000, .st_size = 0x100};
    e.table[2] = (ElfW(Sym)){
        .st_name = 5, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x2000, .st_size = 0x20};
    e.table[3] = (ElfW(Sym)){
        .st_name = 18, .st_info = STT_FUNC, .st_shndx = 1, .st_value = 0x3000, .st_size = 0x100};
    e.sections[1] = (ElfW(Shdr)){.sh_type = SHT_SYMTAB,
                                 .sh_offset = offsetof(elf, table),
                                 .sh_size = sizeof e.table,
                                 .sh_entsize = sizeof e.table[0],
                                 .sh_link = 2};
    e.sections[2] = (ElfW(Shdr)){
        .sh_type = SHT_STRTAB, .sh_offset = offsetof(elf, strings), .sh_size = sizeof strings};
    return e;
}

/* The module that was loaded from `e`, whose file is at this path. */
static th_module module_of(const elf *e, const char *path) {
    th_module m = {.parts = 1, .id_at = offsetof(elf, id), .id_size = sizeof e->id};
    m.parts_sum = th_module_sum(0, &e->part, sizeof e->part);
    memcpy(m.id, e->id, sizeof e->id);
    snprintf(m.path, sizeof m.path, "%s", path);
    return m;
}

typedef struct scene {
    elf good;
    int fd; /* of the file */
    char path[40];
    th_module module; /* that was loaded from the good one */
} scene;

static void scene_begin(scene *s) {
    s->good = make_elf();
    s->fd = memfd_create("symbols", MFD_CLOEXEC);
    CHECK(s->fd >= 0);
    snprintf(s->path, sizeof s->path, "/proc/self/fd/%d", s->fd);
    s->module = module_of(&s->good, s->path);
}

static void put(const scene *s, const void *file, size_t size) {
    CHECK_EQ(ftruncate(s->fd, 0), 0);
    CHECK_EQ(pwrite(s->fd, file, size, 0), size);
}

/* What the file says of an address of the module's. */
static const char *ask_at(const th_module *module, uintptr_t offset) {
    static th_os_place place;
    place = (th_os_place){.offset = offset};
    symbols.left = 1 << 20;
    th_symbols_of(&symbols)->module = *module;
    th_symbols_find(&symbols, &place);
    CHECK(memchr(place.symbol, 0, sizeof place.symbol) != NULL);
    for (const char *at = place.symbol; *at; at++) {
        CHECK((unsigned char)*at > ' ' && *at != 0x7f);
    }
    CHECK(!place.symbol[0] || place.past <= offset);
    return place.symbol;
}

static const char *ask_file(const scene *s, const void *file, size_t size) {
    put(s, file, size);
    return ask_at(&s->module, ADDRESS_OF_TWO);
}

TEST(functions_of_a_file_are_found) {
    /* Each is found from its first byte to its last, and nothing between them. */
    scene s;
    scene_begin(&s);
    CHECK_STR(ask_file(&s, &s.good, sizeof s.good), "two_of_three");
    CHECK_STR(ask_at(&s.module, 0xfff), "");
    CHECK_STR(ask_at(&s.module, 0x1000), "one");
    CHECK_STR(ask_at(&s.module, 0x10ff), "one");
    CHECK_STR(ask_at(&s.module, 0x1100), "");
    CHECK_STR(ask_at(&s.module, 0x3000), "this_is_the_third");
    CHECK_STR(ask_at(&s.module, 0), "");
    CHECK_STR(ask_at(&s.module, UINTPTR_MAX), "");
    CHECK_EQ(close(s.fd), 0);
}

TEST(a_file_that_was_cut_off_tells_nothing) {
    /* This holds at each length. */
    scene s;
    scene_begin(&s);
    for (size_t size = 0; size < sizeof s.good; size++) {
        CHECK_STR(ask_file(&s, &s.good, size), "");
    }
    CHECK_STR(ask_file(&s, &s.good, sizeof s.good), "two_of_three");
    CHECK_EQ(close(s.fd), 0);
}

TEST(a_file_with_any_bytes_does_no_harm) {
    /* Each byte of it is something else, then many are: a name may come, and nothing worse. */
    static const unsigned char others[] = {0, 1, 0x7f, 0x80, 0xff};
    scene s;
    uint64_t random = 88172645463325252u;
    scene_begin(&s);
    for (size_t i = 0; i < sizeof s.good; i++) {
        for (size_t j = 0; j < COUNT_OF(others); j++) {
            elf bad = s.good;
            ((unsigned char *)&bad)[i] = others[j];
            (void)ask_file(&s, &bad, sizeof bad);
        }
    }
    for (int i = SCALED(20000); i > 0; i--) {
        elf bad = s.good;
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        for (uint64_t bits = random; bits; bits >>= 16) {
            /* behind what must be the module's, where bytes are trusted */
            const size_t from = i % 2 ? offsetof(elf, strings) : 0;
            const size_t at = from + (bits & 0xfff) % (sizeof bad - from);
            ((unsigned char *)&bad)[at] ^= (unsigned char)(1u << (bits >> 12 & 7));
        }
        (void)ask_file(&s, &bad, sizeof bad);
    }
    CHECK_EQ(close(s.fd), 0);
}

TEST(another_file_tells_nothing) {
    /* It has another build-id, other parts, or is for another processor. */
    scene s;
    scene_begin(&s);
#define CHECK_OTHER(...)                                                                           \
    do {                                                                                           \
        elf bad = s.good;                                                                          \
        __VA_ARGS__;                                                                               \
        CHECK_STR(ask_file(&s, &bad, sizeof bad), "");                                             \
    } while (0)
    CHECK_OTHER(bad.id[19]++);
    CHECK_OTHER(bad.part.p_memsz++);
    CHECK_OTHER(bad.head.e_phnum++);
    CHECK_OTHER(bad.head.e_ident[EI_MAG3]++);
    CHECK_OTHER(bad.head.e_ident[EI_CLASS] ^= 3);
    CHECK_OTHER(bad.head.e_ident[EI_DATA] ^= 3);
    CHECK_OTHER(bad.head.e_machine = EM_68K);
    CHECK_OTHER(bad.head.e_type = ET_REL);
    CHECK_OTHER(bad.head.e_phentsize--);
    CHECK_OTHER(bad.head.e_shentsize--);
    CHECK_OTHER(bad.head.e_shnum = 0);
    CHECK_OTHER(bad.head.e_shoff = UINT32_MAX);
    CHECK_OTHER(bad.sections[1].sh_type = SHT_DYNSYM);
    CHECK_OTHER(bad.sections[1].sh_entsize = 0);
    CHECK_OTHER(bad.sections[1].sh_size = UINT32_MAX);
    CHECK_OTHER(bad.sections[1].sh_link = 3);
    CHECK_OTHER(bad.sections[1].sh_link = UINT32_MAX);
    CHECK_OTHER(bad.sections[2].sh_type = SHT_PROGBITS);
    CHECK_OTHER(bad.sections[2].sh_size = 4);
    CHECK_OTHER(bad.sections[2].sh_size = 8); /* the name has no end */
    CHECK_OTHER(bad.sections[2].sh_offset = UINT32_MAX);
    CHECK_OTHER(bad.table[2].st_info = STT_OBJECT);
    CHECK_OTHER(bad.table[2].st_shndx = SHN_UNDEF);
    CHECK_OTHER(bad.table[2].st_size = 0);
    CHECK_OTHER(bad.table[2].st_name = 0);
    CHECK_OTHER(bad.table[2].st_name = UINT32_MAX);
    CHECK_OTHER(bad.table[2].st_value = 0x2011, bad.table[2].st_size = UINTPTR_MAX);
    CHECK_OTHER(bad.strings[7] = '\n');
    CHECK_OTHER(bad.strings[7] = '\033');
    CHECK_STR(ask_file(&s, &s.good, sizeof s.good), "two_of_three");
    CHECK_EQ(close(s.fd), 0);
}

TEST(a_module_without_an_id_is_known_by_its_mapping) {
    /* Only the file that it was mapped from tells, not one with the same bytes. */
    scene s;
    scene other;
    scene_begin(&s);
    scene_begin(&other);
    put(&s, &s.good, sizeof s.good);
    put(&other, &s.good, sizeof s.good);
    const void *mapped = mmap(NULL, sizeof s.good, PROT_READ, MAP_PRIVATE, s.fd, 0);
    CHECK(mapped != MAP_FAILED);
    s.module.id_size = other.module.id_size = 0;
    s.module.mapped = other.module.mapped = (uintptr_t)mapped + 16;
    CHECK_STR(ask_at(&s.module, ADDRESS_OF_TWO), "two_of_three");
    CHECK_STR(ask_at(&other.module, ADDRESS_OF_TWO), "");
    s.module.mapped = 1;
    CHECK_STR(ask_at(&s.module, ADDRESS_OF_TWO), "");
    CHECK_EQ(close(s.fd) | close(other.fd), 0);
}

TEST(long_names_are_cut) {
    /* What there is room for is told. */
    struct {
        elf e;
        char name[300];
    } file;
    scene s;
    scene_begin(&s);
    memset(&file, 0, sizeof file);
    file.e = s.good;
    memset(file.name, 'a', sizeof file.name - 1);
    file.e.table[2].st_name = 1;
    file.e.sections[2].sh_offset = sizeof file.e - 1;
    file.e.sections[2].sh_size = sizeof file.name + 1;
    CHECK_EQ(strlen(ask_file(&s, &file, sizeof file)), sizeof((th_os_place *)NULL)->symbol - 1);
    CHECK_EQ(close(s.fd), 0);
}

TEST(only_regular_files_are_opened) {
    /* A pipe without a writer does not hold the caller up; directories and devices tell nothing. */
    scene s;
    char path[] = "/tmp/thrum-symbols-XXXXXX";
    static const char *const others[] = {"/dev/null", "/dev/tty", "/", "/nowhere/at/all", ""};
    scene_begin(&s);
    const int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK_EQ(close(fd) | unlink(path) | mkfifo(path, 0600), 0);
    th_module m = module_of(&s.good, path);
    check_end_in_time();
    CHECK_STR(ask_at(&m, ADDRESS_OF_TWO), "");
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        m = module_of(&s.good, others[i]);
        CHECK_STR(ask_at(&m, ADDRESS_OF_TWO), "");
    }
    CHECK_EQ(unlink(path) | close(s.fd), 0);
}
