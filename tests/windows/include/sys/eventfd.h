/* sys/eventfd.h: what tests take of it. */
#include "windows/unix.h"
