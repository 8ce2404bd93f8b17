package main

import (
	"sync"
	"time"
)

// Each goroutine counts itself in a slot of its own, so that one that ran twice, or never, is found.

func init() {
	works = append(works,
		work{"spawn", "ns/op", func() result { return spawnRounds(1000, scale(1000, 20)) }},
		work{"spawn-burst spawn-burst-cold", "ns/op", spawnBurst},
		work{"spawn-joined", "ns/op", spawnJoined},
		work{"fanout", "ns/op", fanout},
		work{"spawn_many_local", "ns/op", func() result {
			return spawnRounds(10000, scale(100, 7))
		}},
		work{"chained_spawn", "ns/op", chainedSpawn})
}

func spawnRound(slots []uint32) {
	var wg sync.WaitGroup
	wg.Add(len(slots))
	for i := range slots {
		slot := &slots[i]
		go func() {
			*slot++
			wg.Done()
		}()
	}
	wg.Wait()
}

func checkSlots(slots []uint32, runs int) {
	for i, n := range slots {
		check(n == uint32(runs), "goroutine %d ran %d times, not %d", i, n, runs)
	}
}

func spawnRounds(n, rounds int) result {
	slots := make([]uint32, n)
	warm := rounds/10 + 1
	for i := 0; i < warm; i++ {
		spawnRound(slots)
	}
	s := begin()
	for i := 0; i < rounds; i++ {
		spawnRound(slots)
	}
	r := s.perOp(n * rounds)
	checkSlots(slots, warm+rounds)
	return r
}

// Go has no handles: a channel for each goroutine, which says that it ended.
func spawnJoined() result {
	const n = 1000
	rounds := scale(1000, 20)
	slots := make([]uint32, n)
	var ends [n]chan int
	var s span
	for round := 0; round < rounds+rounds/10+1; round++ {
		if round == rounds/10+1 {
			s = begin()
		}
		for i := range ends {
			slot, end := &slots[i], make(chan int, 1)
			ends[i] = end
			go func() {
				*slot++
				end <- 1
			}()
		}
		sum := 0
		for _, end := range ends {
			sum += <-end
		}
		check(sum == n, "%d ended", sum)
	}
	r := s.perOp(n * rounds)
	checkSlots(slots, rounds+rounds/10+1)
	return r
}

// Each fan-out finds the other threads asleep: it begins 2 ms after the last one ended.
func fanout() result {
	repeats := scale(50, 5)
	slots := make([]uint32, 10000)
	ns := 0.0
	var c int64
	for i := 0; i < repeats; i++ {
		time.Sleep(2 * time.Millisecond)
		s := begin()
		spawnRound(slots)
		ns += s.ns()
		c += contextSwitches() - s.ctxsw
	}
	checkSlots(slots, repeats)
	ops := repeats * len(slots)
	return result{[]float64{ns / float64(ops)}, uint64(ops), c, nil}
}

// The first burst finds all memory untouched; the third one is the warm figure.
func spawnBurst() result {
	n := scale(1000000, 10000)
	slots := make([]uint32, n)
	var cold, warm result
	for i := 0; i < 3; i++ {
		s := begin()
		spawnRound(slots)
		warm = s.perOp(n)
		if i == 0 {
			cold = warm
		}
	}
	checkSlots(slots, 3)
	warm.values = append(warm.values, cold.values[0])
	return warm
}

func chainedSpawn() result {
	const links = 1000
	rounds := scale(1000, 20)
	done := make(chan int)
	var link func(n int)
	link = func(n int) {
		if n == links {
			done <- n
		} else {
			go link(n + 1)
		}
	}
	var s span
	for i := 0; i < rounds+rounds/10; i++ {
		if i == rounds/10 {
			s = begin()
		}
		go link(1)
		check(<-done == links, "the chain broke")
	}
	return s.perOp(rounds * links)
}
