/*
 * thrum/cpp/dag.hpp: calls with an order between some of them, built once and run again and again.
 * The rules are those of thrum/dag.h.
 *
 *     thrum::dag graph;
 *     int load = graph.node([&] { read(table); });
 *     int sort = graph.node([&] { arrange(table); });
 *     graph.edge(load, sort);
 *     graph.run();
 */
#ifndef THRUM_CPP_DAG_HPP
#define THRUM_CPP_DAG_HPP

#include <memory>
#include <type_traits>
#include <utility>

#include "thrum/cpp/outcome.hpp"
#include "thrum/dag.h"
#include "thrum/mutex.h"

namespace thrum {
inline namespace THRUM_CPP_ABI {
namespace detail {

/* One run of a graph: its argument, and the exception of the node with the lowest number. */
struct dag_running {
    void *arg;
    thrum_mutex lock;
    int number;
    caught thrown;
};

/* A node: one allocation, in a list that its graph owns. */
struct dag_node {
    virtual ~dag_node() = default;
    virtual int call(void *arg) = 0;
    std::unique_ptr<dag_node> before;
    int number = 0;

    static int main(void *arg, void *run_arg) noexcept {
        auto *self = static_cast<dag_node *>(arg);
        auto *run = static_cast<dag_running *>(run_arg);
        int code = 0;
        caught thrown;
        thrown.around([&] { code = self->call(run->arg); });
        if (thrown.is_set()) {
            code = -ECANCELED; /* so that the nodes after it are not called */
            thrum_mutex_lock(&run->lock);
            if (!run->thrown.is_set() || self->number < run->number) {
                run->number = self->number;
                run->thrown = std::move(thrown);
            }
            thrum_mutex_unlock(&run->lock);
        }
        return code;
    }
};

template <typename Fn> struct dag_call final : dag_node {
    explicit dag_call(Fn &&from) : fn(std::move(from)) {
    }
    int call(void *arg) override {
        if constexpr (std::is_invocable_v<Fn &, void *>) {
            return code_of(arg);
        } else {
            (void)arg;
            return code_of();
        }
    }
    template <typename... Arg> int code_of(Arg... arg) {
        if constexpr (std::is_same_v<std::invoke_result_t<Fn &, Arg...>, int>) {
            return fn(arg...);
        } else {
            (void)fn(arg...);
            return 0;
        }
    }
    Fn fn;
};

} // namespace detail

/*
 * A graph, and its nodes' callables, with one owner; it can be moved while it does not run. The
 * destructor ends the program (std::terminate) while it runs.
 */
class dag {
  public:
    /* Throws std::system_error (ENOMEM). */
    dag() {
        check(thrum_dag_create(&dag_));
    }
    dag(dag &&other) noexcept
        : dag_(std::exchange(other.dag_, nullptr)), nodes_(std::move(other.nodes_)) {
    }
    dag &operator=(dag &&other) noexcept {
        dag taken(std::move(other)); /* at its end it frees the old one */
        std::swap(dag_, taken.dag_);
        std::swap(nodes_, taken.nodes_);
        return *this;
    }
    ~dag() {
        const int err = thrum_dag_destroy(dag_);
        if (err != 0) {
            detail::refused("thrum::~dag", err);
        }
        while (nodes_) { /* one after the other: a chain of destructors would be as deep as long */
            nodes_ = std::move(nodes_->before);
        }
    }

    /*
     * Adds a node and returns its number, which counts from 0. `fn` takes nothing, or the `void *`
     * of the run. It fails by an exception, or by returning an int that is not 0. One allocation.
     * Throws std::bad_alloc, and std::system_error: ENOMEM, EBUSY while a run is on.
     */
    template <typename Fn> int node(Fn fn) {
        std::unique_ptr<detail::dag_node> made =
            std::make_unique<detail::dag_call<Fn>>(std::move(fn));
        made->number = check(thrum_dag_node_with(dag_, detail::dag_node::main, made.get()));
        const int number = made->number;
        made->before = std::move(nodes_);
        nodes_ = std::move(made);
        return number;
    }
    /* From now on `before` has returned when `after` is called. Throws std::system_error. */
    void edge(int before, int after) {
        check(thrum_dag_edge(dag_, before, after));
    }
    /*
     * Calls every node once, several at a time, and waits until all is done. If a node fails, the
     * nodes that come after it are not called. The run throws the exception of the failed node with
     * the lowest number, or std::system_error with its code (EIO for a code above 0). With no node
     * called it throws ELOOP or ENOMEM. Several runs may go on at the same time. It may suspend.
     */
    void run(void *arg = nullptr) {
        const int code = try_run(arg).code();
        check(code > 0 ? -EIO : code);
    }
    /* The same, but codes are returned, also one above 0; exceptions are thrown nevertheless. */
    status try_run(void *arg = nullptr) {
        detail::dag_running one{arg, THRUM_MUTEX_INIT, 0, {}};
        const int code = thrum_dag_run_with(dag_, &one);
        one.thrown.raise_any();
        return status(code);
    }
    thrum_dag *native_handle() const noexcept {
        return dag_;
    }

  private:
    thrum_dag *dag_ = nullptr;
    std::unique_ptr<detail::dag_node> nodes_;
};

} // namespace THRUM_CPP_ABI
} // namespace thrum

#endif
