/*
 * say.h: the server's messages on stderr.
 */
#ifndef HTTPD_SAY_H
#define HTTPD_SAY_H

/*
 * Says a line, if it is taken at once. On a pipe that is full, since nobody reads it, it is lost:
 * it would hold up a worker, and keep the server from ending.
 */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

#endif
