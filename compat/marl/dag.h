/*
 * marl/dag.h: graphs of functions, built once and run any number of times, also at the same time. A
 * function is called when all that it depends on have returned.
 *
 *     marl::DAG<int &>::Builder builder;
 *     auto first = builder.root().then([](int &n) { n += 1; });
 *     first.then([](int &n) { n *= 2; });
 *     auto dag = builder.build();
 *     dag->run(number);
 */
#ifndef THRUM_COMPAT_MARL_DAG_H
#define THRUM_COMPAT_MARL_DAG_H

#include "containers.h"
#include "export.h"
#include "memory.h"
#include "scheduler.h"
#include "waitgroup.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace marl {

template <typename T> class DAG;
template <typename T> class DAGBuilder;
template <typename T> class DAGNodeBuilder;

namespace detail {

/* How a graph's functions are called: with the data of the run, or without. */
template <typename T> struct DAGData {
    using Work = std::function<void(T)>;

    typename std::remove_reference<T>::type &data;
    void call(const Work &work) {
        work(static_cast<T>(data));
    }
};

template <> struct DAGData<void> {
    using Work = std::function<void()>;

    void call(const Work &work) {
        work();
    }
};

} // namespace detail

/* What DAG<T> and DAG<void> have in common. */
template <typename T> class DAGBase {
  protected:
    friend DAGBuilder<T>;
    friend DAGNodeBuilder<T>;

    using Data = detail::DAGData<T>;
    using Work = typename Data::Work;
    using Index = std::size_t;
    static constexpr Index none = ~static_cast<Index>(0);

    struct Node {
        Node(Work &&what, Allocator *allocator) : work(std::move(what)), outs(allocator) {
        }
        Node(Node &&other)
            : work(std::move(other.work)), ins(other.ins), counter(other.counter),
              outs(std::move(other.outs), other.outs.allocator) {
        }

        Work work;         /* none for the root */
        uint32_t ins = 0;  /* the number of nodes that it depends on */
        Index counter = 0; /* its place among the counters of a run, if that is above 1 */
        containers::vector<Index, 4> outs;
    };

    struct Run {
        Data data;
        Allocator::unique_ptr<std::atomic<uint32_t>> counters; /* what each node waits for yet */
        WaitGroup tasks;
    };

    DAGBase(Allocator *allocator) : nodes(allocator) {
    }

    void run_all(Data data, Allocator *allocator) {
        Run run{data, allocator->make_unique_n<std::atomic<uint32_t>>(counters, 0u),
                WaitGroup(0, allocator)};
        for (const Node &node : nodes) {
            if (node.ins > 1) {
                run.counters.get()[node.counter] = node.ins;
            }
        }
        invoke(&run, 0);
        run.tasks.wait();
    }

    /* Calls the node, then the last of those that have become ready; tasks call the others. */
    void invoke(Run *run, Index index) {
        while (index != none) {
            const Node &node = nodes[index];
            if (node.work) {
                run->data.call(node.work);
            }
            index = none;
            for (const Index out : node.outs) {
                if (is_ready(run, nodes[out])) {
                    if (index != none) {
                        start(run, index);
                    }
                    index = out;
                }
            }
        }
    }

    static bool is_ready(Run *run, const Node &node) {
        return node.ins <= 1 || --run->counters.get()[node.counter] == 0;
    }

    void start(Run *run, Index index) {
        const WaitGroup tasks = run->tasks; /* the run itself may end with the last done() */
        tasks.add(1);
        schedule([this, run, index, tasks] {
            invoke(run, index);
            tasks.done();
        });
    }

    containers::vector<Node, 32> nodes; /* the first is the root */
    std::size_t counters = 0;           /* how many nodes depend on more than one */
};

template <typename T> constexpr typename DAGBase<T>::Index DAGBase<T>::none;

/* A node of a graph that is being built. */
template <typename T> class DAGNodeBuilder {
  public:
    /* Makes a node that depends on this one. */
    template <typename F> DAGNodeBuilder then(F &&work) {
        return builder->node(std::forward<F>(work), {*this});
    }

  private:
    friend DAGBuilder<T>;
    DAGNodeBuilder(DAGBuilder<T> *of, std::size_t number) : builder(of), index(number) {
    }

    DAGBuilder<T> *builder;
    std::size_t index;
};

template <typename T> class DAGBuilder {
  public:
    DAGBuilder(Allocator *from = Allocator::Default)
        : allocator(from), dag(from->make_unique<DAG<T>>(from)) {
        dag->nodes.emplace_back(Node(nullptr, from));
    }

    DAGNodeBuilder<T> root() {
        return DAGNodeBuilder<T>(this, 0);
    }

    /* Makes a node, which is called if it depends on one that is called. */
    template <typename F> DAGNodeBuilder<T> node(F &&work) {
        return node(std::forward<F>(work), {});
    }

    /* Makes a node that depends on the others. */
    template <typename F>
    DAGNodeBuilder<T> node(F &&work, std::initializer_list<DAGNodeBuilder<T>> after) {
        const DAGNodeBuilder<T> made(this, dag->nodes.size());
        dag->nodes.emplace_back(Node(Work(std::forward<F>(work)), allocator));
        for (const DAGNodeBuilder<T> &parent : after) {
            addDependency(parent, made);
        }
        return made;
    }

    void addDependency(DAGNodeBuilder<T> parent, DAGNodeBuilder<T> child) {
        dag->nodes[child.index].ins++;
        dag->nodes[parent.index].outs.push_back(child.index);
    }

    /* Ends the building. */
    Allocator::unique_ptr<DAG<T>> build() {
        for (Node &node : dag->nodes) {
            if (node.ins > 1) {
                node.counter = dag->counters++;
            }
        }
        return std::move(dag);
    }

  private:
    using Node = typename DAGBase<T>::Node;
    using Work = typename DAGBase<T>::Work;

    Allocator *const allocator;
    Allocator::unique_ptr<DAG<T>> dag;
};

/* T is the type of the data that each function gets: usually a reference. */
template <typename T = void> class DAG : public DAGBase<T> {
  public:
    using Builder = DAGBuilder<T>;
    using NodeBuilder = DAGNodeBuilder<T>;

    DAG(Allocator *allocator = Allocator::Default) : DAGBase<T>(allocator) {
    }

    /* Calls all of the functions with the data, and returns when all have returned. */
    void run(T &data, Allocator *allocator = Allocator::Default) {
        this->run_all(typename DAGBase<T>::Data{data}, allocator);
    }
};

template <> class DAG<void> : public DAGBase<void> {
  public:
    using Builder = DAGBuilder<void>;
    using NodeBuilder = DAGNodeBuilder<void>;

    DAG(Allocator *allocator = Allocator::Default) : DAGBase<void>(allocator) {
    }

    void run(Allocator *allocator = Allocator::Default) {
        run_all(Data{}, allocator);
    }
};

} // namespace marl

#endif
