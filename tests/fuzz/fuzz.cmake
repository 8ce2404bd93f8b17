# Programs of random operations (README.md): the program, its tests, and libFuzzer's target where the
# build has coverage (preset clang-fuzz).
set(fuzz_sources act.c child.c gate.c main.c objects.c program.c stepped.c
  free/free.c free/free_io.c free/free_ops.c free/free_sem.c free/free_tasks.c free/wire.c
  model/model.c model/model_chans.c model/model_counts.c model/model_locks.c model/model_tasks.c)
if(WIN32) # no process forks, and there are no pipes
  list(REMOVE_ITEM fuzz_sources child.c free/free_io.c free/wire.c)
  list(APPEND fuzz_sources child_none.c free/free_io_none.c)
endif()
list(TRANSFORM fuzz_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/)

function(fuzz_program name)
  thrum_program(${name} ${ARGN} LINK thrum_inside)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_options(${name} PRIVATE -Wl,--wrap=th_os_now
    -Wl,--wrap=th_os_futex_wait -Wl,--wrap=th_os_futex_wake)
endfunction()

fuzz_program(thrum-fuzz ${fuzz_sources})
if(THRUM_SANITIZE MATCHES "fuzzer")
  set(target_sources ${fuzz_sources})
  list(FILTER target_sources EXCLUDE REGEX "/(main|child|free/[a-z_]*)\\.c$")
  fuzz_program(thrum-fuzz-target ${target_sources} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/target.c)
  target_link_options(thrum-fuzz-target PRIVATE -fsanitize=fuzzer)
endif()

# `fuzz_test(name size options...)`: fixed seeds
function(fuzz_test name size)
  math(EXPR own "550 * ${THRUM_TIMEOUT_FACTOR}")
  math(EXPR limit "600 * ${THRUM_TIMEOUT_FACTOR}")
  add_test(NAME fuzz/${name} COMMAND thrum-fuzz --limit ${own} ${ARGN})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS "fuzz;${size}" TIMEOUT ${limit})
endfunction()

file(GLOB fuzz_corpus CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/*)
foreach(workers IN ITEMS 0 1)
  fuzz_test(stepped_w${workers} quick --seed 1 --ops 60000 --workers ${workers})
  fuzz_test(stepped_short_w${workers} quick --seed 7 --ops 30000 --length 40 --workers ${workers})
  fuzz_test(stepped_lifo_w${workers} quick --seed 3 --ops 60000 --workers ${workers} --lifo)
  fuzz_test(stepped_fresh_w${workers} quick --seed fresh --ops 60000 --workers ${workers})
  fuzz_test(corpus_w${workers} quick --workers ${workers} --replay ${fuzz_corpus})
endforeach()
fuzz_test(corpus_free quick --free --workers 2 --replay ${fuzz_corpus})
foreach(policy IN ITEMS 0 1 2)
  list(GET matrix_policies ${policy} policy_name)
  foreach(workers IN ITEMS 1 2 4 8)
    fuzz_test(free[${policy_name},w${workers}] quick --free --policy ${policy}
      --workers ${workers} --seed 11 --ops 20000)
    fuzz_test(free_fresh[${policy_name},w${workers}] full --free --policy ${policy}
      --workers ${workers} --seed fresh --ops 200000)
  endforeach()
endforeach()
fuzz_test(free_fresh quick --free --workers 3 --seed fresh --ops 20000)
fuzz_test(stepped_long full --seed fresh --ops 2000000)

# Small histories of one object each, and two objects that are wrong on purpose.
thrum_program(thrum-linear ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/linear.c
  ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/linear_check.c)
foreach(object IN ITEMS semaphore mutex auto-event manual-event pool channel
        broken-semaphore broken-channel)
  set(histories 3000)
  if(object MATCHES "broken")
    set(histories 200000) # the run ends when the plant is found
  endif()
  add_test(NAME fuzz/linear_${object} COMMAND thrum-linear --object ${object}
    --histories ${histories} --seed fresh)
  math(EXPR limit "600 * ${THRUM_TIMEOUT_FACTOR}")
  set_tests_properties(fuzz/linear_${object} PROPERTIES LABELS "fuzz;quick" TIMEOUT ${limit})
endforeach()
