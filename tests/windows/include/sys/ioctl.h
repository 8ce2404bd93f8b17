/* sys/ioctl.h: what tests take of it. */
#include "windows/unix.h"
