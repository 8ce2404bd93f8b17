package main

import (
	"bufio"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Sleeping, waking, waiting: what costs when little is done.

func init() {
	works = append(works,
		work{"wake-p50 wake-p99", "us", wake},
		work{"idle", "us/s", idle},
		work{"blocked-memory blocked-time", "bytes ns/op", blocked},
		work{"sleeps sleeps-late-p50 sleeps-late-p99 sleeps-late-max", "us", sleeps})
}

func quantile(sorted []float64, share float64) float64 {
	i := int(share * float64(len(sorted)))
	if i >= len(sorted) {
		i = len(sorted) - 1
	}
	return sorted[i]
}

// Go has no outside: the waker is a goroutine that has a thread to itself, and blocks after each wake.
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
	sort.Float64s(us)
	return result{[]float64{quantile(us, 0.5), quantile(us, 0.99)}, uint64(rounds), c}
}

func idle() result {
	spawnRound(make([]uint32, 1000))
	time.Sleep(200 * time.Millisecond)
	nap := time.Duration(scale(2000000, 500000)) * time.Microsecond
	c, cpu, start := contextSwitches(), cpuTime(), time.Now()
	time.Sleep(nap)
	cpu = cpuTime() - cpu
	lasted := time.Since(start)
	return result{[]float64{float64(cpu) / 1e3 / lasted.Seconds()}, 1, contextSwitches() - c}
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

// How late, in classes a 32nd apart, as in thrum-bench; in 64 tables, so that they are not fought for.
const (
	classes = 64 * 32
	tables  = 64
)

var lateness [tables][classes]uint32

func classOf(ns uint64) int {
	if ns < 32 {
		return int(ns)
	}
	shift := 58 - bits.LeadingZeros64(ns)
	return (shift+1)*32 + int(ns>>shift)%32
}

func usOf(class int) float64 {
	if class < 32 {
		return float64(class) / 1e3
	}
	return float64(uint64(32+class%32)<<(class/32-1)) / 1e3
}

func lateQuantile(n int, share float64) float64 {
	seen, last := 0, 0
	for class := 0; class < classes && float64(seen) < share*float64(n); class++ {
		for t := range lateness {
			if lateness[t][class] > 0 {
				seen += int(lateness[t][class])
				last = class
			}
		}
	}
	return usOf(last)
}

func sleeps() result {
	n := scale(100000, 5000)
	const rounds = 20
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
				atomic.AddUint32(&mine[classOf(uint64(late))], 1)
			}
			wg.Done()
		}()
	}
	wg.Wait()
	cpu = cpuTime() - cpu
	c = contextSwitches() - c
	all := 0
	for t := range lateness {
		for _, k := range lateness[t] {
			all += int(k)
		}
	}
	check(all == n*rounds, "%d sleeps", all)
	return result{[]float64{float64(cpu) / 1e3 / float64(n*rounds), lateQuantile(n*rounds, 0.5),
		lateQuantile(n*rounds, 0.99), lateQuantile(n*rounds, 1)}, uint64(n * rounds), c}
}
