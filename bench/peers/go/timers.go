package main

import "time"

// A million timers pending within ten seconds; each is set anew. They come due a minute later than
// in thrum-bench, so that none does while it is measured: a Reset or a Stop then says that it was pending.

func init() {
	works = append(works,
		work{"timers", "ns/op", func() result { return timers(false) }},
		work{"timers-cold", "ns/op", func() result { return timers(true) }})
}

func timers(cold bool) result {
	n := scale(1000000, 10000)
	random := uint64(88172645463325252)
	next := func() uint64 {
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		return random
	}
	soon := func() time.Duration {
		return time.Minute + time.Duration(next()%uint64(10*time.Second))
	}
	all := make([]*time.Timer, n)
	for i := range all {
		all[i] = time.AfterFunc(soon(), func() { check(false, "a timer came") })
	}
	pending := 0
	renew := func(count int) {
		for i := 0; i < count; i++ {
			at := i
			if cold {
				at = int(next() >> 11 % uint64(n))
			}
			if all[at].Reset(soon()) {
				pending++
			}
		}
	}
	renew(n / 10)
	s := begin()
	renew(n)
	r := s.perOp(n)
	check(pending == n/10+n, "%d were pending", pending)
	for i := range all {
		check(all[i].Stop(), "timer %d was not pending", i)
	}
	return r
}
