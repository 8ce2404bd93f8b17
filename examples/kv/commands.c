/*
 * commands.c: the table of commands.
 */
#include "command.h"

static const struct command commands[] = {
    /* The first ones are found soonest. */
    {"get", 2, 2, command_get},
    {"set", 3, ARGUMENTS_MAX, command_set},
    {"incr", 2, 2, command_incr},
    {"mget", 2, ARGUMENTS_MAX, command_mget},
    {"mset", 3, ARGUMENTS_MAX, command_mset},
    {"del", 2, ARGUMENTS_MAX, command_del},
    {"exists", 2, ARGUMENTS_MAX, command_exists},
    {"ping", 1, 2, command_ping},
    {"decr", 2, 2, command_decr},
    {"incrby", 3, 3, command_incrby},
    {"decrby", 3, 3, command_decrby},
    {"expire", 3, 3, command_expire},
    {"pexpire", 3, 3, command_pexpire},
    {"ttl", 2, 2, command_ttl},
    {"pttl", 2, 2, command_pttl},
    {"persist", 2, 2, command_persist},
    {"echo", 2, 2, command_echo},
    {"dbsize", 1, 1, command_dbsize},
    {"flushall", 1, 2, command_flushall},
    {"command", 1, ARGUMENTS_MAX, command_command},
    {"config", 2, ARGUMENTS_MAX, command_config},
    {"client", 2, ARGUMENTS_MAX, command_client},
    {"hello", 1, ARGUMENTS_MAX, command_hello},
    {"info", 1, ARGUMENTS_MAX, command_info},
    {"select", 2, 2, command_select},
    {"quit", 1, 1, command_quit},
};

void command_run(struct session *s) {
    const struct command *command = command_find(s, commands, sizeof commands / sizeof commands[0]);
    if (command) {
        command->run(s);
    }
}
