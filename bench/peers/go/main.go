// The rows of thrum-bench in Go: one program, the same options and fields. ../README.md has the rules.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

var (
	workers = flag.Int("workers", 1, "the number of threads that run goroutines")
	quick   = flag.Bool("quick", false, "a twentieth of the work")
)

// One figure; a row of the report.
type row struct {
	Name            string  `json:"name"`
	System          string  `json:"system"`
	Workers         int     `json:"workers"`
	Policy          string  `json:"policy"`
	Unit            string  `json:"unit"`
	Median          float64 `json:"median"`
	Min             float64 `json:"min"`
	Max             float64 `json:"max"`
	Ops             uint64  `json:"ops"`
	ContextSwitches int64   `json:"context_switches"`
	FutexCalls      *int64  `json:"futex_calls"` // not known

	Histogram [][2]float64 `json:"histogram,omitempty"` // microseconds, how many
}

// What the rows of one piece of work gave.
type result struct {
	values []float64
	ops    uint64
	ctxsw  int64

	spread *histogram // of the first row that is a quantile
}

// One piece of work: the rows that it gives, their unit, and the work.
type work struct {
	names string // separated by spaces
	unit  string // one for all, or one for each
	run   func() result
}

var works []work

func check(ok bool, format string, args ...any) {
	if !ok {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
		os.Exit(1)
	}
}

// The work of the row's definition, or a twentieth of it with --quick.
func scale(full, least int) int {
	if *quick {
		full /= 20
	}
	if full < least {
		return least
	}
	return full
}

func contextSwitches() int64 {
	var use syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return use.Nvcsw + use.Nivcsw
}

func cpuTime() time.Duration {
	var use syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// A stretch of time and the context switches in it.
type span struct {
	ctxsw int64
	begin time.Time
}

func begin() span {
	c := contextSwitches()
	return span{c, time.Now()}
}

func (s span) ns() float64 { return float64(time.Since(s.begin).Nanoseconds()) }

func (s span) perOp(ops int) result {
	ns := s.ns()
	return result{[]float64{ns / float64(ops)}, uint64(ops), contextSwitches() - s.ctxsw, nil}
}

func (s span) inMs(ops int) result {
	ns := s.ns()
	return result{[]float64{ns / 1e6}, uint64(ops), contextSwitches() - s.ctxsw, nil}
}

func main() {
	only := flag.String("only", "", "these rows, separated by commas")
	list := flag.Bool("list", false, "name the rows")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	rows := []row{}
	for _, w := range works {
		names := strings.Fields(w.names)
		wanted := *only == ""
		for _, name := range names {
			if *list {
				fmt.Println(name)
			}
			for _, asked := range strings.Split(*only, ",") {
				wanted = wanted || asked == name
			}
		}
		if *list || !wanted {
			continue
		}
		r := w.run()
		for i, name := range names {
			v := r.values[i]
			units := strings.Fields(w.unit)
			unit := units[i%len(units)]
			rows = append(rows, row{name, "go", *workers, "none", unit, v, v, v, r.ops, r.ctxsw, nil, nil})
			if r.spread != nil && strings.HasSuffix(name, "p50") {
				rows[len(rows)-1].Histogram = r.spread.pairs()
			}
		}
	}
	if !*list {
		out := map[string]any{"rows": rows,
			"machine": map[string]any{"system": "go", "version": runtime.Version(), "command": strings.Join(os.Args, " ")}}
		check(json.NewEncoder(os.Stdout).Encode(out) == nil, "could not write")
	}
}
