/*
 * topology.c: how many CPUs this process may use.
 *
 * There are two limits. The affinity mask is a set of CPUs; a cgroup quota grants CPU time for each
 * period. Every group up to the root may have a quota, and the smallest of them counts. Version 1
 * keeps it in cpu.cfs_quota_us and cpu.cfs_period_us (-1: none), version 2 in cpu.max ("max":
 * none), and both versions may be mounted at once.
 *
 * /proc/self/cgroup names the process's group inside each hierarchy; /proc/self/mountinfo has the
 * place where a hierarchy, or a part of it (a container's), is mounted. A mount that shows some
 * other part is not about this process. A file that cannot be read or understood sets no limit.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest path; a group with a longer one has no limit. */
#define PATH_SIZE 8192
#define NO_LIMIT (~0u)
/* The largest mask that is tried for the kernel's; no machine has more CPUs. */
#define CPUS_MAX (1 << 20)

static unsigned affinity_count(void);
static unsigned quota_of_hierarchy(const char *root, bool v2);

unsigned th_os_cpus(void) {
    return th_os_cpus_at("", affinity_count());
}

unsigned th_os_cpus_at(const char *root, unsigned affinity) {
    TH_KEEPS_ERRNO;
    unsigned count = affinity;
    unsigned v1 = quota_of_hierarchy(root, false);
    unsigned v2 = quota_of_hierarchy(root, true);
    if (v1 < count) {
        count = v1;
    }
    if (v2 < count) {
        count = v2;
    }
    return count == 0 ? 1 : count;
}

/* ---- affinity ---- */

/* The calling thread's mask; the caller frees it with CPU_FREE. NULL: it cannot be read. */
static cpu_set_t *affinity_mask(int *cpus) {
    for (*cpus = 1024; *cpus <= CPUS_MAX; *cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)*cpus);
        if (!set) {
            return NULL; /* GCOVR_EXCL_LINE: tests cannot make this allocation fail */
        }
        size_t size = CPU_ALLOC_SIZE((size_t)*cpus);
        CPU_ZERO_S(size, set);
        if (sched_getaffinity(0, size, set) == 0) {
            return set;
        }
        CPU_FREE(set);
        if (th_os_errno_get() != EINVAL) { /* EINVAL: the kernel's mask is longer */
            return NULL;
        }
    }
    return NULL;
}

static unsigned affinity_count(void) {
    TH_KEEPS_ERRNO;
    int cpus;
    unsigned count = 1;
    cpu_set_t *set = affinity_mask(&cpus);
    if (set) {
        count = (unsigned)CPU_COUNT_S(CPU_ALLOC_SIZE((size_t)cpus), set);
        CPU_FREE(set);
    }
    return count;
}

/* ---- cgroups ---- */

/* The place of the process's group: `mount` is the mounted folder, `group` the path below it. */
typedef struct place {
    char mount[PATH_SIZE];
    char group[PATH_SIZE];
} place;

static bool find_place(const char *root, bool v2, place *found);
static unsigned quota_at(const char *root, const char *folder, bool v2);

/* The smallest quota of the group and of all its ancestors that the mount shows. */
static unsigned quota_of_hierarchy(const char *root, bool v2) {
    unsigned least = NO_LIMIT;
    place *p = malloc(sizeof *p);
    char *folder = malloc(2 * PATH_SIZE);
    if (p && folder && find_place(root, v2, p)) {
        size_t mount_length = strlen(p->mount);
        snprintf(folder, 2 * (size_t)PATH_SIZE, "%s%s", p->mount, p->group);
        for (;;) {
            unsigned quota = quota_at(root, folder, v2);
            if (quota < least) {
                least = quota;
            }
            char *slash = strrchr(folder, '/');
            if (strlen(folder) <= mount_length || !slash) {
                break;
            }
            *slash = '\0';
        }
    }
    free(folder);
    free(p);
    return least;
}

/* Opens root + folder + name for reading. The path is on the heap: a fiber's stack may be small. */
static FILE *open_below(const char *root, const char *folder, const char *name) {
    const size_t size = strlen(root) + strlen(folder) + strlen(name) + 1;
    char *path = malloc(size);
    FILE *f = NULL;
    if (path) {
        (void)snprintf(path, size, "%s%s%s", root, folder, name);
        f = fopen(path, "re");
    }
    free(path);
    return f;
}

/* Whether `word` is one of the words in the comma-separated list. */
static bool list_has(const char *list, const char *word) {
    size_t length = strlen(word);
    while (*list != '\0') {
        size_t n = strcspn(list, ",");
        if (n == length && memcmp(list, word, n) == 0) {
            return true;
        }
        list += n;
        list += *list == ',';
    }
    return false;
}

/*
 * Finds the group's path in /proc/self/cgroup ("ID:CONTROLLERS:PATH"), and cuts a slash at its end
 * off.
 */
static bool find_group(const char *root, bool v2, char group[PATH_SIZE]) {
    FILE *f = open_below(root, "/proc/self", "/cgroup");
    bool found = false;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while (f && !found && (length = getline(&line, &room, f)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = !controllers ? NULL : strchr(controllers + 1, ':');
        if (!path) {
            continue;
        }
        *controllers++ = '\0';
        *path++ = '\0';
        bool ours =
            v2 ? strcmp(line, "0") == 0 && *controllers == '\0' : list_has(controllers, "cpu");
        size_t n = strlen(path);
        if (!ours || n >= PATH_SIZE || path[0] != '/') {
            continue;
        }
        memcpy(group, path, n + 1);
        while (n > 0 && group[n - 1] == '/') {
            group[--n] = '\0';
        }
        found = true;
    }
    free(line);
    if (f) {
        fclose(f);
    }
    return found;
}

/* Decodes \ooo, as which mountinfo writes space, tab, newline and backslash. */
static void unescape(char *text) {
    char *out = text;
    while (*text != '\0') {
        if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
            text[2] <= '7' && text[3] >= '0' && text[3] <= '7') {
            *out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

/* Whether the first component is "..", not just a name that begins so. */
static bool goes_up(const char *path) {
    return strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0');
}

/*
 * The rest of `group` below the mounted part `part`; NULL when the part does not hold the group.
 * A part above the process's cgroup namespace shows as "/..": the group's path from there is not
 * known, but that part's own limit holds for it.
 */
static const char *below_part(const char *group, const char *part) {
    size_t n = strlen(part);
    while (n > 0 && part[n - 1] == '/') {
        n--;
    }
    if (goes_up(part) && !goes_up(group)) {
        return "";
    }
    if (strncmp(group, part, n) != 0 || (group[n] != '/' && group[n] != '\0')) {
        return NULL;
    }
    return goes_up(group + n) ? NULL : group + n;
}

/*
 * Reads a line of mountinfo: "ID PARENT MAJOR:MINOR PART MOUNTPOINT OPTIONS [TAGS...] - TYPE SOURCE
 * SUPEROPTIONS". True when it mounts a hierarchy of the wanted kind.
 */
static bool parse_mount(char *line, bool v2, char **part, char **mount) {
    char *rest;
    char *dash = strstr(line, " - ");
    if (!dash) {
        return false;
    }
    *dash = '\0';
    char *type = strtok_r(dash + 3, " \n", &rest);
    strtok_r(NULL, " \n", &rest);
    char *options = strtok_r(NULL, " \n", &rest);
    if (!type || strcmp(type, v2 ? "cgroup2" : "cgroup") != 0) {
        return false;
    }
    if (!v2 && (!options || !list_has(options, "cpu"))) {
        return false;
    }

    char *field = strtok_r(line, " ", &rest);
    for (int i = 0; i < 3 && field; i++) {
        field = strtok_r(NULL, " ", &rest);
    }
    *part = field;
    *mount = !field ? NULL : strtok_r(NULL, " ", &rest);
    if (!*mount) {
        return false;
    }
    unescape(*part);
    unescape(*mount);
    return true;
}

static bool find_place(const char *root, bool v2, place *found) {
    char *group = malloc(PATH_SIZE);
    bool ok = false;
    FILE *f = NULL;
    if (group && find_group(root, v2, group)) {
        f = open_below(root, "/proc/self", "/mountinfo");
    }
    char *line = NULL;
    size_t room = 0;
    while (f && !ok && getline(&line, &room, f) > 0) {
        char *part, *mount;
        if (!parse_mount(line, v2, &part, &mount) || strlen(mount) >= PATH_SIZE) {
            continue;
        }
        const char *below = below_part(group, part);
        if (!below) {
            continue;
        }
        strcpy(found->mount, mount);
        strcpy(found->group, below);
        ok = true;
    }
    free(line);
    free(group);
    if (f) {
        fclose(f);
    }
    return ok;
}

/* Reads the first line of folder + name. */
static bool read_line(const char *root, const char *folder, const char *name, char *text,
                      int size) {
    FILE *f = open_below(root, folder, name);
    if (!f) {
        return false;
    }
    bool ok = fgets(text, size, f) != NULL;
    fclose(f);
    return ok;
}

/*
 * Reads a positive number and the blanks behind it; *rest is the following text. 0: there is
 * none.
 */
static uint64_t positive(const char *text, const char **rest) {
    if (*text < '0' || *text > '9') {
        return 0;
    }
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || (*end != ' ' && *end != '\n' && *end != '\0')) {
        return 0;
    }
    *rest = end + strspn(end, " \n");
    return value;
}

/* The quota of one group in CPUs, rounded up. */
static unsigned quota_at(const char *root, const char *folder, bool v2) {
    char text[128], period_text[128];
    const char *rest = NULL;
    uint64_t quota = 0, period = 0;
    if (v2) {
        if (read_line(root, folder, "/cpu.max", text, sizeof text)) {
            quota = positive(text, &rest);
        }
        if (quota > 0) {
            period = positive(rest, &rest);
        }
    } else if (read_line(root, folder, "/cpu.cfs_quota_us", text, sizeof text) &&
               read_line(root, folder, "/cpu.cfs_period_us", period_text, sizeof period_text)) {
        quota = positive(text, &rest);
        period = positive(period_text, &rest);
    }
    if (quota == 0 || period == 0 || *rest != '\0') {
        return NO_LIMIT;
    }
    uint64_t cpus = quota / period + (quota % period != 0);
    return cpus < NO_LIMIT ? (unsigned)cpus : NO_LIMIT;
}
