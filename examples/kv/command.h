/*
 * command.h: the commands for clients.
 */
#ifndef KV_COMMAND_H
#define KV_COMMAND_H

#include "session.h"

#define COMMAND_NO_MEMORY "OOM command not allowed when used memory > 'maxmemory'."
#define COMMAND_SYNTAX "ERR syntax error"
#define COMMAND_NO_NUMBER "ERR value is not an integer or out of range"

/* How many arguments a command has, its name included. */
struct command {
    const char *name;
    unsigned least, most;
    void (*run)(struct session *s);
};

/*
 * Finds the command of the session's request, which has at least one argument, and makes room for
 * 1 KiB of answers. For an unknown command or a wrong number of arguments it answers with an error
 * and returns NULL. It may suspend.
 */
const struct command *command_find(struct session *s, const struct command *commands, size_t count);

/* Answers the session's request, which has at least one argument. It may suspend. */
void command_run(struct session *s); /* commands.c */

/* Each command: the number of arguments is right, and 1 KiB of answers fits. They may suspend. */
void command_get(struct session *s); /* strings.c */
void command_set(struct session *s);
void command_mget(struct session *s);
void command_mset(struct session *s);
void command_incr(struct session *s); /* counters.c */
void command_decr(struct session *s);
void command_incrby(struct session *s);
void command_decrby(struct session *s);
void command_del(struct session *s); /* keys.c */
void command_exists(struct session *s);
void command_expire(struct session *s);
void command_pexpire(struct session *s);
void command_ttl(struct session *s);
void command_pttl(struct session *s);
void command_persist(struct session *s);
void command_dbsize(struct session *s);
void command_flushall(struct session *s);
void command_ping(struct session *s); /* about.c */
void command_echo(struct session *s);
void command_quit(struct session *s);
void command_select(struct session *s);
void command_hello(struct session *s);
void command_client(struct session *s);
void command_command(struct session *s);
void command_config(struct session *s);
void command_info(struct session *s);

/*
 * Reads an argument as a time from now, in units of so many ns: `*deadline` is the instant, or
 * INT64_MIN if the time is not in the future. Returns 0, or the error to answer with.
 */
const char *command_deadline(struct session *s, unsigned i, thrum_time unit, thrum_time *deadline);

#endif
