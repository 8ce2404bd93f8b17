/*
 * file.h: files below the server's root: whole, or the part that a Range field asks for, or nothing
 * when the other side has them already (If-Modified-Since).
 *
 * A directory is its index.html. Nothing but regular files is served, and no symbolic link is
 * followed, so none leads out of the root (beneath.h); the root itself may be one.
 */
#ifndef HTTPD_FILE_H
#define HTTPD_FILE_H

struct connection;

/* Answers with the file at the connection's path. */
void file_answer(struct connection *c);

#endif
