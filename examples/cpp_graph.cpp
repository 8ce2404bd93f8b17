/*
 * cpp_graph.cpp: a graph of calls that is built once and run for several inputs at a time, and a
 * value that each task has for itself.
 */
#include <cstdio>
#include <string>
#include <thrum/thrum.hpp>

/* What one run works on. */
struct report {
    std::string text;
    size_t letters = 0;
    size_t lines = 0;
    std::string said;
};

int main() {
    return thrum::run([] {
        thrum::local<int> seen; /* how many reports this task has asked for */
        thrum::dag graph;
        const int letters = graph.node([](void *run) {
            auto &r = *static_cast<report *>(run);
            r.letters = r.text.size();
        });
        const int lines = graph.node([](void *run) {
            auto &r = *static_cast<report *>(run);
            for (char c : r.text) {
                r.lines += c == '\n';
            }
        });
        const int says = graph.node([](void *run) {
            auto &r = *static_cast<report *>(run);
            r.said = std::to_string(r.letters) + " bytes, " + std::to_string(r.lines) + " lines";
        });
        graph.edge(letters, says); /* the two counts may be made at the same time */
        graph.edge(lines, says);

        report one{"a\nb\n"};
        report two{"a longer line\n"};
        auto other = thrum::spawn([&] {
            seen.value()++;
            graph.run(&two); /* two runs at a time */
            return seen.value();
        });
        graph.run(&one);
        seen.value()++;
        const int asked = other.join() + seen.value();
        std::printf("%s; %s; %d reports\n", one.said.c_str(), two.said.c_str(), asked);
        return one.lines == 2 && two.letters == 14 && asked == 2 ? 0 : 1;
    });
}
