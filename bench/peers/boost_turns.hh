// boost_turns.hh: Boost.Fiber's rows of fibers that give way to each other: locks, channels, turns.
#ifndef BENCH_PEERS_BOOST_TURNS_HH
#define BENCH_PEERS_BOOST_TURNS_HH

#include "boost.hh"

// ---- crowds ----

static void yields() {
    unsigned steps = peer_scale(1000, 50);
    uint32_t *slots = peer_slots(1000);
    peer_span span = crowd(1000, [&](unsigned index) {
        for (unsigned i = 0; i < steps; i++) {
            boost::this_fiber::yield();
            slots[index]++;
        }
    });
    peer_row_per_op("yield", &span, 1000 * (uint64_t)steps);
    peer_check_slots(slots, 1000, steps);
}

static void lock_by(const char *name, unsigned n) {
    unsigned steps = peer_scale(5000000, 200000) / n;
    fibers::mutex lock;
    uint64_t count = 0;
    peer_span span = crowd(n, [&](unsigned) {
        for (unsigned i = 0; i < steps; i++) {
            lock.lock();
            count++;
            lock.unlock();
        }
    });
    peer_check(count == (uint64_t)n * steps, "locks were lost");
    peer_row_per_op(name, &span, count);
}

static void mutex_alone() {
    lock_by("mutex-alone", 1);
}
static void mutex_2() {
    lock_by("mutex-2", 2);
}
static void mutex_100() {
    lock_by("mutex-100", 100);
}
static void mutex_1000() {
    lock_by("mutex-1000", 1000);
}

// ---- channels ----

typedef fibers::buffered_channel<uint64_t> buffered;
typedef fibers::unbuffered_channel<uint64_t> rendezvous;

// With several workers the players steal each other all the time, and a tenth of the balls will do.
template <class C> static void play(const char *name, C &there, C &back, unsigned rounds) {
    if (peer.workers > 1) {
        rounds = rounds / 10 + 1000;
    }
    inside([&] {
        uint64_t ball = 0;
        waitgroup ended(1);
        go([&] {
            uint64_t mine;
            while (there.pop(mine) == fibers::channel_op_status::success) {
                back.push(mine + 1);
            }
            ended.done();
        });
        peer_span span;
        for (unsigned i = 0; i < rounds + rounds / 10; i++) {
            if (i == rounds / 10) {
                span = peer_begin();
            }
            there.push(ball);
            back.pop(ball);
            ball++;
        }
        peer_end(&span);
        peer_check(ball == 2 * (uint64_t)(rounds + rounds / 10), "the ball was lost");
        peer_row_per_op(name, &span, rounds);
        there.close();
        ended.wait();
    });
}

static void pingpong() { // channels with room for one are its semaphores
    buffered there(2), back(2);
    play("pingpong", there, back, peer_scale(1000000, 50000));
}

static void chan_pingpong() {
    rendezvous there, back;
    play("chan-pingpong", there, back, peer_scale(1000000, 10000));
}

static void chan_pingpong_buffered() {
    buffered there(64), back(64);
    play("chan-pingpong-buffered", there, back, peer_scale(1000000, 10000));
}

static void stream(const char *name, unsigned sides, unsigned full) {
    // With several workers a tenth of the elements will do here, too.
    uint64_t elems = peer_scale(full / (peer.workers > 1 ? 10 : 1), 1000), n = 0, sum = 0;
    peer_span span;
    inside([&] {
        buffered c(64);
        waitgroup sending(sides), receiving(sides);
        std::vector<std::vector<uint64_t>> tallies(sides, std::vector<uint64_t>(16));
        span = peer_begin();
        for (unsigned i = 0; i < sides; i++) {
            go([&, i] {
                uint64_t elem, mine = 0, total = 0;
                while (c.pop(elem) == fibers::channel_op_status::success) {
                    mine++;
                    total += elem;
                }
                tallies[i][0] = mine;
                tallies[i][1] = total;
                receiving.done();
            });
        }
        for (unsigned i = 0; i < sides; i++) {
            go([&] {
                for (uint64_t elem = 1; elem <= elems; elem++) {
                    c.push(elem);
                }
                sending.done();
            });
        }
        sending.wait();
        c.close();
        receiving.wait();
        peer_end(&span);
        for (auto &t : tallies) {
            n += t[0];
            sum += t[1];
        }
    });
    peer_check(n == sides * elems && sum == sides * (elems * (elems + 1) / 2),
               "elements were lost");
    peer_row_per_op(name, &span, n);
}

static void chan_1_1() {
    stream("chan-1-1", 1, 4000000);
}
static void chan_4_4() {
    stream("chan-4-4", 4, 1000000);
}

// Five send 1000 numbers each through one channel that has room for a thousand.
static void contended() {
    const unsigned senders = 5, sent = 1000, rounds = peer_scale(200, 12);
    inside([&] {
        peer_span span;
        for (unsigned round = 0; round < rounds + rounds / 10 + 1; round++) {
            if (round == rounds / 10 + 1) {
                span = peer_begin();
            }
            buffered c(1024);
            waitgroup ended(senders + 1);
            uint64_t sum = 0;
            go([&] {
                for (unsigned i = 0; i < senders; i++) {
                    go([&] {
                        for (uint64_t elem = 0; elem < sent; elem++) {
                            c.push(elem);
                        }
                        ended.done();
                    });
                }
                uint64_t elem;
                for (unsigned i = 0; i < senders * sent; i++) {
                    c.pop(elem);
                    sum += elem;
                }
                ended.done();
            });
            ended.wait();
            peer_check(sum == senders * (uint64_t)(sent - 1) * sent / 2, "the sum is wrong");
        }
        peer_end(&span);
        peer_row_per_op("chan_contended", &span, rounds * senders * sent);
    });
}

// Depth first (dispatch), as in Boost's own skynet: a million stacks at once would not fit.
static void grow(buffered &up, uint64_t first, uint64_t leaves) {
    if (leaves == 1) {
        up.push(first);
        return;
    }
    buffered c(16);
    uint64_t sum = 0, part;
    fibers::fiber children[10];
    for (uint64_t i = 0; i < 10; i++) {
        children[i] = fibers::fiber(
            fibers::launch::dispatch, std::allocator_arg, *stack_of(),
            [&c, first, leaves, i] { grow(c, first + i * (leaves / 10), leaves / 10); });
    }
    for (unsigned i = 0; i < 10; i++) {
        c.pop(part);
        sum += part;
    }
    // The channel is this fiber's: no child may be in it any more.
    for (fibers::fiber &child : children) {
        child.join();
    }
    up.push(sum);
}

static void skynet_chan() {
    uint64_t leaves = peer.quick ? 10000 : 1000000, sum = 0;
    peer_span span;
    inside([&] {
        buffered c(2);
        span = peer_begin();
        fibers::fiber root(fibers::launch::dispatch, std::allocator_arg, *stack_of(),
                           [&] { grow(c, 0, leaves); });
        c.pop(sum);
        peer_end(&span);
        root.join();
    });
    peer_check(sum == leaves * (leaves - 1) / 2, "the sum is wrong");
    peer_row_ms("skynet-chan", &span, 1);
}

// ---- turns: channels are the semaphores and events ----

typedef std::vector<std::unique_ptr<buffered>> row_of_channels;

static row_of_channels channels(unsigned n, unsigned capacity) {
    row_of_channels all;
    for (unsigned i = 0; i < n; i++) {
        all.push_back(std::make_unique<buffered>(capacity));
    }
    return all;
}

static void take(buffered &c) {
    uint64_t elem;
    c.pop(elem);
}

// With several workers a tenth will do here, too.
static void many_to_many() {
    const unsigned members = 100, steps = peer_scale(20000 / (peer.workers > 1 ? 10 : 1), 1000);
    row_of_channels mailbox = channels(members, 128);
    std::atomic<unsigned> taken(0);
    peer_span span = crowd(members, [&](unsigned me) {
        unsigned mine = 0;
        for (unsigned i = 0; i < steps; i++) {
            mailbox[(me + 1 + i % (members - 1)) % members]->push(0);
            take(*mailbox[me]);
            mine++;
        }
        taken += mine;
    });
    peer_check(taken == members * steps, "steps were lost");
    peer_row_per_op("many-to-many", &span, (uint64_t)members * steps);
}

static void event_chain() {
    const unsigned links = 512, rounds = peer_scale(1000 / (peer.workers > 1 ? 10 : 1), 50);
    row_of_channels events = channels(links + 1, 2);
    uint64_t passed = 0;
    inside([&] {
        waitgroup ended(links);
        for (unsigned i = 0; i < links; i++) {
            go([&, i] {
                for (unsigned j = 0; j < rounds; j++) {
                    take(*events[i]);
                    passed++;
                    events[i + 1]->push(0);
                }
                ended.done();
            });
        }
        peer_span span;
        for (unsigned j = 0; j < rounds; j++) {
            if (j == rounds / 10) {
                span = peer_begin();
            }
            events[0]->push(0);
            take(*events[links]);
        }
        peer_end(&span);
        ended.wait();
        peer_row_per_op("event-chain", &span, (uint64_t)(rounds - rounds / 10) * links);
    });
    peer_check(passed == (uint64_t)rounds * links, "links were lost");
}

// With several workers the two steal each other all the time, and a tenth of the turns will do.
static void event_baton() {
    const unsigned part = peer.workers > 1 ? 10 : 1;
    const unsigned passes = peer_scale(262144 / part, 20000) / 2;
    row_of_channels mine = channels(2, 2);
    uint64_t passed = 0;
    inside([&] {
        waitgroup ended(1);
        go([&] {
            for (unsigned i = 0; i < passes; i++) {
                take(*mine[1]);
                passed++;
                mine[0]->push(0);
            }
            ended.done();
        });
        peer_span span = peer_begin();
        for (unsigned i = 0; i < passes; i++) {
            passed++;
            mine[1]->push(0);
            take(*mine[0]);
        }
        peer_end(&span);
        ended.wait();
        peer_row_per_op("event-baton", &span, 2 * (uint64_t)passes);
    });
    peer_check(passed == 2 * (uint64_t)passes, "the baton was lost");
}

// Each of 512 fibers waits for the one before; the last one is started first.
static void tickets() {
    const unsigned n = 512, rounds = peer_scale(1000, 50);
    row_of_channels turns = channels(n + 1, 2);
    uint64_t turn = 0;
    inside([&] {
        peer_span span;
        for (unsigned round = 0; round < rounds; round++) {
            if (round == rounds / 10) {
                span = peer_begin();
            }
            turns[0]->push(0);
            for (unsigned i = n; i-- > 0;) {
                go([&, i] {
                    take(*turns[i]);
                    peer_check(turn % n == i, "out of order");
                    turn++;
                    turns[i + 1]->push(0);
                });
            }
            take(*turns[n]);
        }
        peer_end(&span);
        peer_row_per_op("tickets", &span, (uint64_t)(rounds - rounds / 10) * n);
        for (unsigned i = 0; i < 100; i++) { // the last ones may still be on their way out
            boost::this_fiber::yield();
        }
    });
    peer_check(turn == (uint64_t)rounds * n, "turns were lost");
}

// A channel holds ten objects, which count, too.
static void pool_by(const char *name, unsigned n) {
    const unsigned steps = peer_scale(5000000, 200000) / n;
    struct alignas(64) object {
        uint64_t uses = 0;
    } objects[10];
    fibers::buffered_channel<object *> free(16);
    for (object &o : objects) {
        free.push(&o);
    }
    peer_span span = crowd(n, [&](unsigned) {
        object *o;
        for (unsigned i = 0; i < steps; i++) {
            free.pop(o);
            o->uses++;
            free.push(o);
        }
    });
    uint64_t uses = 0;
    for (object &o : objects) {
        uses += o.uses;
    }
    peer_check(uses == (uint64_t)n * steps, "uses were lost");
    peer_row_per_op(name, &span, uses);
}

static void pool_alone() {
    pool_by("pool-alone", 1);
}
static void pool_100() {
    pool_by("pool-100", 100);
}

// 200 fibers yield 1000 times each.
static void yield_many() {
    const unsigned n = 200, steps = 1000, rounds = peer_scale(20, 2);
    inside([&] {
        peer_span span;
        uint32_t *slots = peer_slots(n);
        for (unsigned round = 0; round < rounds + 2; round++) {
            if (round == 2) {
                span = peer_begin();
            }
            round_done.reset(n);
            for (unsigned i = 0; i < n; i++) {
                go([slot = &slots[i]] {
                    for (unsigned j = 0; j < steps; j++) {
                        boost::this_fiber::yield();
                        ++*slot;
                    }
                    round_done.done();
                });
            }
            round_done.wait();
        }
        peer_end(&span);
        peer_check_slots(slots, n, (rounds + 2) * steps);
        peer_row_per_op("yield_many", &span, (uint64_t)rounds * n * steps);
    });
}

// A thousand fibers start two each, which talk once over two channels for one value.
static void talk_round(uint32_t *slots, unsigned n) {
    round_done.reset(n);
    for (unsigned i = 0; i < n; i++) {
        go([slot = &slots[i]] {
            buffered there(2), back(2);
            fibers::fiber other(fibers::launch::post, std::allocator_arg, *stack_of(), [&] {
                uint64_t ball;
                there.pop(ball);
                back.push(ball + 1);
            });
            uint64_t ball;
            there.push(1);
            back.pop(ball);
            *slot += ball == 2;
            other.join();
            round_done.done();
        });
    }
    round_done.wait();
}

static void ping_pong() {
    inside([] { peer_rounds("ping_pong", 1000, peer_scale(100, 7), talk_round); });
}

#endif
