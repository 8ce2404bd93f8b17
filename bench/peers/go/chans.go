package main

import "sync"

// Channels. Each element carries a number; the receivers add them up.

const buffer = 64

func init() {
	works = append(works,
		work{"chan-1-1", "ns/op", func() result { return stream(1, 1, 4000000) }},
		work{"chan-4-4", "ns/op", func() result { return stream(4, 4, 1000000) }},
		work{"chan-pingpong", "ns/op", func() result { return chanPingpong(0) }},
		work{"chan-pingpong-buffered", "ns/op", func() result { return chanPingpong(buffer) }},
		work{"select-8", "ns/op", select8},
		work{"skynet-chan", "ms", skynetChan},
		work{"chan_contended", "ns/op", contended})
}

// Each receiver's tally has a line of its own.
type tally struct {
	n, sum uint64
	_      [48]byte
}

func checkTallies(tallies []tally, senders int, elems uint64) {
	var n, sum uint64
	for _, t := range tallies {
		n += t.n
		sum += t.sum
	}
	check(n == uint64(senders)*elems, "%d elements arrived", n)
	check(sum == uint64(senders)*(elems*(elems+1)/2), "the sum is wrong")
}

func stream(senders, receivers, full int) result {
	elems := uint64(scale(full, 1000))
	c := make(chan uint64, buffer)
	tallies := make([]tally, receivers)
	var sending, receiving sync.WaitGroup
	sending.Add(senders)
	receiving.Add(receivers)
	s := begin()
	for i := 0; i < receivers; i++ {
		t := &tallies[i]
		go func() {
			var n, sum uint64
			for elem := range c {
				n++
				sum += elem
			}
			t.n, t.sum = n, sum
			receiving.Done()
		}()
	}
	for i := 0; i < senders; i++ {
		go func() {
			for i := uint64(1); i <= elems; i++ {
				c <- i
			}
			sending.Done()
		}()
	}
	sending.Wait()
	close(c)
	receiving.Wait()
	r := s.perOp(senders * int(elems))
	checkTallies(tallies, senders, elems)
	return r
}

func chanPingpong(capacity int) result {
	rounds := scale(1000000, 10000)
	there, back := make(chan uint64, capacity), make(chan uint64, capacity)
	go func() {
		for ball := range there {
			back <- ball + 1
		}
	}()
	var s span
	var ball uint64
	for i := 0; i < rounds+rounds/10; i++ {
		if i == rounds/10 {
			s = begin()
		}
		there <- ball
		ball = <-back + 1
	}
	r := s.perOp(rounds)
	check(ball == uint64(2*(rounds+rounds/10)), "the ball was lost")
	close(there)
	return r
}

func select8() result {
	elems := uint64(scale(200000, 1000))
	var c [8]chan uint64
	for i := range c {
		c[i] = make(chan uint64, buffer)
	}
	tallies := make([]tally, 1)
	done := make(chan struct{})
	s := begin()
	go func() {
		var n, sum, elem uint64
		for n < 8*elems {
			select {
			case elem = <-c[0]:
			case elem = <-c[1]:
			case elem = <-c[2]:
			case elem = <-c[3]:
			case elem = <-c[4]:
			case elem = <-c[5]:
			case elem = <-c[6]:
			case elem = <-c[7]:
			}
			n++
			sum += elem
		}
		tallies[0].n, tallies[0].sum = n, sum
		close(done)
	}()
	for _, c := range c {
		c := c
		go func() {
			for i := uint64(1); i <= elems; i++ {
				c <- i
			}
		}()
	}
	<-done
	r := s.perOp(8 * int(elems))
	checkTallies(tallies, 8, elems)
	return r
}

// Five send 1000 numbers each through one channel of 1000.
func contended() result {
	const senders, sent = 5, 1000
	rounds := scale(200, 12)
	var s span
	for round := 0; round < rounds+rounds/10+1; round++ {
		if round == rounds/10+1 {
			s = begin()
		}
		c := make(chan uint64, 1000)
		ended := make(chan uint64)
		go func() {
			for i := 0; i < senders; i++ {
				go func() {
					for i := uint64(0); i < sent; i++ {
						c <- i
					}
				}()
			}
			var sum uint64
			for i := 0; i < senders*sent; i++ {
				sum += <-c
			}
			ended <- sum
		}()
		check(<-ended == senders*(sent-1)*sent/2, "the sum is wrong")
	}
	return s.perOp(rounds * senders * sent)
}

func grow(up chan uint64, first, leaves uint64) {
	if leaves == 1 {
		up <- first
		return
	}
	c := make(chan uint64, 10)
	for i := uint64(0); i < 10; i++ {
		go grow(c, first+i*(leaves/10), leaves/10)
	}
	var sum uint64
	for i := 0; i < 10; i++ {
		sum += <-c
	}
	up <- sum
}

func skynetChan() result {
	leaves := uint64(1000000)
	if *quick {
		leaves = 10000
	}
	c := make(chan uint64, 1)
	s := begin()
	go grow(c, 0, leaves)
	sum := <-c
	r := s.inMs(1)
	check(sum == leaves*(leaves-1)/2, "the sum is wrong")
	return r
}
