/*
 * watch_path.c: watched paths, by ReadDirectoryChangesW.
 *
 * For a file its directory is watched, and changes of other names are ignored; likewise the parent
 * of a directory is watched for the directory's own name. The system does not report whether a
 * removed name was a directory, nor whether bytes were written or attributes changed. So a watch
 * has up to four *requests*, each with its own handle, for different changes. The reports of two
 * requests have no order.
 *
 * All requests are made by one thread, the *teller*, which begins with the first watcher and stays:
 * the system may cancel a thread's requests when that ends. It alone frees a request, as it comes
 * to it: it is sent a new one by the port at which requests end, and one that has begun ends there
 * when its handle is closed. So nothing has to be sent for an end, which could be refused. Handles
 * are closed by whoever ends a watch, so that from then on nothing holds its directory.
 */
#include "platform/windows/file/watch.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <wchar.h>

#include "platform/faults.h"

#define ASKED 16384u /* bytes of changes that the system keeps meanwhile, for each request */
#define NAME_BYTES (3u * 256u)

static const DWORD filters[TH_WATCH_KINDS] = {
    [TH_WATCH_NAMES] =
        FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_LAST_WRITE | FILE_NOTIFY_CHANGE_SIZE,
    [TH_WATCH_FOLDERS] = FILE_NOTIFY_CHANGE_DIR_NAME,
    [TH_WATCH_ATTRIBUTES] = FILE_NOTIFY_CHANGE_ATTRIBUTES | FILE_NOTIFY_CHANGE_SECURITY,
    [TH_WATCH_ITSELF] = FILE_NOTIFY_CHANGE_DIR_NAME,
};

/* The caller that begins a request waits for this. */
typedef struct beginning {
    HANDLE done;
    int code;
} beginning;

/* The teller's, once it has been sent. The handle is there until it is over. */
typedef struct th_file_watch_request {
    OVERLAPPED overlapped;
    th_file_watched *of;
    int kind;
    HANDLE handle;
    beginning *beginning;
    bool over;      /* the handle is closed; with the lock of the watcher */
    uint32_t moved; /* the rename whose new name is to come; 0: none */
    _Alignas(8) char changes[ASKED];
} th_file_watch_request;

static HANDLE port; /* of the teller */

/* ---- ends ---- */

/* With the lock of its watcher. The teller, which has it or is about to have it, frees it. */
static void let_go(th_file_watch_request *q) {
    (void)CancelIoEx(q->handle, NULL);
    CloseHandle(q->handle);
    q->over = true;
}

void th_file_watch_drop(th_file_watched *w) {
    (void)TH_UNLINK(&w->of->watches, w, next);
    w->ended = true;
    for (int i = 0; i < TH_WATCH_KINDS; i++) {
        if (w->asked[i]) {
            let_go(w->asked[i]);
        }
    }
}

/* Adds changes that were requested, and changes that are always reported. */
static void add_asked(const th_file_watched *w, uint32_t what, uint32_t pair, const char *name,
                      bool folder) {
    if (w->what & what) {
        th_file_watcher_add(w->of, w->number, what | (folder ? TH_OS_WATCH_DIRECTORY : 0), pair,
                            name);
    }
}

static void end(th_file_watched *w, uint32_t why) {
    add_asked(w, why, 0, "", false);
    th_file_watcher_add(w->of, w->number, TH_OS_WATCH_ENDED, 0, "");
    th_file_watch_drop(w);
}

/* By the teller, with the lock of the watcher, which is given back: a request that is over. */
static void request_free(th_file_watch_request *q) {
    th_file_watched *w = q->of;
    th_file_watcher *r = w->of;
    th_os_free(q);
    if (--w->requests) {
        ReleaseSRWLockExclusive(&r->lock);
        return;
    }
    if (!w->ended) { /* its first request was refused: it never was */
        th_file_watch_drop(w);
    }
    th_os_free(w);
    th_file_watcher_leave(r);
}

/* ---- changes ---- */

/* In UTF-8, with zeroes behind it. */
static void name_of(const FILE_NOTIFY_INFORMATION *change, char out[NAME_BYTES + 4]) {
    const int words = (int)(change->FileNameLength / sizeof(wchar_t));
    memset(out, 0, NAME_BYTES + 4);
    (void)WideCharToMultiByte(CP_UTF8, 0, change->FileName, words, out, NAME_BYTES, NULL, NULL);
}

static bool is_about(const th_file_watched *w, const FILE_NOTIFY_INFORMATION *change) {
    const int words = (int)(change->FileNameLength / sizeof(wchar_t));
    return CompareStringOrdinal(change->FileName, words, w->name, -1, TRUE) == CSTR_EQUAL;
}

/*
 * For the watched file itself, among the changes of its directory. A file that gets its name by a
 * rename takes its place; if the system reports only an old name, it has gone elsewhere.
 */
static void look_at_itself(th_file_watch_request *q, th_file_watched *w,
                           const FILE_NOTIFY_INFORMATION *change) {
    const DWORD action = change->Action;
    const bool about = is_about(w, change);
    const size_t words = change->FileNameLength / sizeof(wchar_t);
    if (action == FILE_ACTION_RENAMED_NEW_NAME && q->moved && words < MAX_PATH) {
        memcpy(w->name, change->FileName, words * sizeof(wchar_t));
        w->name[words] = 0;
        q->moved = 0;
    } else if (about && (action == FILE_ACTION_REMOVED || action == FILE_ACTION_RENAMED_NEW_NAME)) {
        end(w, TH_OS_WATCH_SELF_DELETED);
    } else if (action == FILE_ACTION_RENAMED_OLD_NAME) {
        q->moved = about; /* a new name that never came, or was lost, is not to come now */
        if (about) {
            add_asked(w, TH_OS_WATCH_SELF_MOVED, 0, "", false);
        }
    } else if (about && action == FILE_ACTION_MODIFIED) {
        add_asked(w, q->kind == TH_WATCH_ATTRIBUTES ? TH_OS_WATCH_ATTRIBUTES : TH_OS_WATCH_MODIFIED,
                  0, "", false);
    }
}

static void look_at_folder(th_file_watch_request *q, const th_file_watched *w,
                           const FILE_NOTIFY_INFORMATION *change) {
    char name[NAME_BYTES + 4];
    const bool folder = q->kind == TH_WATCH_FOLDERS;
    name_of(change, name);
    switch (change->Action) {
    case FILE_ACTION_ADDED:
        add_asked(w, TH_OS_WATCH_CREATED, 0, name, folder);
        break;
    case FILE_ACTION_REMOVED:
        add_asked(w, TH_OS_WATCH_DELETED, 0, name, folder);
        break;
    case FILE_ACTION_RENAMED_OLD_NAME:
        q->moved = ++w->of->pairs ? w->of->pairs : ++w->of->pairs; /* 0 is no pair's */
        add_asked(w, TH_OS_WATCH_MOVED_FROM, q->moved, name, folder);
        break;
    case FILE_ACTION_RENAMED_NEW_NAME:
        add_asked(w, TH_OS_WATCH_MOVED_TO, q->moved, name, folder);
        q->moved = 0;
        break;
    default:
        add_asked(w, q->kind == TH_WATCH_ATTRIBUTES ? TH_OS_WATCH_ATTRIBUTES : TH_OS_WATCH_MODIFIED,
                  0, name, false);
        break;
    }
}

/* The changes from the system, so many bytes; 0: there were too many. */
static void look_at_all(th_file_watch_request *q, th_file_watched *w, DWORD size) {
    const char *at = q->changes;
    const char *past = q->changes + size;
    if (!size) {
        q->moved = 0;
        th_file_watcher_add(w->of, -1, TH_OS_WATCH_OVERFLOW, 0, "");
        return;
    }
    while (at < past && !w->ended) {
        const FILE_NOTIFY_INFORMATION *change = (const void *)at;
        if (!w->is_folder || q->kind == TH_WATCH_ITSELF) {
            look_at_itself(q, w, change);
        } else if (change->FileNameLength) { /* else it is about the directory itself */
            look_at_folder(q, w, change);
        }
        at = change->NextEntryOffset ? at + change->NextEntryOffset : past;
    }
}

/* ---- the teller ---- */

/* With the lock of the watcher: requests the next changes. A code: nothing will be reported. */
static int ask(th_file_watch_request *q) {
    const int fault = th_os_fails_with(TH_OS_FAULT_WATCH);
    if (q->over || fault) {
        return fault ? fault : -EBADF;
    }
    q->overlapped = (OVERLAPPED){.hEvent = NULL};
    return ReadDirectoryChangesW(q->handle, q->changes, ASKED, FALSE, filters[q->kind], NULL,
                                 &q->overlapped, NULL)
               ? 0
               : th_nt_code();
}

/* Begins a request; it is dropped if it cannot begin, or if its watch has ended meanwhile. */
static void on_begin(th_file_watch_request *q) {
    th_file_watched *w = q->of;
    th_file_watcher *r = w->of;
    beginning *b = q->beginning;
    AcquireSRWLockExclusive(&r->lock);
    b->code = ask(q);
    if (!b->code) {
        ReleaseSRWLockExclusive(&r->lock);
    } else {
        if (!q->over) {
            w->asked[q->kind] = NULL;
            let_go(q);
        }
        request_free(q);
    }
    SetEvent(b->done); /* it is gone from here on */
}

/*
 * It has ended. The system reports the absence of a directory by an error (access is denied), also
 * for the next one.
 */
static void on_end(th_file_watch_request *q, DWORD error, DWORD size) {
    th_file_watched *w = q->of;
    th_file_watcher *r = w->of;
    AcquireSRWLockExclusive(&r->lock);
    if (!w->ended && !q->over && !error) {
        look_at_all(q, w, size);
    }
    if (!w->ended && !q->over) {
        const int code = error ? -th_nt_errno(error) : ask(q);
        if (code) {
            end(w, code == -EACCES && w->is_folder ? TH_OS_WATCH_SELF_DELETED : 0);
        }
    }
    if (q->over) {
        request_free(q);
    } else {
        ReleaseSRWLockExclusive(&r->lock);
    }
}

static DWORD WINAPI tell_all(void *arg) {
    (void)arg;
    for (;;) {
        DWORD size = 0;
        ULONG_PTR key = 0;
        OVERLAPPED *overlapped = NULL;
        const bool done = GetQueuedCompletionStatus(port, &size, &key, &overlapped, INFINITE);
        if (overlapped) {
            on_end((th_file_watch_request *)(void *)((char *)overlapped -
                                                     offsetof(th_file_watch_request, overlapped)),
                   done ? ERROR_SUCCESS : GetLastError(), size);
        } else if (done) {
            on_begin((th_file_watch_request *)key);
        }
    }
    return 0;
}

static BOOL CALLBACK begin_teller(INIT_ONCE *once, void *arg, void **context) {
    (void)once, (void)arg, (void)context;
    port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
    HANDLE thread = port ? CreateThread(NULL, 65536, tell_all, NULL, 0, NULL) : NULL;
    if (port && !thread) {
        const DWORD error = GetLastError();
        CloseHandle(port);
        SetLastError(error);
    }
    return thread && CloseHandle(thread);
}

int th_file_watch_begin(void) {
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    return InitOnceExecuteOnce(&once, begin_teller, NULL, NULL) ? 0 : th_nt_code();
}

/* ---- one less ---- */

/* With the watcher's lock: the watch with the number, or NULL. */
static th_file_watched *watch_at(th_file_watcher *r, int number) {
    th_file_watched *w = r->watches;
    while (w && w->number != number) {
        w = w->next;
    }
    return w;
}

int th_os_watch_remove(int fd, int number) {
    th_file_watcher *r = th_file_watcher_hold(fd);
    if (!r) {
        return -EINVAL;
    }
    TH_KEEPS_ERRNO;
    AcquireSRWLockExclusive(&r->lock);
    th_file_watched *w = watch_at(r, number);
    if (w) {
        end(w, 0);
    }
    th_file_watcher_leave(r);
    return w ? 0 : -EINVAL;
}

/* ---- the watched path ---- */

typedef struct place {
    wchar_t path[TH_FILE_PATH_WORDS];   /* its own, from the root */
    wchar_t parent[TH_FILE_PATH_WORDS]; /* its parent directory's */
    wchar_t name[MAX_PATH];             /* there; "": it is in none */
    bool is_folder;
    BY_HANDLE_FILE_INFORMATION known;
} place;

/* The path that it has, links aside, and that one cut in two. */
static int cut(HANDLE file, place *p) {
    const DWORD length =
        GetFinalPathNameByHandleW(file, p->path, TH_FILE_PATH_WORDS, FILE_NAME_NORMALIZED);
    if (!length) {
        return th_nt_code();
    }
    if (length >= TH_FILE_PATH_WORDS) {
        return -ENAMETOOLONG;
    }
    wcscpy(p->parent, p->path);
    wchar_t *last = wcsrchr(p->parent, L'\\');
    if (!last || wcslen(last + 1) >= MAX_PATH) {
        return -ENAMETOOLONG;
    }
    wcscpy(p->name, last + 1);
    last[1] = 0;
    return 0;
}

static int place_of(const char *path, place *p) {
    int code = th_file_path(path, p->path);
    if (code) {
        return code;
    }
    HANDLE file = CreateFileW(p->path, FILE_READ_ATTRIBUTES, TH_FILE_SHARED, NULL, OPEN_EXISTING,
                              FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return th_nt_code();
    }
    code = GetFileInformationByHandle(file, &p->known) ? cut(file, p) : th_nt_code();
    p->is_folder = !code && p->known.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    CloseHandle(file);
    return code;
}

/* ---- one more ---- */

typedef struct adding {
    const place *p;
    uint32_t what;
    int number; /* of the watch; 0: it is to be found or made */
    bool fresh; /* it was made */
    beginning b;
} adding;

static bool is_at(const th_file_watched *w, const place *p) {
    return w->volume == p->known.dwVolumeSerialNumber && w->high == p->known.nFileIndexHigh &&
           w->low == p->known.nFileIndexLow;
}

/* The watch of it, which may be there already; with the watcher's lock. NULL: no memory. */
static th_file_watched *watch_of(th_file_watcher *r, adding *a) {
    const place *p = a->p;
    th_file_watched *w = r->watches;
    while (w && !is_at(w, p)) {
        w = w->next;
    }
    if (!w && (w = th_os_alloc(sizeof *w))) {
        memset(w, 0, sizeof *w);
        wcscpy(w->name, p->name);
        w->is_folder = p->is_folder;
        w->what = a->what;
        w->of = r;
        w->number = ++r->last;
        w->volume = p->known.dwVolumeSerialNumber;
        w->high = p->known.nFileIndexHigh;
        w->low = p->known.nFileIndexLow;
        w->next = r->watches;
        r->watches = w;
        r->users++;
        a->fresh = true;
    }
    return w;
}

static bool is_wanted(int kind, const adding *a) {
    const place *p = a->p;
    const uint32_t names =
        TH_OS_WATCH_CREATED | TH_OS_WATCH_DELETED | TH_OS_WATCH_MOVED_FROM | TH_OS_WATCH_MOVED_TO;
    return kind == TH_WATCH_NAMES ||
           (kind == TH_WATCH_FOLDERS && p->is_folder && a->what & names) ||
           (kind == TH_WATCH_ATTRIBUTES && a->what & TH_OS_WATCH_ATTRIBUTES) ||
           (kind == TH_WATCH_ITSELF && p->is_folder && p->name[0]);
}

/* With the watcher's lock: the request is the teller's now. 0, or a code and there is none. */
static int request_new(th_file_watched *w, int kind, adding *a) {
    const place *p = a->p;
    th_file_watch_request *q = th_os_alloc(sizeof *q);
    if (!q) {
        return -ENOMEM;
    }
    memset(q, 0, offsetof(th_file_watch_request, changes));
    q->of = w;
    q->kind = kind;
    q->beginning = &a->b;
    const bool inside = p->is_folder && kind != TH_WATCH_ITSELF;
    q->handle = CreateFileW(inside ? p->path : p->parent, FILE_LIST_DIRECTORY, TH_FILE_SHARED, NULL,
                            OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OVERLAPPED, NULL);
    if (q->handle == INVALID_HANDLE_VALUE || !CreateIoCompletionPort(q->handle, port, 0, 0) ||
        !PostQueuedCompletionStatus(port, 0, (ULONG_PTR)q, NULL)) {
        const int code = th_nt_code();
        if (q->handle != INVALID_HANDLE_VALUE) {
            CloseHandle(q->handle);
        }
        th_os_free(q);
        return code;
    }
    w->asked[kind] = q;
    w->requests++;
    return 0;
}

/*
 * Begins one of its requests, if it wants it: from then on changes are reported. 0 or a code. A
 * watch that has ended since its first request is not made again: its end is reported.
 */
static int begin_one(th_file_watcher *r, int kind, adding *a) {
    AcquireSRWLockExclusive(&r->lock);
    th_file_watched *w = r->closed ? NULL : a->number ? watch_at(r, a->number) : watch_of(r, a);
    const bool begins = w && !w->asked[kind] && is_wanted(kind, a);
    a->b.code = r->closed ? -EBADF : !w && !a->number ? -ENOMEM : 0;
    a->b.code = begins ? request_new(w, kind, a) : a->b.code;
    const bool waits = begins && !a->b.code;
    if (w && !w->requests) { /* it never was */
        th_file_watch_drop(w);
        th_os_free(w);
        r->users--;
    } else if (w) {
        a->number = w->number;
    }
    ReleaseSRWLockExclusive(&r->lock);
    if (waits) {
        WaitForSingleObject(a->b.done, INFINITE);
    }
    return a->b.code;
}

/* All were begun; or one could not be, and then the watch is not there if it was made for it. */
static void settle(th_file_watcher *r, const adding *a, int code) {
    TH_HOLDS(&r->lock);
    th_file_watched *w = watch_at(r, a->number); /* no watch has the number 0 */
    if (w && !code) {
        w->what = a->what;
    } else if (w && a->fresh) {
        th_file_watch_drop(w);
    }
}

/*
 * A user that may read a directory may perhaps not read its parent: then moves of the directory are
 * not reported, which nobody has requested. Its own requests report its deletion.
 */
static bool is_spared(int kind, int code, uint32_t what) {
    return kind == TH_WATCH_ITSELF && code == -EACCES && !(what & TH_OS_WATCH_SELF_MOVED);
}

/* Its number, or a code. One at a time: a watch that is refused may be no other caller's, too. */
static int begin_all(th_file_watcher *r, const place *p, uint32_t what) {
    adding a = {.p = p, .what = what, .b.done = CreateEventW(NULL, FALSE, FALSE, NULL)};
    if (!a.b.done) {
        return th_nt_code();
    }
    AcquireSRWLockExclusive(&r->adding);
    int kind = 0;
    int code = begin_one(r, kind, &a);
    while (!code && ++kind < TH_WATCH_KINDS) {
        code = begin_one(r, kind, &a);
        code = is_spared(kind, code, what) ? 0 : code;
    }
    settle(r, &a, code);
    ReleaseSRWLockExclusive(&r->adding);
    CloseHandle(a.b.done);
    return code ? code : a.number;
}

int64_t th_file_watch(th_file_request *r) {
    place p;
    th_file_watcher *to = th_file_watcher_hold(r->fd);
    if (!to) {
        return -EINVAL;
    }
    /* The system does not report that a file was closed: a wait for that would never end. */
    int code = place_of(r->path, &p);
    code = !code && r->flags & TH_OS_WATCH_WRITTEN ? -EOPNOTSUPP : code;
    if (!code) {
        code = begin_all(to, &p, r->flags);
    }
    AcquireSRWLockExclusive(&to->lock);
    th_file_watcher_leave(to);
    return code;
}
