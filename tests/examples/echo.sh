#!/bin/sh
# What examples/echo promises: tests/examples/echo.sh BINARY
set -u
[ $# -eq 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
command -v python3 >/dev/null || { echo "left out: no python3" >&2; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/echo-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
failed=0

fail() {
    echo "FAILED: $*" >&2
    failed=1
}

# Many connections at once, each with its own answers; then the end while one of them is idle.
"$1" tcp:127.0.0.1:0 >"$work/out" 2>"$work/err" &
server=$!
until [ -s "$work/out" ]; do
    kill -0 $server 2>/dev/null || break
    sleep 0.01
done
port=$(sed -n 's/^listening at tcp:127\.0\.0\.1:\([0-9][0-9]*\)$/\1/p' "$work/out")
python3 - "$port" $server <<'END' || fail "answers"
import os, signal, socket, sys
guests = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for i in range(100)]
for k in range(3):
    for i, guest in enumerate(guests):
        guest.sendall(b"%d of %d" % (k, i))
    for i, guest in enumerate(guests):
        said = b"%d of %d" % (k, i)
        while said:
            heard = guest.recv(len(said))
            assert heard and said.startswith(heard)
            said = said[len(heard):]
os.kill(int(sys.argv[2]), signal.SIGTERM)
for guest in guests:
    assert guest.recv(1) == b""
END
wait $server
status=$?
[ $status -eq 0 ] || fail "status $status at SIGTERM"
[ ! -s "$work/err" ] || fail "it says: $(head -3 "$work/err")"

# A socket that the system has opened before it was started, as descriptor 3.
python3 - "$1" <<'END' || fail "a socket that it was started with"
import os, signal, socket, subprocess, sys
listener = socket.create_server(("127.0.0.1", 0))
guest = socket.create_connection(listener.getsockname())  # before there is a server
def hand():
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
    os.execv(sys.argv[1], [sys.argv[1], "activation:"])
server = os.fork() or hand()
guest.sendall(b"early")
said = b""
while len(said) < 5:
    said += guest.recv(5)
assert said == b"early"
os.kill(server, signal.SIGTERM)
assert os.waitstatus_to_exitcode(os.waitpid(server, 0)[1]) == 0
END

# A signal that comes while it says that it listens, which it cannot end saying: nobody reads.
python3 - "$1" "$work/socket" <<'END' || fail "a signal before it has said that it listens"
import os, signal, subprocess, sys, time
read, write = os.pipe()
os.set_blocking(write, False)
try:
    while True:
        os.write(write, b"x")
except BlockingIOError:
    os.set_blocking(write, True)
server = subprocess.Popen([sys.argv[1], "unix:" + sys.argv[2]], stdout=write)
os.close(write)
def catches():
    with open(f"/proc/{server.pid}/status") as status:
        caught = next(line for line in status if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> signal.SIGTERM - 1 & 1
while server.poll() is None and not catches():
    time.sleep(0.001)
server.send_signal(signal.SIGTERM)
while os.read(read, 65536):
    pass
assert server.wait() == 0, server.returncode
END

python3 "$(dirname "$0")/bare.py" "$1" HERE || fail "without standard descriptors"

"$1" nowhere >"$work/out" 2>"$work/err" && fail "an address that makes no sense"
grep -q '^echo: ' "$work/err" || fail "no reason given"
exit $failed
