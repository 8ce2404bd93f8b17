/*
 * forks.cpp: what a thrum::fork keeps of its call until the join, wherever the call was made.
 */
/* matrix: policy workers */
#include "check.h"

#include <memory>
#include <stdexcept>
#include <string>

#include <thrum/thrum.hpp>

#include "support/cxx.hpp"

namespace {

/* A result that only moves, and counts how often it does. */
struct moved : counted {
    explicit moved(int *count) noexcept : moves(count) {
    }
    moved(moved &&other) noexcept : counted(std::move(other)), moves(other.moves) {
        ++*moves;
    }
    int *moves;
};

/* What is thrown; counted, too, so that one that nobody catches is seen to go. */
struct failure : std::runtime_error {
    failure() : std::runtime_error("of a fork") {
    }
    failure(const failure &other) : std::runtime_error(other), kept() {
    }
    counted kept;
};

/*
 * Calls `with(leave)`: `leave` does nothing, or has another task make the calls that are open, and
 * returns whether it has done that. Where it has not, a thief may have.
 */
template <typename Fn> void here_and_elsewhere(Fn with) {
    thrum::run([&] {
        with([] { return false; });
        with([] {
            thrum::yield(); /* a task that lets others run leaves its forks to them */
            return true;
        });
    });
    CHECK_EQ(counted::alive.load(), 0);
}

} // namespace

TEST(a_result_is_made_in_its_place) {
    /*
     * It is the join's where that makes the call; otherwise it moves once, out of the fork at the
     * join. It is destroyed as often as it was made.
     */
    here_and_elsewhere([](auto leave) {
        int moves = 0;
        thrum::fork one([&] { return moved(&moves); });
        const bool left = leave();
        {
            const moved got = one.join();
            CHECK(moves == 1 || (moves == 0 && !left));
            CHECK_EQ(counted::alive.load(), 1);
        }
        CHECK_EQ(counted::alive.load(), 0);
    });
}

TEST(a_fork_that_is_not_joined_drops_what_its_call_returned_or_threw) {
    /* Its destructor makes the call, or waits for it. */
    here_and_elsewhere([](auto leave) {
        int moves = 0;
        int threw = 0;
        {
            thrum::fork returns([&] { return moved(&moves); });
            thrum::fork throws([&]() -> std::string {
                threw++;
                throw failure();
            });
            leave();
        }
        CHECK_EQ(moves, 0);
        CHECK_EQ(threw, 1);
        CHECK_EQ(counted::alive.load(), 0);
    });
}

TEST(a_join_throws_what_the_call_threw_and_keeps_it_no_more) {
    /* Whatever the call returns otherwise: something, a reference, nothing. */
    here_and_elsewhere([](auto leave) {
        const auto threw = [&](auto returns) {
            thrum::fork one([&]() -> decltype(returns()) { throw failure(); });
            leave();
            try {
                (void)one.join();
            } catch (const failure &error) {
                CHECK_STR(error.what(), "of a fork");
                return true;
            }
            return false;
        };
        int there = 0;
        CHECK(threw([] { return std::string(); }));
        CHECK(threw([&]() -> int & { return there; }));
        CHECK(threw([] {}));
        CHECK_EQ(counted::alive.load(), 0);
    });
}

TEST(a_fork_may_return_a_reference_a_constant_or_nothing) {
    /* A reference is to what the call returned; of a constant it is a copy. */
    here_and_elsewhere([](auto leave) {
        int there = 1;
        int called = 0;
        thrum::fork refers([&]() -> int & { return there; });
        thrum::fork constant([]() -> const std::string { return std::string(100, 'x'); });
        thrum::fork owns([] { return std::make_unique<int>(7); });
        thrum::fork nothing([&] { called++; });
        leave();
        nothing.join();
        CHECK_EQ(called, 1);
        CHECK_EQ(*owns.join(), 7);
        CHECK_EQ(constant.join().size(), 100u);
        CHECK(&refers.join() == &there);
    });
}

TEST(a_result_that_throws_as_it_moves_is_destroyed) {
    /* The join throws it, and the fork has nothing to join any more. */
    struct throws : counted {
        throws() = default;
        throws(throws &&) : counted() {
            throw failure();
        }
    };
    here_and_elsewhere([](auto leave) {
        int code = 0;
        bool left = false;
        {
            thrum::fork one([] { return throws(); });
            left = leave();
            code = code_of([&] { (void)one.join(); });
        }
        CHECK(code == -1 || (code == 0 && !left)); /* it does not move where the join makes it */
        CHECK_EQ(counted::alive.load(), 0);
    });
}
