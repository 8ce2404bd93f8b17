/*
 * marl/deprecated.h: a mark for declarations that will be removed. The scheduler's old constructor,
 * getters and setters are declared unless the program sets the first macro to 0. They warn, unless
 * it sets the second one to 0.
 */
#ifndef THRUM_COMPAT_MARL_DEPRECATED_H
#define THRUM_COMPAT_MARL_DEPRECATED_H

#ifndef MARL_ENABLE_DEPRECATED_SCHEDULER_GETTERS_SETTERS
#define MARL_ENABLE_DEPRECATED_SCHEDULER_GETTERS_SETTERS 1
#endif

#ifndef MARL_WARN_DEPRECATED
#define MARL_WARN_DEPRECATED 1
#endif

#if !MARL_WARN_DEPRECATED
#define MARL_DEPRECATED(issue_num, message)
#elif defined(_MSC_VER)
#define MARL_DEPRECATED(issue_num, message)                                                        \
    __declspec(deprecated(message " (marl's issue " #issue_num ")"))
#else
#define MARL_DEPRECATED(issue_num, message)                                                        \
    __attribute__((deprecated(message " (marl's issue " #issue_num ")")))
#endif

#endif
