package main

import (
	"sort"
	"sync"
)

// Calls that start a goroutine for half of their work and wait for it.

func init() {
	works = append(works,
		work{"fib", "ns/op", fib},
		work{"skynet-join", "ms", skynetJoin},
		work{"nqueens", "ms", nqueens},
		work{"sort", "ms", mergeSort})
}

func fibValue(n uint) uint64 {
	var a, b uint64 = 0, 1
	for ; n > 0; n-- {
		a, b = b, a+b
	}
	return a
}

func fibCall(n uint) uint64 {
	if n < 2 {
		return uint64(n)
	}
	var first uint64
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		first = fibCall(n - 1)
		wg.Done()
	}()
	second := fibCall(n - 2)
	wg.Wait()
	return first + second
}

// fib(29) instead of fib(35), once before the clock runs: the figure is per call.
func fib() result {
	const n = 29
	fibCall(n - 5)
	s := begin()
	value := fibCall(n)
	r := s.perOp(int(2*fibValue(n+1) - 1))
	check(value == fibValue(n), "fib(%d) is wrong", n)
	return r
}

func skynetCall(number, leaves uint64) uint64 {
	if leaves == 1 {
		return number
	}
	var sums [9]uint64
	var wg sync.WaitGroup
	wg.Add(9)
	for i := uint64(0); i < 9; i++ {
		i := i
		go func() {
			sums[i] = skynetCall(number+i*(leaves/10), leaves/10)
			wg.Done()
		}()
	}
	sum := skynetCall(number+9*(leaves/10), leaves/10)
	wg.Wait()
	for _, part := range sums {
		sum += part
	}
	return sum
}

func skynetJoin() result {
	leaves := uint64(1000000)
	if *quick {
		leaves = 100000
	}
	var s span
	var sum uint64
	for i := 0; i < 3; i++ {
		s = begin()
		sum = skynetCall(0, leaves)
	}
	r := s.inMs(int(leaves))
	check(sum == leaves*(leaves-1)/2, "the sum is wrong")
	return r
}

var solutions = map[uint]int{10: 724, 12: 14200}

func place(queens, row uint, columns, left, right uint32) int {
	if row == queens {
		return 1
	}
	var found [12]int
	var wg sync.WaitGroup
	n := 0
	for free := ^(columns | left | right) & (1<<queens - 1); free != 0; free &= free - 1 {
		bit := free & -free
		to := &found[n]
		n++
		wg.Add(1)
		go func() {
			*to = place(queens, row+1, columns|bit, (left|bit)<<1, (right|bit)>>1)
			wg.Done()
		}()
	}
	wg.Wait()
	sum := 0
	for _, f := range found[:n] {
		sum += f
	}
	return sum
}

func nqueens() result {
	queens := uint(12)
	if *quick {
		queens = 10
	}
	place(queens, 0, 0, 0, 0)
	s := begin()
	found := place(queens, 0, 0, 0, 0)
	r := s.inMs(1)
	check(found == solutions[queens], "%d solutions", found)
	return r
}

// ---- merge sort, cut as thrum-bench's: 32 numbers by insertion, 4096 merged without dividing ----

func merge(out, a, b []uint32) {
	if len(a)+len(b) <= 4096 {
		i, j := 0, 0
		for k := range out {
			if i < len(a) && (j == len(b) || a[i] <= b[j]) {
				out[k] = a[i]
				i++
			} else {
				out[k] = b[j]
				j++
			}
		}
		return
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	cut := len(a) / 2
	other := sort.Search(len(b), func(i int) bool { return b[i] >= a[cut] })
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		merge(out[cut+other:], a[cut:], b[other:])
		wg.Done()
	}()
	merge(out[:cut+other], a[:cut], b[:other])
	wg.Wait()
}

func sortInto(numbers, spare []uint32, intoSpare bool) {
	if len(numbers) <= 32 {
		for i := 1; i < len(numbers); i++ {
			moving, at := numbers[i], i
			for ; at > 0 && moving < numbers[at-1]; at-- {
				numbers[at] = numbers[at-1]
			}
			numbers[at] = moving
		}
		if intoSpare {
			copy(spare, numbers)
		}
		return
	}
	half := len(numbers) / 2
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		sortInto(numbers[half:], spare[half:], !intoSpare)
		wg.Done()
	}()
	sortInto(numbers[:half], spare[:half], !intoSpare)
	wg.Wait()
	from, to := spare, numbers
	if intoSpare {
		from, to = numbers, spare
	}
	merge(to, from[:half], from[half:])
}

func mergeSort() result {
	numbers := make([]uint32, scale(10000000, 1000))
	spare := make([]uint32, len(numbers))
	state := uint64(88172645463325252)
	var before, after uint64
	for i := range numbers {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		numbers[i] = uint32(state)
		spare[i] = 1
		before += uint64(numbers[i])
	}
	s := begin()
	sortInto(numbers, spare, false)
	r := s.inMs(1)
	last := uint32(0)
	for i, x := range numbers {
		check(last <= x, "not sorted at %d", i)
		last = x
		after += uint64(x)
	}
	check(before == after, "numbers were lost")
	return r
}
