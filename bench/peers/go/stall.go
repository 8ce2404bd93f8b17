package main

import (
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// How late goroutines begin while others hold up their threads. Go has no external threads: what posts
// is a goroutine that sleeps, so its lateness is in the figures, which count from the instant at which
// each is due. There is no row for a mutex: Go's do not block a thread.

const (
	stallPeriod = 2 * time.Millisecond
	stallLead   = 20 * time.Millisecond // for setting the timers
)

// How a goroutine holds its thread.
type stallWay struct {
	hold    func(stallFor time.Duration)
	release func(holders int)   // ends what they wait for, when their second is over; nil: they end by themselves
	rest    func(time.Duration) // how the goroutine that posts sleeps: the way that makes less late there
}

var stallPipe [2]int

func sleepOn(stallFor time.Duration) {
	left := syscall.NsecToTimespec(stallFor.Nanoseconds())
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}

func computeOn(stallFor time.Duration) {
	for start := time.Now(); time.Since(start) < stallFor; {
	}
}

func readPipe(time.Duration) {
	var b [1]byte
	n, err := syscall.Read(stallPipe[0], b[:])
	for err == syscall.EINTR {
		n, err = syscall.Read(stallPipe[0], b[:])
	}
	check(n == 1, "nothing was read")
}

func writePipe(holders int) {
	for i := 0; i < holders; i++ {
		n, _ := syscall.Write(stallPipe[1], []byte{0})
		check(n == 1, "nothing was written")
	}
}

func init() {
	add := func(how string, holders int, way stallWay) {
		name := fmt.Sprintf("stall-%s-%d", how, holders)
		works = append(works, work{name + "-p50 " + name + "-p99 " + name + "-max " + name + "-timer-p99", "us",
			func() result { return stall(holders, way) }})
	}
	for _, holders := range []int{1, 2, 4} {
		add("sleep", holders, stallWay{sleepOn, nil, sleepOn})
		add("compute", holders, stallWay{computeOn, nil, time.Sleep})
	}
	add("read", 2, stallWay{readPipe, writePipe, sleepOn})
}

// What is due at an instant and begins at another one.
type probe struct{ due, began time.Time }

// How late those were that were due before the end, in order.
func lateUs(all []probe, end time.Time) []float64 {
	var us []float64
	for _, p := range all {
		check(!p.began.IsZero(), "one has not begun")
		if !p.due.After(end) {
			us = append(us, math.Max(0, float64(p.began.Sub(p.due).Nanoseconds())/1e3))
		}
	}
	check(len(us) > 0, "nothing was due")
	sort.Float64s(us)
	return us
}

func stall(holders int, way stallWay) result {
	check(syscall.Pipe(stallPipe[:]) == nil, "no pipe")
	stallFor := time.Duration(scale(1000, 50)) * time.Millisecond
	turns := (holders + *workers - 1) / *workers
	posted := make([]probe, turns*int(stallFor/stallPeriod))
	timed := make([]probe, len(posted))
	start := time.Now().Add(stallLead)
	var done sync.WaitGroup
	for i := range timed {
		p := &timed[i]
		p.due = start.Add(time.Duration(i)*stallPeriod + stallPeriod/2)
		done.Add(1)
		time.AfterFunc(time.Until(p.due), func() {
			p.began = time.Now()
			done.Done()
		})
	}
	check(time.Now().Before(start), "setting the timers took too long")
	time.Sleep(time.Until(start))
	c := contextSwitches()
	var begun, ended int32
	for i := 0; i < holders; i++ {
		go func() {
			atomic.AddInt32(&begun, 1)
			way.hold(stallFor)
			atomic.AddInt32(&ended, 1)
		}()
	}
	for n := atomic.LoadInt32(&begun); int(n) < holders && int(n) < *workers; n = atomic.LoadInt32(&begun) {
		time.Sleep(50 * time.Microsecond)
	}
	posts, held := 0, way.release != nil
	for due := start.Add(stallPeriod); int(atomic.LoadInt32(&ended)) < holders; due = due.Add(stallPeriod) {
		if left := time.Until(due); left > 0 {
			way.rest(left)
		}
		if held && !due.Before(start.Add(stallFor)) {
			way.release(holders)
			held = false
		}
		if posts < len(posted) {
			p := &posted[posts]
			p.due = due
			posts++
			done.Add(1)
			go func() {
				p.began = time.Now()
				done.Done()
			}()
		}
	}
	end := time.Now()
	c = contextSwitches() - c
	done.Wait()
	us, timers := lateUs(posted[:posts], end), lateUs(timed, end)
	return result{[]float64{quantile(us, 0.5), quantile(us, 0.99), us[len(us)-1], quantile(timers, 0.99)},
		uint64(len(us)), c, nil}
}
