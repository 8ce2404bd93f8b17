/* sys/wait.h: in check.h, for tests that fork, which end where they come to it. */
