# A small face for CMake. `make help` says what there is.

PRESET ?= gcc-release
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
DIR ?= /usr/include
BUILD = build/$(PRESET)

export JOBS

.PHONY: all quick test test-full demo bench bench-full bench-rows sim stress fuzz faults mutate models coverage check reference format install clean help

all: ## build the library, the examples and the tests (PRESET=gcc-release)
	@tools/build $(PRESET)

# One policy with two workers, and none; what needs no scheduler; the examples; the style.
QUICK = ^(unit|marl|stress)/.*\[(sharded,w2|bound,w0)\]|^(unit|examples)[/.][^[]*$$|^house/(style|floors|tables|headers|snippets)

quick: ## the tier to run at every commit: a seventh of the tests, 80 seconds
	@tools/run-tests $(PRESET) -LE full -R '$(QUICK)'

test: ## build and run all the tests that are quick: about eight minutes on two cores
	@tools/setup
	@echo "about eight minutes on two cores; \`make quick\` takes 80 seconds"
	@status=0; tools/run-tests $(PRESET) -LE full || status=1; \
		tools/matrix $(PRESET) || status=1; exit $$status

test-full: ## the whole matrix: every test in every cell and build; takes hours
	@tools/setup ci
	@tools/run-full

demo: ## treesum over real input, checked with sha256sum -c (DIR=/usr/include)
	@tools/setup
	@tools/build gcc-release treesum
	@examples/treesum-demo build/gcc-release/examples/treesum $(DIR)

bench: ## thrum beside its peers, some minutes: bench/results/MACHINE.md, .html (BENCH="--only fib,yield")
	@tools/setup bench
	@tools/build gcc-release thrum-bench
	@bench/peers/build
	@bench/compare.py $(BENCH)

bench-full: ## the same with 1 to 8 workers, all rows and all variants of thrum; about an hour
	@$(MAKE) --no-print-directory bench BENCH="--full $(BENCH)"

bench-rows: ## thrum alone, row by row, beside its targets (BENCH="--only NAME --runs 5")
	@tools/setup
	@tools/build gcc-release thrum-bench
	@build/gcc-release/bench/thrum-bench $(BENCH)

sim: ## the simulator's worlds (WORLD= SEED= RUNS= MODE= REPLAY=); tests/sim/README.md
	@tools/setup
	@tools/sim

stress: ## all storms at once, in every cell: STRESS=60, 30m, 8h; tests/storm/README.md
	@tools/setup ci
	@tools/stress

faults: ## the Nth of everything that can be refused, signals, overflows, fork (FULL=1: all worker counts)
	@tools/setup
	@tools/faults

fuzz: ## random operations against the model: FUZZ=seconds (60); tests/fuzz/README.md
	@tools/setup ci
	@tools/fuzz

mutate: ## weakened memory orders against the worlds (MUTATE="--only TEXT --seconds 60", "--again")
	@tools/setup ci
	@tools/mutate $(MUTATE)

models: ## Spin's search through the models of parking and fifo; models/README.md
	@tools/setup ci
	@models/run

coverage: ## lines and branches that the quick tests reach, and thresholds (MISSED=1 lists the rest)
	@tools/setup ci
	@tools/coverage

check: ## style, floors, rooms, the documents' tables, and the binary interface as it is recorded
	@tools/check-floors
	@tools/build gcc-release thrum_static >/dev/null
	@tools/check-rooms
	@tools/check-style
	@tools/check-tables
	@tools/reference --check
	@tools/check-abi

reference: ## man pages and one HTML page, from the headers: build/reference
	@tools/reference

format: ## let clang-format lay out the sources
	@clang-format -i $$(git ls-files '*.c' '*.h')

install: ## install below PREFIX (/usr/local); DESTDIR is honoured
	@cmake -S . -B build/install -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build build/install -j $(JOBS)
	@cmake --install build/install --prefix $(PREFIX)

clean: ## remove all that was built
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
