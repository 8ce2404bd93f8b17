/*
 * atomics.h: in the test kit, it is included before each of the library's files. With --granularity
 * atomics, it makes each atomic operation a point at which another thread may go on.
 */
#ifndef KIT_ATOMICS_H
#define KIT_ATOMICS_H

#ifndef __ASSEMBLER__
extern int kit_atomics;
void kit_atomic_point(void);
#endif

#define KIT_ATOMIC (__builtin_expect(kit_atomics, 0) ? kit_atomic_point() : (void)0)

#define __atomic_load_n(...) (KIT_ATOMIC, __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) (KIT_ATOMIC, __atomic_store_n(__VA_ARGS__))
#define __atomic_exchange_n(...) (KIT_ATOMIC, __atomic_exchange_n(__VA_ARGS__))
#define __atomic_fetch_add(...) (KIT_ATOMIC, __atomic_fetch_add(__VA_ARGS__))
#define __atomic_fetch_sub(...) (KIT_ATOMIC, __atomic_fetch_sub(__VA_ARGS__))
#define __atomic_fetch_or(...) (KIT_ATOMIC, __atomic_fetch_or(__VA_ARGS__))
#define __atomic_fetch_and(...) (KIT_ATOMIC, __atomic_fetch_and(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) (KIT_ATOMIC, __atomic_compare_exchange_n(__VA_ARGS__))

#endif
