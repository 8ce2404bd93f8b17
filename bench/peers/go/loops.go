package main

import (
	"runtime"
	"sync"
)

// Loops over ranges: Go has no construct for them, so a goroutine a chunk, 64 chunks a worker.

func init() {
	works = append(works,
		work{"for-light", "ms", forLight},
		work{"for-skewed", "ms", forSkewed})
}

func inChunks(n int, body func(begin, end int)) {
	chunks := 64 * runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	wg.Add(chunks)
	for i := 0; i < chunks; i++ {
		begin, end := n*i/chunks, n*(i+1)/chunks
		go func() {
			body(begin, end)
			wg.Done()
		}()
	}
	wg.Wait()
}

// The second time counts, as in thrum-bench.
func forLight() result {
	numbers := make([]float32, scale(10000000, 1000))
	for i := range numbers {
		numbers[i] = 4
	}
	var r result
	for round := 0; round < 2; round++ {
		s := begin()
		inChunks(len(numbers), func(begin, end int) {
			part := numbers[begin:end]
			for i := range part {
				part[i] = part[i]*0.5 + 1
			}
		})
		r = s.inMs(1)
	}
	for i, x := range numbers {
		check(x == 2.5, "element %d was not done twice", i)
	}
	return r
}

func skewedPart(out []uint32, begin, end int) {
	for i := begin; i < end; i++ {
		x, rounds := uint32(i)|1, 4
		if i < len(out)/100 {
			rounds = 400
		}
		for ; rounds > 0; rounds-- {
			x = x*1664525 + 1013904223
		}
		out[i] = x
	}
}

func forSkewed() result {
	out := make([]uint32, scale(10000000, 1000))
	for i := range out {
		out[i] = 1
	}
	s := begin()
	inChunks(len(out), func(begin, end int) { skewedPart(out, begin, end) })
	r := s.inMs(1)
	expected := make([]uint32, len(out))
	skewedPart(expected, 0, len(out))
	for i := range out {
		check(out[i] == expected[i], "element %d is wrong", i)
	}
	return r
}
