/*
 * thrown.cpp: exceptions that nobody catches. faults.py has the expected reports.
 *   faults_cpp NAME [OPTION...]
 */
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <thrum/cpp/test.hpp>
#include <thrum/thrum.hpp>

namespace {

struct odd_number : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

struct no_exception {
    int number;
};

void half(int n) {
    if (n % 2 != 0) {
        throw odd_number("3 is odd");
    }
}

int task_throws(void *) {
    thrum_yield();
    half(3);
    return 0;
}

int of_a_task(void *) {
    thrum_handle *h;
    THRUM_TEST(thrum_spawn(&h, task_throws, nullptr) == 0);
    return thrum_join(h, nullptr);
}

void thread_throws(void *) {
    throw no_exception{7};
}

int of_a_thread(void *) {
    thrum_test_thread thread;
    THRUM_TEST(thrum_test_thread_start(&thread, thread_throws, nullptr) == 0);
    thrum_test_thread_join(&thread);
    return 0;
}

int of_the_test(void *) {
    half(5);
    return 0;
}

int forgets_object(void *) {
    static_cast<void>(new odd_number("1 is odd"));
    return 0;
}

int terminates(void *) {
    std::terminate();
}

} // namespace

int main(int argc, char **argv) {
    const struct {
        const char *name;
        thrum_fn fn;
    } cases[] = {{"of_a_task", of_a_task},
                 {"of_a_thread", of_a_thread},
                 {"of_the_test", of_the_test},
                 {"forgets_object", forgets_object},
                 {"terminates", terminates}};
    for (const auto &one : cases) {
        if (argc > 1 && std::strcmp(argv[1], one.name) == 0) {
            argv[1] = argv[0];
            return thrum_test_main(argc - 1, argv + 1, one.fn, nullptr);
        }
    }
    if (argc > 1 && std::strcmp(argv[1], "of_a_lambda") == 0) {
        argv[1] = argv[0];
        return thrum::test(argc - 1, argv + 1, [] { half(3); });
    }
    return 2;
}
