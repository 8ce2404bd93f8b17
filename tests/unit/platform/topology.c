/*
 * The worker count: affinity and cgroup quotas, read below a made-up root folder.
 */
/* POSIX: cgroup */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "platform/platform.h"
#include "support/support.h"

static char root[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void drop_root(void) {
    if (root[0] != '\0') {
        nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

static void make_root(void) {
    NOT_BY_POSIX("quotas of CPUs");
    if (root[0] == '\0') {
        atexit(drop_root);
    }
    drop_root();
    strcpy(root, "/tmp/thrum-topology-XXXXXX");
    CHECK(mkdtemp(root) != NULL);
}

/* Writes a file below the root, with all folders on its way. */
__attribute__((format(printf, 2, 3))) static void put(const char *path, const char *format, ...) {
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *p = whole + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(whole, 0777);
        *p = '/';
    }
    FILE *f = fopen(whole, "w");
    CHECK(f != NULL);
    va_list args;
    va_start(args, format);
    vfprintf(f, format, args);
    va_end(args);
    fclose(f);
}

#define V2_AT_ROOT                                                                                 \
    "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_AT_ROOT                                                                                 \
    "31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"                            \
    "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"           \
    "33 30 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
#define OTHER_MOUNTS                                                                               \
    "20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"                                               \
    "21 20 0:5 / /proc rw master:2 propagate_from:1 - proc proc rw\n"

TEST(without_cgroups_the_affinity_counts) {
    /* With no /proc and no /sys only the mask counts; an empty mask still gives one worker. */
    CHECK_EQ(th_os_cpus_at("/nonexistent", 7), 7);
    CHECK_EQ(th_os_cpus_at("/nonexistent", 0), 1);
}

TEST(v2_quota_is_rounded_up) {
    /* One and a half CPUs give two workers; the affinity still limits. */
    make_root();
    put("/proc/self/cgroup", "0::/app\n");
    put("/proc/self/mountinfo", OTHER_MOUNTS V2_AT_ROOT);
    put("/sys/fs/cgroup/app/cpu.max", "150000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 8), 2);
    CHECK_EQ(th_os_cpus_at(root, 1), 1);
    put("/sys/fs/cgroup/app/cpu.max", "200000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 8), 2);
    put("/sys/fs/cgroup/app/cpu.max", "200001 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 8), 3);
    put("/sys/fs/cgroup/app/cpu.max", "1 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 8), 1);
    put("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 8), 8);
}

TEST(v2_every_ancestor_limits) {
    /* The least of all groups on the way up counts, wherever it stands. */
    make_root();
    put("/proc/self/cgroup", "0::/a/b/c\n");
    put("/proc/self/mountinfo", V2_AT_ROOT);
    put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "500000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 64), 5);
    put("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 64), 3);
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 64), 2);
    put("/sys/fs/cgroup/a/b/c/cpu.max", "10000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 64), 1);
    put("/sys/fs/cgroup/a/x/cpu.max", "1 100000\n"); /* another group's */
    put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 64), 2);
}

TEST(v1_every_ancestor_limits) {
    /* Among several hierarchies the one of the cpu controller counts. */
    make_root();
    put("/proc/self/cgroup",
        "5:memory:/m\n4:cpuset:/wrong\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/\n");
    put("/proc/self/mountinfo", OTHER_MOUNTS V1_AT_ROOT);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 16);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "250000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 3);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "50000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 1);
    put("/sys/fs/cgroup/cpuset/wrong/cpu.cfs_quota_us", "1\n");
}

TEST(both_versions_at_once) {
    /* On a hybrid system the lower of the two counts. */
    make_root();
    put("/proc/self/cgroup", "3:cpu,cpuacct:/a\n0::/u\n");
    put("/proc/self/mountinfo",
        V1_AT_ROOT "40 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 4);
    put("/sys/fs/cgroup/unified/u/cpu.max", "300000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 3);
}

TEST(container_that_sees_its_own_part) {
    /* Only a subtree is mounted: paths are read relative to it, up to where it ends. */
    make_root();
    put("/proc/self/cgroup", "0::/docker/abc/inner\n");
    put("/proc/self/mountinfo", "30 20 0:26 /docker/ab /other rw - cgroup2 cgroup2 rw\n"
                                "31 20 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/other/cpu.max", "100000 100000\n"); /* a neighbour with a similar name */
    put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 4);
    put("/sys/fs/cgroup/inner/cpu.max", "200000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 2);
    put("/proc/self/cgroup", "0::/docker/abc\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 4);
}

TEST(mounts_seen_from_a_cgroup_namespace) {
    /* A part above the namespace's root holds for all of it; a group beyond it is unknown. */
    make_root();
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", "31 20 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 3);
    put("/proc/self/cgroup", "0::/../sibling\n");
    put("/proc/self/mountinfo", V2_AT_ROOT);
    CHECK_EQ(th_os_cpus_at(root, 16), 16);
}

TEST(group_whose_name_begins_with_two_points) {
    /* "..x" is a name, not a step upwards: below the root, below a group, and as a mounted part. */
    make_root();
    put("/proc/self/cgroup", "0::/..x\n");
    put("/proc/self/mountinfo", V2_AT_ROOT);
    put("/sys/fs/cgroup/..x/cpu.max", "200000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 2);
    put("/proc/self/cgroup", "0::/..x/..y\n");
    put("/sys/fs/cgroup/..x/..y/cpu.max", "100000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 1);
    put("/proc/self/mountinfo", "31 20 0:26 /..x /part rw - cgroup2 cgroup2 rw\n");
    put("/part/..y/cpu.max", "300000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 3);
    put("/proc/self/cgroup", "0::/other\n"); /* not within that part */
    CHECK_EQ(th_os_cpus_at(root, 16), 16);
}

TEST(group_at_the_root_of_the_mount) {
    /* "/" is a group like any other. */
    make_root();
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", V2_AT_ROOT);
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 2);
}

TEST(mount_point_with_a_space) {
    /* mountinfo escapes the space. */
    make_root();
    put("/proc/self/cgroup", "0::/a b:c\n");
    put("/proc/self/mountinfo", "31 20 0:26 / /my\\040cgroups rw - cgroup2 cgroup2 rw\n");
    put("/my cgroups/a b:c/cpu.max", "200000 100000\n");
    CHECK_EQ(th_os_cpus_at(root, 16), 2);
}

TEST(garbage_is_no_limit) {
    /* What cannot be read as two positive numbers is ignored, and the result is never zero. */
    static const char *const lines[] = {
        "",
        "\n",
        "0 100000",
        "100000 0",
        "100000",
        "-5 100000",
        "x y",
        "100000 x",
        "100000 100000 7",
        "1e5 100000",
        " 1 1",
        "0x10 1",
        "1 -1",
        "99999999999999999999999 1",
        "max",
        "100000,100",
        "18446744073709551615 1",
    };
    make_root();
    put("/proc/self/cgroup", "garbage\n:\n::\n0:\n0::\n0::/app\n");
    put("/proc/self/mountinfo", "\n - \n1 2 - cgroup2\n1 - cgroup2 x rw\n1 2 3 - cgroup2 x rw\n"
                                "1 2 3 4 - cgroup2 x rw\n" V2_AT_ROOT);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        put("/sys/fs/cgroup/app/cpu.max", "%s", lines[i]);
        CHECK_EQ(th_os_cpus_at(root, 5), 5);
    }
    put("/sys/fs/cgroup/app/cpu.max", "300000 100000"); /* no newline is fine */
    CHECK_EQ(th_os_cpus_at(root, 5), 3);
}

TEST(long_paths_do_no_harm) {
    /* A group's path beyond any limit is ignored. */
    make_root();
    char *path = malloc(20001);
    memset(path, 'x', 20000);
    path[20000] = '\0';
    put("/proc/self/cgroup", "0::/%s\n", path);
    put("/proc/self/mountinfo", V2_AT_ROOT);
    CHECK_EQ(th_os_cpus_at(root, 5), 5);
    put("/proc/self/cgroup", "0::/%.5000s\n", path);
    put("/sys/fs/cgroup/cpu.max", "300000 100000");
    CHECK_EQ(th_os_cpus_at(root, 5), 3); /* the folder is not there, but its ancestor is */
    free(path);
}

TEST(this_machine_has_a_count) {
    /* It reads the real /proc and /sys. */
    CHECK_EQ(thrum_cpus_granted(), th_os_cpus());
    CHECK(th_os_cpus() >= 1);
    CHECK(th_os_cpus() <= (unsigned)sysconf(_SC_NPROCESSORS_CONF));
}
