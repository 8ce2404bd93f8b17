package main

import (
	"runtime"
	"sync"
)

// Goroutines that give way to each other. All of a row wait at a gate before the clock runs.

func init() {
	works = append(works,
		work{"yield", "ns/op", yield},
		work{"pingpong", "ns/op", pingpong},
		work{"mutex-alone", "ns/op", func() result { return mutex(1) }},
		work{"mutex-2", "ns/op", func() result { return mutex(2) }},
		work{"mutex-100", "ns/op", func() result { return mutex(100) }},
		work{"mutex-1000", "ns/op", func() result { return mutex(1000) }},
		work{"rwlock-read-2", "ns/op", func() result { return rwlock(2, 5000000, false) }},
		work{"rwlock-read-100", "ns/op", func() result { return rwlock(100, 5000000, false) }},
		work{"rwlock-read-1000", "ns/op", func() result { return rwlock(1000, 5000000, false) }},
		work{"rwlock-mixed", "ns/op", func() result { return rwlock(100, 2000000, true) }},
		work{"many-to-many", "ns/op", manyToMany},
		work{"event-chain", "ns/op", eventChain},
		work{"event-baton", "ns/op", eventBaton},
		work{"tickets", "ns/op", tickets},
		work{"pool-alone", "ns/op", func() result { return pool(1) }},
		work{"pool-100", "ns/op", func() result { return pool(100) }},
		work{"yield_many", "ns/op", yieldMany},
		work{"ping_pong", "ns/op", tokioPingPong})
}

func crowd(n, steps int, body func(index int)) result {
	var waiting, running sync.WaitGroup
	gate := make(chan struct{})
	waiting.Add(n)
	running.Add(n)
	for i := 0; i < n; i++ {
		i := i
		go func() {
			waiting.Done()
			<-gate
			body(i)
			running.Done()
		}()
	}
	waiting.Wait()
	s := begin()
	close(gate)
	running.Wait()
	return s.perOp(n * steps)
}

func yield() result {
	steps := scale(1000, 50)
	counts := make([]int, 1000)
	r := crowd(1000, steps, func(index int) {
		for i := 0; i < steps; i++ {
			runtime.Gosched()
			counts[index]++
		}
	})
	for _, n := range counts {
		check(n == steps, "%d of %d yields", n, steps)
	}
	return r
}

func mutex(n int) result {
	steps := scale(5000000, 200000) / n
	var m sync.Mutex
	count := 0
	r := crowd(n, steps, func(int) {
		for i := 0; i < steps; i++ {
			m.Lock()
			count++
			m.Unlock()
		}
	})
	check(count == n*steps, "%d locks", count)
	return r
}

func rwlock(n, full int, writes bool) result {
	steps := scale(full, 100000) / n
	var m sync.RWMutex
	one := 1
	counts := make([]int, n*16)
	r := crowd(n, steps, func(index int) {
		for i := 0; i < steps; i++ {
			if writes && (i+index)%100 == 99 {
				m.Lock()
				one = 1
				counts[index*16] += one
				m.Unlock()
			} else {
				m.RLock()
				counts[index*16] += one
				m.RUnlock()
			}
		}
	})
	for i := 0; i < n; i++ {
		check(counts[i*16] == steps, "%d of %d reads", counts[i*16], steps)
	}
	return r
}

// Two goroutines over two semaphores: channels with room for one, as is usual in Go.
func pingpong() result {
	rounds := scale(1000000, 50000)
	ping, pong := make(chan struct{}, 1), make(chan struct{}, 1)
	ended := make(chan int)
	go func() {
		returned := 0
		for range ping {
			returned++
			pong <- struct{}{}
		}
		ended <- returned
	}()
	s := begin()
	for i := 0; i < rounds; i++ {
		ping <- struct{}{}
		<-pong
	}
	r := s.perOp(rounds)
	close(ping)
	returned := <-ended
	check(returned == rounds, "%d of %d balls were returned", returned, rounds)
	return r
}

// In each step a goroutine posts to one other, to each other one in turn, and waits for a post.
func manyToMany() result {
	const members = 100
	steps := scale(20000, 1000)
	var mailbox [members]chan struct{}
	for i := range mailbox {
		mailbox[i] = make(chan struct{}, members)
	}
	var s span
	for _, n := range []int{steps / 10, steps} {
		var wg sync.WaitGroup
		wg.Add(members)
		s = begin()
		for me := 0; me < members; me++ {
			me := me
			go func() {
				taken := 0
				for i := 0; i < n; i++ {
					mailbox[(me+1+i%(members-1))%members] <- struct{}{}
					<-mailbox[me]
					taken++
				}
				check(taken == n, "%d of %d steps", taken, n)
				wg.Done()
			}()
		}
		wg.Wait()
	}
	return s.perOp(steps * members)
}

func eventChain() result {
	const links = 512
	rounds := scale(1000, 50)
	var events [links + 1]chan struct{}
	for i := range events {
		events[i] = make(chan struct{}, 1)
	}
	passed := 0
	for i := 0; i < links; i++ {
		i := i
		go func() {
			for j := 0; j < rounds; j++ {
				<-events[i]
				passed++
				events[i+1] <- struct{}{}
			}
		}()
	}
	var s span
	for j := 0; j < rounds; j++ {
		if j == rounds/10 {
			s = begin()
		}
		events[0] <- struct{}{}
		<-events[links]
	}
	r := s.perOp((rounds - rounds/10) * links)
	check(passed == rounds*links, "%d links passed", passed)
	return r
}

// Events that reset themselves are channels with room for one.
func eventBaton() result {
	passes := scale(262144, 20000) / 2
	var mine [2]chan struct{}
	mine[0], mine[1] = make(chan struct{}, 1), make(chan struct{}, 1)
	passed := 0
	ended := make(chan struct{})
	go func() {
		for i := 0; i < passes; i++ {
			<-mine[1]
			passed++
			mine[0] <- struct{}{}
		}
		close(ended)
	}()
	s := begin()
	for i := 0; i < passes; i++ {
		passed++
		mine[1] <- struct{}{}
		<-mine[0]
	}
	r := s.perOp(2 * passes)
	<-ended
	check(passed == 2*passes, "the baton was lost")
	return r
}

// Each of 512 goroutines waits for the one before; the last one is started first.
func tickets() result {
	const n = 512
	rounds := scale(1000, 50)
	var turns [n + 1]chan struct{}
	for i := range turns {
		turns[i] = make(chan struct{}, 1)
	}
	turn := 0
	var s span
	for round := 0; round < rounds; round++ {
		if round == rounds/10 {
			s = begin()
		}
		turns[0] <- struct{}{}
		for i := n - 1; i >= 0; i-- {
			i := i
			go func() {
				<-turns[i]
				check(turn%n == i, "out of order")
				turn++
				turns[i+1] <- struct{}{}
			}()
		}
		<-turns[n]
	}
	r := s.perOp((rounds - rounds/10) * n)
	check(turn == rounds*n, "%d turns", turn)
	return r
}

// A channel holds ten objects, which count, too.
func pool(n int) result {
	steps := scale(5000000, 200000) / n
	type object struct {
		uses int
		_    [56]byte
	}
	var objects [10]object
	free := make(chan *object, len(objects))
	for i := range objects {
		free <- &objects[i]
	}
	r := crowd(n, steps, func(int) {
		for i := 0; i < steps; i++ {
			o := <-free
			o.uses++
			free <- o
		}
	})
	uses := 0
	for i := range objects {
		uses += objects[i].uses
	}
	check(uses == n*steps, "%d uses were counted", uses)
	return r
}

// 200 goroutines yield 1000 times each, and tell when they are done.
func yieldMany() result {
	const n, steps = 200, 1000
	rounds := scale(20, 2)
	done := make(chan int, n)
	var s span
	for round := 0; round < rounds+2; round++ {
		if round == 2 {
			s = begin()
		}
		for i := 0; i < n; i++ {
			go func() {
				yields := 0
				for j := 0; j < steps; j++ {
					runtime.Gosched()
					yields++
				}
				done <- yields
			}()
		}
		for i := 0; i < n; i++ {
			check(<-done == steps, "too few yields")
		}
	}
	return s.perOp(rounds * n * steps)
}

// A thousand goroutines start two each, which talk once over two channels for one value.
func tokioPingPong() result {
	const n = 1000
	rounds := scale(100, 5)
	done := make(chan int, n)
	var s span
	for round := 0; round < rounds+rounds/10; round++ {
		if round == rounds/10 {
			s = begin()
		}
		go func() {
			for i := 0; i < n; i++ {
				go func() {
					there, back := make(chan int, 1), make(chan int, 1)
					go func() {
						back <- <-there + 1
					}()
					there <- 1
					done <- <-back
				}()
			}
		}()
		for i := 0; i < n; i++ {
			check(<-done == 2, "a ball was lost")
		}
	}
	return s.perOp(rounds * n)
}
