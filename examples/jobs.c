/*
 * jobs.c: runs shell commands, some at a time, and prints each one's whole output in order.
 *
 *     jobs [-j N] [-k] [FILE]
 *
 * reads a command a line from FILE, or from its input. N of them run at a time (as many as there
 * are processors). After a failure no further command is begun, and running ones end, unless -k is
 * given; then the status is 1. Ctrl-C kills all running commands, with the processes in their
 * groups, and the status is 130.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum { LINE_BYTES = 64 * 1024, OUTPUT_BYTES = 64 * 1024 * 1024 };

typedef struct jobs {
    unsigned at_a_time;
    bool keep_going;
    const char *file;
    thrum_sem places; /* for commands that run */
    thrum_tickets order;
    thrum_scope scope; /* the reader and all commands */
    atomic_bool failed;
    atomic_int signal; /* that has ended us, or 0 */
} jobs;

typedef struct job {
    jobs *all;
    thrum_ticket turn; /* to print */
    char command[];
} job;

/* ---- a command ---- */

static void print(const thrum_process_output *output) {
    if (thrum_stream_write(thrum_stdout(), output->out, output->out_size) < 0) {
        fprintf(stderr, "jobs: the output cannot be written\n");
    }
}

/* Runs the command: 0, or the code of the failure to start it. */
static int run_command(job *j, thrum_process_output *output) {
    const char *const argv[] = {"sh", "-c", j->command, NULL};
    thrum_process_options options = THRUM_PROCESS_OPTIONS_INIT;
    options.streams[2].kind = THRUM_PROCESS_OUTPUT;
    options.output_max = OUTPUT_BYTES;
    int err = thrum_process_run(argv, &options, NULL, 0, output, THRUM_FOREVER);
    if (err != 0 || output->status.code != 0) {
        atomic_store(&j->all->failed, true);
    }
    thrum_sem_post(&j->all->places);
    return err;
}

static void complain(const job *j, int err, const thrum_process_status *status) {
    if (err != 0) {
        fprintf(stderr, "jobs: %s: %s\n", j->command, thrum_strerror(err));
    } else if (status->signal != 0) {
        fprintf(stderr, "jobs: %s: ended by signal %d\n", j->command, status->signal);
    } else if (status->code != 0) {
        fprintf(stderr, "jobs: %s: status %d\n", j->command, status->code);
    }
}

static int job_main(void *arg) {
    job *j = arg;
    thrum_process_output output;
    int err = run_command(j, &output);
    if (err != -ECANCELED && thrum_ticket_wait(&j->turn) == 0) {
        print(&output);
        complain(j, err, &output.status);
    }
    thrum_process_output_free(&output);
    thrum_ticket_done(&j->turn);
    free(j);
    return 0; /* a failure would cancel the others */
}

/* ---- reading commands ---- */

static int begin_job(jobs *all, const char *line, size_t length) {
    job *j = malloc(sizeof *j + length + 1);
    if (!j) {
        thrum_sem_post(&all->places);
        return -ENOMEM;
    }
    j->all = all;
    memcpy(j->command, line, length + 1);
    thrum_tickets_take(&all->order, &j->turn);
    int err = thrum_scope_go(&all->scope, job_main, j);
    if (err != 0) {
        thrum_ticket_done(&j->turn);
        thrum_sem_post(&all->places);
        free(j);
    }
    return err;
}

static int read_jobs(jobs *all, thrum_stream *input) {
    char *line = malloc(LINE_BYTES);
    int64_t n = !line ? -ENOMEM : 0;
    while (n >= 0) {
        n = thrum_sem_wait(&all->places); /* first: failures in the meantime are known then */
        if (n == 0 && atomic_load(&all->failed) && !all->keep_going) {
            n = -ENODATA;
        }
        if (n == 0) {
            n = thrum_stream_read_line(input, line, LINE_BYTES);
        }
        if (n >= 0) {
            n = begin_job(all, line, (size_t)n);
        }
    }
    free(line);
    return n == -ENODATA || n == -ECANCELED ? 0 : (int)n;
}

static int read_file(jobs *all) {
    thrum_stream stream;
    thrum_io io;
    int fd = open(all->file, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -errno : thrum_io_adopt_shared(&io, fd);
    if (fd >= 0) {
        close(fd);
    }
    if (err == 0 && (err = thrum_stream_open(&stream, io, NULL)) == 0) {
        err = read_jobs(all, &stream);
        thrum_stream_close(&stream);
    }
    return err;
}

static int reader_main(void *arg) {
    jobs *all = arg;
    int err = all->file ? read_file(all) : read_jobs(all, thrum_stdin());
    if (err != 0) {
        fprintf(stderr, "jobs: %s\n", thrum_strerror(err));
        atomic_store(&all->failed, true);
    }
    return 0;
}

/* ---- all of it ---- */

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

/* Ends the rest at a signal; it is cancelled itself when there is no rest. */
static int end_at_signal(void *arg) {
    jobs *all = arg;
    int number = thrum_signal_wait(ends, 3, THRUM_FOREVER);
    if (number > 0) {
        atomic_store(&all->signal, number);
        thrum_scope_cancel(&all->scope); /* each command that runs is killed with its group */
    }
    return 0;
}

static int run(void *arg) {
    jobs *all = arg;
    thrum_handle *ender;
    /* Before the first command: a signal that ended us would leave it behind. */
    for (int i = 0; i < 3; i++) {
        int caught = thrum_signal_catch(ends[i]);
        if (caught != 0) {
            return caught;
        }
    }
    int err = thrum_scope_open(&all->scope, THRUM_FOREVER);
    if (err != 0) {
        return err;
    }
    err = thrum_spawn(&ender, end_at_signal, all);
    if (err != 0) {
        thrum_scope_cancel(&all->scope);
        (void)!thrum_scope_join(&all->scope);
        return err;
    }
    thrum_scope_go(&all->scope, reader_main, all);
    err = thrum_scope_join(&all->scope);
    thrum_cancel(ender);
    int joined = thrum_join(ender, NULL);
    return err != 0 ? err : joined;
}

static int usage(void) {
    fprintf(stderr, "usage: jobs [-j N] [-k] [FILE]\n");
    return 2;
}

int main(int argc, char **argv) {
    static jobs all = {.order = THRUM_TICKETS_INIT};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int option;
    all.at_a_time = processors > 0 ? (unsigned)processors : 1;
    while ((option = getopt(argc, argv, "j:k")) != -1) {
        if (option == 'k') {
            all.keep_going = true;
        } else if (option != 'j' || (all.at_a_time = (unsigned)strtoul(optarg, NULL, 10)) == 0) {
            return usage();
        }
    }
    if (argc - optind > 1) {
        return usage();
    }
    all.file = argv[optind];
    thrum_sem_init(&all.places, all.at_a_time);
    int err = thrum_run(NULL, run, &all);
    int number = atomic_load(&all.signal);
    return number != 0 ? 128 + number : err != 0 || atomic_load(&all.failed);
}
