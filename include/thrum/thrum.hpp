/*
 * thrum/thrum.hpp: thrum for C++17 and later, in namespace thrum. It consists of headers only: link
 * the C library.
 */
#ifndef THRUM_THRUM_HPP
#define THRUM_THRUM_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "thrum/thrum.hpp needs C++17"
#endif

#include "thrum.h"
#include "thrum/cpp/around.hpp"
#include "thrum/cpp/await.hpp"
#include "thrum/cpp/awaited.hpp"
#include "thrum/cpp/bcast.hpp"
#include "thrum/cpp/chan.hpp"
#include "thrum/cpp/coroutine.hpp"
#include "thrum/cpp/count.hpp"
#include "thrum/cpp/dag.hpp"
#include "thrum/cpp/datagram.hpp"
#include "thrum/cpp/error.hpp"
#include "thrum/cpp/event.hpp"
#include "thrum/cpp/file.hpp"
#include "thrum/cpp/fork.hpp"
#include "thrum/cpp/interval.hpp"
#include "thrum/cpp/io.hpp"
#include "thrum/cpp/join_set.hpp"
#include "thrum/cpp/local.hpp"
#include "thrum/cpp/locked.hpp"
#include "thrum/cpp/mutex.hpp"
#include "thrum/cpp/once.hpp"
#include "thrum/cpp/parallel.hpp"
#include "thrum/cpp/poll.hpp"
#include "thrum/cpp/pool.hpp"
#include "thrum/cpp/process.hpp"
#include "thrum/cpp/scheduler.hpp"
#include "thrum/cpp/scope.hpp"
#include "thrum/cpp/select.hpp"
#include "thrum/cpp/serve.hpp"
#include "thrum/cpp/stop.hpp"
#include "thrum/cpp/stream.hpp"
#include "thrum/cpp/task.hpp"
#include "thrum/cpp/tickets.hpp"
#include "thrum/cpp/watch.hpp"
#include "thrum/cpp/when.hpp"

#endif
