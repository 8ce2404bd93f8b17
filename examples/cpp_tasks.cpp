/*
 * cpp_tasks.cpp: thrum from C++: tasks of a scope take words from a channel and count them,
 * and the first that fails cancels the others.
 */
#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thrum/thrum.hpp>

/* Counts what comes; throws at a word that is none. */
static void count(thrum::chan<std::string> &words, thrum::mutex &lock,
                  std::map<std::string, int> &counts) {
    for (std::string &word : words) {
        if (word.empty()) {
            throw std::runtime_error("an empty word");
        }
        std::lock_guard<thrum::mutex> guard(lock);
        counts[word]++;
    }
}

static int count_all(const char *const *text, size_t n) {
    thrum::chan<std::string> words(4);
    thrum::mutex lock;
    std::map<std::string, int> counts;
    {
        thrum::scope counters;
        for (int i = 0; i < 3; i++) {
            counters.go([&] { count(words, lock, counts); });
        }
        for (size_t i = 0; i < n; i++) {
            words.send(text[i]);
        }
        words.close();
        counters.join(); /* throws what one of them threw */
    }
    for (const auto &[word, times] : counts) {
        std::printf("%s %d\n", word.c_str(), times);
    }
    return (int)counts.size();
}

int main() {
    static const char *const good[] = {"to", "be", "or", "not", "to", "be"};
    static const char *const bad[] = {"to", "", "be"};
    return thrum::run([] {
        thrum::task<int> counted = thrum::spawn([] { return count_all(good, 6); });
        const bool all = counted.join() == 4;
        try {
            count_all(bad, 3);
        } catch (const std::runtime_error &error) {
            std::printf("failed: %s\n", error.what());
            return all ? 0 : 1;
        }
        return 1;
    });
}
