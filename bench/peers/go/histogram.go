package main

import (
	"math/bits"
	"sync/atomic"
)

// How many figures fell into each class of nanoseconds; classes are a 32nd apart, as in thrum-bench.
type histogram [64 * 32]uint32

func (h *histogram) add(ns uint64) {
	class := int(ns)
	if ns >= 32 {
		shift := 58 - bits.LeadingZeros64(ns)
		class = (shift+1)*32 + int(ns>>shift)%32
	}
	atomic.AddUint32(&h[class], 1)
}

func (h *histogram) join(other *histogram) {
	for class, n := range other {
		h[class] += n
	}
}

func (h *histogram) total() int {
	all := 0
	for _, n := range h {
		all += int(n)
	}
	return all
}

func usOf(class int) float64 {
	if class < 32 {
		return float64(class) / 1e3
	}
	return float64(uint64(32+class%32)<<(class/32-1)) / 1e3
}

func (h *histogram) quantile(share float64) float64 {
	all, seen, last := float64(h.total()), 0, 0
	for class := 0; class < len(h) && float64(seen) < share*all; class++ {
		if h[class] > 0 {
			seen += int(h[class])
			last = class
		}
	}
	return usOf(last)
}

func (h *histogram) pairs() [][2]float64 {
	var all [][2]float64
	for class, n := range h {
		if n > 0 {
			all = append(all, [2]float64{usOf(class), float64(n)})
		}
	}
	return all
}
