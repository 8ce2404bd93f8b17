#!/usr/bin/env python3
"""
thrum-top with processes that answer oddly, or not at all: tests/tools/top/odd.py. Each ends with one line.
"""
import contextlib
import os
import socket
import subprocess
import tempfile
import threading

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "user", "thrum-top")
SCHED = f"odd-{os.getpid()}"  # nobody else has one of that name
NOBODY = "4194304"  # the least number that no process has on any Linux
NAMED = b'[{"sched": "%s", ' % SCHED.encode()
HELLO = NAMED + b'"pid": 1, "version": "0", "now": 1}]\n\0'
METRICS = NAMED + b'"workers": 1, "all": {"tasks_started": 1}, "worker": [{"tasks_started": 1}]}]\n\0'
TOP = NAMED + b'"samples": 0, "function": []}]\n\0'
WHOLE = {"hello": HELLO, "metrics": METRICS, "top": TOP, "waits": b"[]\0", "dump": b"[]\0"}


def top(*arguments, **options):
    return subprocess.run([TOOL, *arguments], stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, check=False, **options)


def await_found(name):
    """Until it is found by its name: one that was held up for some seconds is taken for stopped."""
    while top("--once", "--interval", "0.1", name).returncode != 0:
        pass


def serve(listener, answers):
    """Answers each peer until it leaves; an answer that is not whole is the last one."""
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer, contextlib.suppress(OSError):
            for line in peer.makefile("rb"):
                told = answers.get(line.decode().strip(), b"")
                peer.sendall(told)
                if not told.endswith(b"\0"):
                    break


@contextlib.contextmanager
def served(path, answers):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(4)
    threading.Thread(target=serve, args=(listener, answers), daemon=True).start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        os.unlink(path)


def fails_in_one_line(done):
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 1 and len(lines) == 1 and lines[0].startswith("thrum-top: "), done


def is_not_found(done):
    """What else can be observed is listed: others of the same user's may run."""
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 1 and lines[0].startswith(f"thrum-top: none can be observed as {SCHED} "), done
    assert not any(SCHED in line or NOBODY in line for line in lines[1:]), done


def odd_answers(folder):
    path = os.path.join(folder, "odd")
    with served(path, WHOLE):
        done = top("--once", "--json", "--interval", "0.1", path)
        assert done.returncode == 0 and done.stdout, done
    every = [b"", b"[", b'{"error": "no such request"}\n\0', b'[{"sched": "odd", "worker": 1}]\0']
    more = [b"\0", b"[1]\0", b'[{"sched": []}]\0', b"\xff\0", b"[" * 100000 + b"\0"]
    for request, told in [(r, t) for r in list(WHOLE)[1:] for t in every] + [("metrics", t) for t in more]:
        with served(path, {**WHOLE, request: told}):
            done = top("--once", "--interval", "0.1", path)
            if done.returncode or done.stderr:
                fails_in_one_line(done)


def leftovers(folder):
    """A socket at which nobody listens goes only if it is that of a process that has ended."""
    mine = os.path.join(folder, "thrum")
    os.mkdir(mine, 0o700)
    names = {os.path.join(mine, str(os.getpid())): True, os.path.join(mine, NOBODY): False,
             os.path.join(mine, "other"): True, os.path.join(folder, NOBODY): True}
    for path in names:
        socket.socket(socket.AF_UNIX).bind(path)
        fails_in_one_line(top("--once", path))
    assert {path: os.path.exists(path) for path in names} == names
    for path, stays in names.items():
        if stays:
            os.unlink(path)
    os.rmdir(mine)


def folders_of_others(folder):
    """Where somebody else may put sockets, none is looked at."""
    mine = os.path.join(folder, "thrum")
    for mode in (0o700, 0o777):
        os.mkdir(mine)
        os.chmod(mine, mode)
        with served(os.path.join(mine, NOBODY), WHOLE):
            if mode == 0o700:
                await_found(SCHED)
            else:
                is_not_found(top("--once", "--interval", "0.1", SCHED))
        os.rmdir(mine)


def stopped(folder):
    """One that answers nobody, since it is stopped, does not hide the others for long."""
    mine = os.path.join(folder, "thrum")
    os.mkdir(mine, 0o700)
    deaf = socket.socket(socket.AF_UNIX)
    deaf.bind(os.path.join(mine, "1"))
    deaf.listen(4)
    with served(os.path.join(mine, NOBODY), WHOLE):
        await_found(SCHED)
        done = top("--once", f"{SCHED}-none")
        assert done.returncode == 1 and b"\n         1 " in done.stderr and b": no answer yet" in done.stderr, done
    os.unlink(os.path.join(mine, "1"))
    os.rmdir(mine)


def busy(folder):
    """One whose number is given is waited for, although it does not answer for longer than others may take."""
    mine = os.path.join(folder, "thrum")
    os.mkdir(mine, 0o700)
    listed = threading.Event()

    def answer_late(listener):
        peer, _ = listener.accept()
        with peer:
            for line in peer.makefile("rb"):
                while not listed.is_set():  # a listing gives up on it meanwhile
                    if b"no answer yet" in top("--once", f"{SCHED}-none").stderr:
                        listed.set()
                peer.sendall(WHOLE[line.decode().strip()])

    path = os.path.join(mine, NOBODY)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(4)
    threading.Thread(target=answer_late, args=(listener,), daemon=True).start()
    done = top("--once", "--interval", "0.1", NOBODY)
    assert done.returncode == 0 and done.stdout, done
    listener.close()
    os.unlink(path)
    os.rmdir(mine)


def odd_outputs(folder):
    path = os.path.join(folder, "odd")
    name = '[{"sched": "\u00e9\u4e2d", '.encode()
    named = {k: v.replace(NAMED, name) for k, v in WHOLE.items()}
    with served(path, named):
        done = top("--once", "--interval", "0.1", path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0 and not done.stderr, done
        reads, writes = os.pipe()
        os.close(reads)
        done = top("--once", "--interval", "0.1", path, stdout=writes)
        os.close(writes)
        assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr, done
        with open("/dev/full", "wb") as full:
            fails_in_one_line(top("--once", "--interval", "0.1", path, stdout=full))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        for what in (odd_answers, leftovers, folders_of_others, stopped, busy, odd_outputs):
            what(folder)


if __name__ == "__main__":
    main()
