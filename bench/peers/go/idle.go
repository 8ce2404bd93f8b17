package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

// The costs of sleeping, waking and waiting.

func init() {
	works = append(works,
		work{"wake-p50 wake-p99", "us", wake},
		work{"lone-task-p50 lone-task-p99", "us", lone},
		work{"idle", "us/s", idle},
		work{"blocked-memory blocked-time", "bytes ns/op", blocked},
		work{"sleeps sleeps-late-p50 sleeps-late-p99 sleeps-late-max", "us",
			func() result { return sleeps(scale(100000, 5000), 20, 0) }},
		work{"sleeps-half sleeps-half-late-p50 sleeps-half-late-p99 sleeps-half-late-max", "us",
			func() result { return sleeps(14000, scale(60, 6), 3) }})
}

func quantile(sorted []float64, share float64) float64 {
	i := int(share * float64(len(sorted)))
	if i >= len(sorted) {
		i = len(sorted) - 1
	}
	return sorted[i]
}

// Go has no external threads: the waker is a goroutine with a thread to itself, which blocks after each wake.
func wake() result {
	rounds := scale(1000, 200)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	us := make([]float64, rounds)
	answer := make(chan time.Time)
	c := contextSwitches()
	for i := range us {
		time.Sleep(500 * time.Microsecond)
		sent := time.Now()
		go func() { answer <- time.Now() }()
		us[i] = float64((<-answer).Sub(sent).Nanoseconds()) / 1e3
	}
	c = contextSwitches() - c
	var all histogram
	for _, x := range us {
		all.add(uint64(x * 1e3))
	}
	sort.Float64s(us)
	return result{[]float64{quantile(us, 0.5), quantile(us, 0.99)}, uint64(rounds), c, &all}
}

// A goroutine starts one other and computes on for 10 ms.
func lone() result {
	const computes = 10 * time.Millisecond
	us := make([]float64, scale(300, 50))
	began := make(chan time.Time, 1)
	c := contextSwitches()
	for i := range us {
		sent := time.Now()
		go func() { began <- time.Now() }()
		for time.Since(sent) < computes {
		}
		us[i] = float64((<-began).Sub(sent).Nanoseconds()) / 1e3
	}
	c = contextSwitches() - c
	sort.Float64s(us)
	return result{[]float64{quantile(us, 0.5), quantile(us, 0.99)}, uint64(len(us)), c, nil}
}

func idle() result {
	spawnRound(make([]uint32, 1000))
	time.Sleep(200 * time.Millisecond)
	nap := time.Duration(scale(2000000, 500000)) * time.Microsecond
	c, cpu, start := contextSwitches(), cpuTime(), time.Now()
	time.Sleep(nap)
	cpu = cpuTime() - cpu
	lasted := time.Since(start)
	return result{[]float64{float64(cpu) / 1e3 / lasted.Seconds()}, 1, contextSwitches() - c, nil}
}

// Resident and swapped pages and page tables, and 256 bytes for each mapping, as in thrum-bench.
func bytesInUse() float64 {
	bytes := 0.0
	file, err := os.Open("/proc/self/status")
	check(err == nil, "no /proc")
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var kb float64
		name, rest, _ := strings.Cut(lines.Text(), ":")
		if name == "VmRSS" || name == "VmSwap" || name == "VmPTE" {
			fmt.Sscan(rest, &kb)
			bytes += kb * 1024
		}
	}
	file.Close()
	maps, err := os.ReadFile("/proc/self/maps")
	check(err == nil, "no /proc")
	return bytes + 256*float64(strings.Count(string(maps), "\n"))
}

func blocked() result {
	n := scale(100000, 10000)
	woken := make([]byte, n)
	for i := range woken {
		woken[i] = 0
	}
	var waiting, running sync.WaitGroup
	waiting.Add(n)
	running.Add(n)
	gate := make(chan struct{})
	before := bytesInUse()
	s := begin()
	for i := range woken {
		slot := &woken[i]
		go func() {
			waiting.Done()
			<-gate
			*slot++
			running.Done()
		}()
	}
	waiting.Wait()
	r := s.perOp(n)
	time.Sleep(100 * time.Millisecond)
	after := bytesInUse()
	close(gate)
	running.Wait()
	for i, times := range woken {
		check(times == 1, "goroutine %d was woken %d times", i, times)
	}
	r.values = []float64{(after - before) / float64(n), r.values[0]}
	return r
}

// How late sleeps end, in 64 tables, so that goroutines seldom share one.
const tables = 64

var lateness [tables]histogram

// n goroutines sleep so often; the first few times of each, while others start, are not noted.
func sleeps(n, rounds, unnoted int) result {
	var wg sync.WaitGroup
	wg.Add(n)
	c, cpu := contextSwitches(), cpuTime()
	for i := 0; i < n; i++ {
		random, mine := uint32(i)*2654435761+1, &lateness[i%tables]
		go func() {
			for j := 0; j < rounds; j++ {
				random ^= random << 13
				random ^= random >> 17
				random ^= random << 5
				d := time.Duration(1000+random%99001) * time.Microsecond
				start := time.Now()
				time.Sleep(d)
				late := time.Since(start) - d
				check(late >= 0, "a sleep was short")
				if j >= unnoted {
					mine.add(uint64(late))
				}
			}
			wg.Done()
		}()
	}
	wg.Wait()
	cpu = cpuTime() - cpu
	c = contextSwitches() - c
	all := &lateness[0]
	for t := 1; t < tables; t++ {
		all.join(&lateness[t])
	}
	check(all.total() == n*(rounds-unnoted), "%d sleeps", all.total())
	return result{[]float64{float64(cpu) / 1e3 / float64(n*rounds), all.quantile(0.5),
		all.quantile(0.99), all.quantile(1)}, uint64(n * rounds), c, all}
}
