/*
 * places.c: addresses as a reader knows them: lines of the source, static objects by their names.
 * addr2line and nm read the program's file, by the system's link to it: its name
 * may be any text, and the file may be gone. Without them addresses stay numbers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

static int first_object(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    *(uintptr_t *)arg = info->dlpi_addr;
    return 1;
}

uintptr_t kit_load_base(void) {
    uintptr_t base = 0;
    dl_iterate_phdr(first_object, &base);
    return base;
}

/* ---- code ---- */

extern char __executable_start[];
extern char etext[];

static struct {
    unsigned found, missing; /* lines of the program's code */
    bool answered;           /* addr2line */
} lines;

void kit_print_lines_missing(FILE *out) {
    if (lines.missing && !lines.answered) {
        fprintf(out, "\n  Install addr2line (binutils) to see the lines of the source.\n");
    } else if (lines.missing > lines.found) {
        fprintf(out, "\n  Compile with -g to see the lines of the source.\n");
    }
}

static bool is_own(uintptr_t address) {
    return address >= (uintptr_t)__executable_start && address < (uintptr_t)etext;
}

/* A function of a shared object, or an address within the program. */
static void name_without_lines(kit_place *place, uintptr_t address) {
    Dl_info info;
    place->where[0] = '\0';
    place->of_headers = false;
    if (is_own(address)) {
        snprintf(place->function, sizeof place->function, "0x%zx",
                 (size_t)(address - kit_load_base()));
    } else if (dladdr((void *)address, &info) && info.dli_fname) {
        const char *base = strrchr(info.dli_fname, '/');
        place->of_headers = true; /* its caller is the program's */
        snprintf(place->function, sizeof place->function, "%s in %s",
                 info.dli_sname ? info.dli_sname : "?", base ? base + 1 : info.dli_fname);
    } else {
        snprintf(place->function, sizeof place->function, "?");
    }
}

/* Whether it is a function of the headers in C++, which compilers inline. */
bool kit_is_of_headers(const char *function) {
    return strncmp(function, "thrum::", 7) == 0 || strncmp(function, "std::", 5) == 0;
}

void kit_shorten(char *name) {
    static const char nowhere[] = "(anonymous namespace)::";
    for (char *at = strstr(name, nowhere); at; at = strstr(at, nowhere)) {
        memmove(at, at + sizeof nowhere - 1, strlen(at + sizeof nowhere - 1) + 1);
    }
    char *const arguments = strchr(name, '(');
    if (arguments && arguments > name && !strstr(name, "lambda") && !strstr(name, "operator")) {
        *arguments = '\0';
    }
}

/*
 * Reads one answer of addr2line: the address, and for each of the functions that are inlined there
 * its name and place, the innermost first. It takes the first one that is the program's own.
 */
static void read_places(FILE *answer, kit_place places[], unsigned n) {
    char *line = NULL;
    size_t size = 0;
    unsigned next = 0; /* the number of the answer, and 1 */
    bool taken = false;
    while (getline(&line, &size, answer) > 0) {
        if (strncmp(line, "0x", 2) == 0) {
            lines.answered = true;
            next++;
            taken = false;
            continue;
        }
        kit_place one = {"", "", false};
        line[strcspn(line, "\n")] = '\0';
        kit_shorten(line);
        snprintf(one.function, sizeof one.function, "%.63s", line);
        if (getline(&line, &size, answer) <= 0) {
            break;
        }
        line[strcspn(line, " \n")] = '\0';
        one.of_headers =
            kit_is_of_headers(one.function) || strstr(line, "/thrum/cpp/") || strstr(line, "/c++/");
        const char *const base = strrchr(line, '/');
        snprintf(one.where, sizeof one.where, "%.95s", base ? base + 1 : line);
        if (next == 0 || next > n || taken) {
            continue;
        }
        if (one.function[0] != '?') {
            memcpy(places[next - 1].function, one.function, sizeof one.function);
        }
        if (one.where[0] != '?') {
            memcpy(places[next - 1].where, one.where, sizeof one.where);
        }
        places[next - 1].of_headers = one.of_headers;
        taken = !one.of_headers;
    }
    free(line);
}

/* Asks addr2line about all places at once. */
void kit_find_places(kit_place places[], const uintptr_t addresses[], unsigned n) {
    const uintptr_t base = kit_load_base();
    char *command = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&command, &length);
    fprintf(text, "addr2line -a -i -f -C -e /proc/%d/exe", (int)getpid());
    for (unsigned i = 0; i < n; i++) {
        fprintf(text, " 0x%zx", (size_t)(addresses[i] - base));
        name_without_lines(&places[i], addresses[i]);
    }
    fprintf(text, " 2>/dev/null");
    fclose(text);
    FILE *answer = n ? popen(command, "r") : NULL;
    if (answer) {
        read_places(answer, places, n);
        pclose(answer);
    }
    free(command);
    for (unsigned i = 0; i < n; i++) {
        const char *number = strrchr(places[i].where, ':');
        const bool known = number && number[1] != '?';
        lines.found += known;
        lines.missing += !known && is_own(addresses[i]);
    }
}

const char *kit_place_text(const kit_place *place) {
    return place->where[0] ? place->where : place->function;
}

/* ---- data ---- */

typedef struct symbol {
    uintptr_t at;
    char name[64];
} symbol;

static struct {
    symbol *all;
    unsigned count;
    bool read;
} symbols;

static void read_symbols(void) {
    char *command = NULL;
    unsigned room = 0;
    symbols.read = true;
    if (asprintf(&command, "nm -C -n --defined-only /proc/%d/exe 2>/dev/null", (int)getpid()) < 0) {
        return;
    }
    FILE *answer = popen(command, "r");
    char line[512];
    while (answer && fgets(line, sizeof line, answer)) {
        symbol s;
        unsigned long long at;
        char type;
        if (sscanf(line, "%llx %c %63[^\n]", &at, &type, s.name) != 3 ||
            !strchr("bBdDsSuV", type)) {
            continue;
        }
        if (symbols.count == room) {
            room = room ? room * 2 : 256;
            symbols.all = realloc(symbols.all, room * sizeof *symbols.all);
        }
        s.at = (uintptr_t)at + kit_load_base();
        symbols.all[symbols.count++] = s;
    }
    if (answer) {
        pclose(answer);
    }
    free(command);
}

bool kit_name_static(const void *object, char *text, size_t size) {
    const uintptr_t at = (uintptr_t)object;
    if ((const char *)object < E->data || (const char *)object >= E->data + E->data_size) {
        return false;
    }
    if (!symbols.read) {
        read_symbols();
    }
    const symbol *found = NULL;
    for (unsigned i = 0; i < symbols.count && symbols.all[i].at <= at; i++) {
        found = &symbols.all[i];
    }
    if (!found) {
        snprintf(text, size, "data+%zu", (size_t)((const char *)object - E->data));
        return true;
    }
    int length = (int)strlen(found->name); /* statics of functions have a number after the name */
    const char *dot = strrchr(found->name, '.');
    if (dot && strspn(dot + 1, "0123456789") == strlen(dot + 1)) {
        length = (int)(dot - found->name);
    }
    if (at == found->at) {
        snprintf(text, size, "%.*s", length, found->name);
    } else {
        snprintf(text, size, "%.*s+%zu", length, found->name, (size_t)(at - found->at));
    }
    return true;
}
