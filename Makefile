# Targets for the everyday uses of CMake and the tools. `make help` lists them.

PRESET ?= gcc-release
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
DIR ?= /usr/include
ADDRESS ?= tcp:127.0.0.1:8080
BUILD = build/$(PRESET)

export JOBS

.PHONY: all quick test shake test-windows demo-windows test-full demo serve cluster bench bench-full bench-rows bench-variants bench-servers bench-mpi cores sim stress soak servers fuzz faults mutate models coverage check reference site format amalgamation dist rehearse install clean help

all: ## build the library, the examples, the benchmark and the tests (PRESET=gcc-release)
	@tools/build $(PRESET)

# One policy with two workers, and bound threads without workers; what needs no scheduler; the style.
QUICK = ^(unit|marl)/.*\[(sharded,w2|bound,w0)\]|^unit/[^[]*$$

quick: ## build, and run the unit and marl tests with two workers and with bound threads alone, and the style checks
	@tools/check/style
	@! command -v python3 >/dev/null || tools/check/timing
	@PROGRAMS= tools/run-tests $(PRESET) -LE full -R '$(QUICK)'

test: ## build, and run the tests to pass before a change is handed in: 6 to 9 minutes on two idle cores
	@tools/setup
	@status=0; tools/run-tests $(PRESET) -LE full || status=1; \
		tools/measure/matrix $(PRESET) || status=1; exit $$status

shake: ## repeat tests under five conditions (TESTS="a full name or a regular expression" N=20 CONDITIONS=idle,loaded); tests/README.md
	@tools/setup shake
	@tools/shake -n $(or $(N),1) $(if $(CONDITIONS),-c $(CONDITIONS)) $(if $(TESTS),'$(TESTS)')

test-windows: ## build for Windows by mingw-w64, and run the tests under wine (ALL=1); docs/windows.md
	@tools/run/test-windows

demo-windows: ## build examples for Windows, run them under wine, and talk to two of the servers among them from Linux
	@tools/setup windows
	@tools/run/demo-windows

test-full: ## run every test in every cell of the matrix, those of `make test` in six other builds, and more; takes hours
	@tools/setup ci
	@tools/run-full

demo: ## run treesum over real input, and check it with sha256sum -c (DIR=/usr/include, V=1 for counters)
	@tools/setup
	@tools/build gcc-release treesum
	@examples/treesum-demo build/gcc-release/examples/treesum $(DIR)

serve: ## start httpd, an HTTP server, and print how to talk to it (ADDRESS=tcp:127.0.0.1:8080 DIR=/usr/include)
	@tools/setup httpd
	@tools/build gcc-release httpd
	@examples/httpd-serve build/gcc-release/examples/httpd $(ADDRESS) $(DIR)

cluster: ## search a tree over two MPI ranks on this machine, check its count, and draw what they did (TREE=T3)
	@tools/setup mpi
	@tools/build gcc-release uts
	@tools/run/cluster $(TREE)

bench: ## measure thrum beside its peers, a quarter of an hour or more: bench/results/MACHINE.md, .html, .json (BENCH="--only fib,yield")
	@tools/setup bench
	@tools/build gcc-release thrum-bench
	@bench/peers/build
	@bench/compare.py $(BENCH)

bench-full: ## the same with all rows, some of them with 1 to 8 workers; about an hour
	@$(MAKE) --no-print-directory bench BENCH="--full $(BENCH)"

bench-variants: ## measure thrum's variants against each other, half an hour or more: bench/results/MACHINE-variants.md, .html, .json; bench/study/README.md
	@tools/build gcc-study thrum-bench
	@bench/compare.py --variants $(BENCH)

bench-rows: ## measure thrum alone, row by row, beside its targets (BENCH="--only NAME --runs 5")
	@tools/setup
	@tools/build gcc-release thrum-bench
	@build/gcc-release/bench/thrum-bench $(BENCH)

bench-servers: ## measure servers beside their peers, some twelve minutes: bench/results/MACHINE-servers.md, .html, .json (SECONDS=2 ROUNDS=5)
	@tools/setup bench-servers
	@tools/build gcc-release thrum-bench-servers
	@bench/peers/build servers
	@bench/servers.py $(if $(SECONDS),--seconds $(SECONDS)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(BENCH)

bench-mpi: ## measure what waiting for MPI costs beside MPI's own calls, and a search over ranks (MPI_BENCH="--pairs 9"); bench/README.md
	@tools/setup mpi
	@tools/build gcc-release uts
	@for mpi in openmpi mpich; do ! command -v mpicc.$$mpi >/dev/null || tools/build gcc-release thrum-bench-mpi-$$mpi || exit; done
	@bench/mpi/compare.py $(MPI_BENCH)

cores: ## the rows of many cores on a simulated machine, some 15 minutes: build/cores/report.txt, .html (CORES="--rows fanout"); bench/cores/README.md
	@tools/setup
	@tools/measure/cores $(CORES)

sim: ## run the simulator's worlds (WORLD= SEED= RUNS= MODE= REPLAY=); tests/sim/README.md
	@tools/setup
	@tools/run/sim

stress: ## run all storms at once, cell by cell: STRESS=60, 30m, 8h; tests/storm/README.md
	@tools/setup ci
	@tools/run/stress

soak: ## a long run of a mixed program, watched and drawn: TIME=120, 30m, 2h; tests/soak/README.md
	@tools/setup
	@tools/run/soak

servers: ## attack the example servers, under sanitizers: SERVERS=seconds an attack (5), ONLY="kv resets"; tests/servers/README.md
	@tools/setup ci
	@tools/run/servers

faults: ## run the tests of refused calls, signals, overflows and fork (FULL=1: in all cells)
	@tools/setup
	@tools/run/faults

fuzz: ## run random operations, one at a time against the model, then all at once: FUZZ=seconds (60), SEED=number; tests/fuzz/README.md
	@tools/setup ci
	@tools/run/fuzz

mutate: ## run the worlds with each memory order weakened (MUTATE="--only TEXT --seconds 60", "--again")
	@tools/setup ci
	@tools/run/mutate $(MUTATE)

models: ## verify the models of parking, fifo, spares, select, waits and tasks with Spin; models/README.md
	@tools/setup ci
	@models/run

coverage: ## count the lines and branches that a part of the tests reaches, against thresholds (MISSED=1 lists the rest)
	@tools/setup ci
	@tools/measure/coverage

check: ## check style, floors, rooms, the documents' tables and prose, the functions that the models name, places that lack a primitive or option, the headers' comments, the picture of the results, the places that name the version, and the recorded binary interface
	@tools/check/floors
	@tools/build gcc-release thrum_static >/dev/null
	@tools/check/rooms
	@tools/check/style
	@tools/check/timing
	@tools/check/tables
	@tools/check/models
	@tools/check/prose
	@tools/check/missing
	@tools/run/planted check
	@tools/check/windows-skipped
	@tools/release/reference --check
	@tools/release/picture --check
	@tools/release/version --check
	@tools/check/abi

reference: ## make man pages and one HTML page from the headers: build/reference
	@tools/release/reference

site: ## make the site from the pages and the headers, to be read by any browser: build/site/index.html
	@tools/setup site
	@site/build

format: ## let clang-format lay out the sources and headers of C and C++
	@clang-format -i $$(git ls-files '*.c' '*.h' '*.hpp' '*.hh' '*.cpp' '*.cc')

amalgamation: ## write the library as two files, thrum.h and thrum.c: build/amalgamation
	@tools/amalgamate --out build/amalgamation

dist: ## write what is released, of the commit that is checked out: archives, checksums and an SBOM, the same bytes each time: build/dist (URL=)
	@tools/release/dist --out build/dist $(if $(URL),--url $(URL))

rehearse: ## make a release in a temporary clone, without tag and push, and check its files (VERSION=0.2.0); docs/releasing.md
	@tools/release/rehearse $(VERSION)

install: ## install below PREFIX (/usr/local); DESTDIR is honoured
	@cmake -S . -B build/install -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build build/install -j $(JOBS)
	@cmake --install build/install --prefix $(PREFIX)

clean: ## remove build/, with all that was built
	@rm -rf build

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
