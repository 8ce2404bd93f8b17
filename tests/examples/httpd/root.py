"""The files that are served, and those that must not be."""

import os
import socket

from talk import BIG, HUGE, ROOT, WORK


def make_root():
    def put(name, content):
        with open(os.path.join(ROOT, name), "wb") as file:
            file.write(content)

    os.makedirs(os.path.join(ROOT, "sub"))
    put("a.txt", b"a text\n")
    os.utime(os.path.join(ROOT, "a.txt"), (784111777, 784111777))
    put("big", BIG)
    for name in ("empty", "page.html", "i.PNG", ".hidden", "sub/.hidden"):
        put(name, b"")
    for size in (8191, 8192, 8193):
        put(f"size-{size}", b"s" * size)
    put("sub/index.html", b"an index\n")
    put("with space%é", b"odd\n")
    put("huge", b"")
    os.truncate(os.path.join(ROOT, "huge"), HUGE)
    put("shut", b"")
    os.chmod(os.path.join(ROOT, "shut"), 0)
    os.mkdir(os.path.join(WORK, "beside"))
    for place in (WORK, os.path.join(WORK, "beside")):
        with open(os.path.join(place, "secret"), "w") as file:
            file.write("secret\n")
    for link, to in (("out", "../secret"), ("outside", "../beside"), ("loop", "loop"), ("near", "sub"),
                     ("absolute", os.path.join(WORK, "secret")), ("sub/pointed", "../../secret")):
        os.symlink(to, os.path.join(ROOT, link))
    os.mkfifo(os.path.join(ROOT, "pipe"))
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(ROOT)
        listener.bind("socket")
        os.chdir(here)
