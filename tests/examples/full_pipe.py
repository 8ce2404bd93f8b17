"""A pipe in which nothing more has room, for what a server says on stderr and nobody reads."""
import os


def full_pipe():
    """Its two ends: where it would be read, and where a write waits for ever."""
    out, into = os.pipe()
    os.set_blocking(into, False)
    try:
        while True:
            os.write(into, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(into, True)
    return out, into
