/*
 * disk.h: the file systems of a test, one for each simulated host. All of it lies in memory of the
 * engine (E->disk), which neither the end of a host nor the restored data of the program touches,
 * and is empty when a run begins.
 *
 * Each part has the state that programs see (`now`), and the one that a crash leaves for sure
 * (`synced`). A sync makes them equal. Some states between the two are kept as well, since the
 * system may write at any time, in any order. A crash (crash.c) chooses among them:
 *
 *   a page of a file   its contents now, those that were synced, a mixture of these two at a border
 *                      of sectors, or contents between
 *   a file's size      likewise, or any border of pages on the way from the synced size
 *   a directory        for each change of its names, whether it happened
 *
 * Files: memory.c  memory, file systems, nodes that nothing names any longer
 *        bytes.c   the pages and the size of a file
 *        names.c   directories, paths, changes of names
 *        calls.c   the platform's calls (src/platform/file.h)
 *        crash.c   crashes
 */
#ifndef KIT_DISK_H
#define KIT_DISK_H

#include "hosts/hosts.h"
#include "kit.h"
#include "platform/sim/files.h"

#define DISK_PAGE 4096u
#define DISK_SECTOR 512u
#define DISK_PAGES 16384u /* of a file system, and of a file: 64 MiB */
#define DISK_NAME 256u    /* with the zero behind it */
#define DISK_BETWEEN 3u   /* states between the synced one and now, the newest ones */
#define DISK_UNCUT UINT32_MAX

typedef struct disk_node disk_node;

typedef struct disk_page {
    uint8_t *now; /* NULL: zeros; the same address as `synced` if they are equal */
    uint8_t *synced;
    uint8_t *between[DISK_BETWEEN]; /* oldest first */
    uint8_t count;
    bool lost; /* a sync has failed: the next ones leave this page out, and return 0 */
} disk_page;

typedef struct disk_size {
    uint64_t bytes;
    uint32_t cut; /* pages from this one on were cut off since the last sync; DISK_UNCUT: none */
} disk_size;

/* A name in a directory. */
typedef struct disk_entry {
    struct disk_entry *next;
    disk_node *node;
    uint64_t serial; /* in the order in which they came */
    char name[DISK_NAME];
} disk_entry;

/*
 * A name that was set or removed, and is not synced. Changes with the same operation happen
 * together.
 */
typedef struct disk_change {
    struct disk_change *next;
    disk_node *dir;
    disk_node *node; /* NULL: the name is removed */
    uint64_t operation;
    uint64_t needs; /* an operation without which this one has not happened, or 0 */
    bool chosen;
    char name[DISK_NAME];
} disk_change;

struct disk_node {
    disk_node *next; /* of its file system */
    uint64_t number;
    th_os_file_kind kind;
    uint32_t mode;
    uint32_t links; /* names now */
    unsigned opens;
    bool marked;
    int64_t modified, accessed, changed;
    char last_name[DISK_NAME]; /* for reports */

    /* A file. */
    disk_page *pages;
    uint32_t pages_room;
    disk_size now, synced;
    disk_size between[DISK_BETWEEN];
    unsigned count;
    unsigned shared; /* locks */
    bool exclusive;

    /* A directory. */
    disk_node *parent;
    disk_entry *entries;
    disk_entry *entries_synced;

    char *text; /* of a symbolic link */
};

typedef struct disk {
    disk_node *root; /* NULL: the file system is empty and was not used yet */
    disk_node *nodes;
    disk_change *changes, **changes_end; /* oldest first */
    uint64_t numbers, serials, operations;
    uint32_t used; /* pages that are not zeros, now */
} disk;

/* An open file: what descriptors with the same description share. */
struct sim_opened {
    disk *of; /* NULL: it was open when the disk crashed */
    disk_node *node;
    uint32_t flags; /* TH_OS_FILE_FOR_READING, ... */
    uint32_t lock;  /* TH_OS_FILE_LOCK_... */
    int64_t position;
    uint64_t listed; /* the serial number of the last entry that was listed */
};

/* ---- memory.c ---- */

typedef enum { DISK_A_PAGE, DISK_AN_ENTRY, DISK_A_CHANGE, DISK_A_NODE, DISK_AN_OPEN } disk_part;
void *disk_take(disk_part part); /* not cleared */
void disk_give(disk_part part, void *memory);
void *disk_memory(size_t size); /* until the end of the run; not cleared */

disk *disk_of(unsigned host);
disk_node *disk_node_new(disk *d, th_os_file_kind kind, uint32_t mode);
/* Frees nodes that no name, change or open file refers to. */
void disk_collect(disk *d);

/* ---- bytes.c ---- */

int64_t disk_read(disk_node *node, void *to, size_t size, int64_t offset);
int64_t disk_write(disk *d, disk_node *node, const void *from, size_t size, int64_t offset);
int disk_resize(disk *d, disk_node *node, int64_t size);
int disk_allocate(disk *d, disk_node *node, const th_os_file_request *r);
void disk_sync_file(disk_node *node);
/* A sync that fails: no later one writes the pages that were not synced until now. */
void disk_lose_sync(disk_node *node);
bool disk_page_is_synced(const disk_page *page);
/* Makes the page's contents, now and synced, those; it gets the memory, one of the page's own. */
void disk_page_set(disk *d, disk_page *page, uint8_t *contents);

/* ---- names.c ---- */

typedef struct disk_place {
    disk_node *dir;
    disk_node *node;      /* NULL: there is no such name */
    bool folder;          /* a slash follows */
    char name[DISK_NAME]; /* empty: the path ends with a dot, or is the root */
} disk_place;

/* Finds a path; `follow`: a symbolic link's target. 0, also if the last name is missing; a code. */
int disk_find(disk *d, const char *path, bool follow, disk_place *out);
/* The name in the directory is the node from now on, or is removed (NULL). */
void disk_set_name(disk *d, disk_node *dir, const char *name, disk_node *node);
void disk_move_name(disk *d, const disk_place *from, const disk_place *to);
void disk_entry_set(disk *d, disk_entry **list, const char *name, disk_node *node);
void disk_sync_folder(disk *d, const disk_node *dir);

/* ---- crash.c ---- */

/* Crashes the disk of a host: open files are invalid, and what was not synced may be lost. */
void disk_crash(unsigned host);
/* Writes a line into the report. */
void disk_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
