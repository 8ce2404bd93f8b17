# gdb on another processor, by qemu's stub.
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_CROSSCOMPILING_EMULATOR)
  thrum_program(house_waiting debug/waiting.c)
  add_test(NAME house/gdb_qemu COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/debug/thrum-gdb.sh qemu
    $<TARGET_FILE:house_waiting> ${CMAKE_CROSSCOMPILING_EMULATOR})
  set_tests_properties(house/gdb_qemu PROPERTIES LABELS "house;quick" TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()

# Tests of the house: style, floors, headers, what is exported and installed, the snippets. They say
# the same in every build, so that they run in the plain release builds only.
if(THRUM_SANITIZE OR CMAKE_CROSSCOMPILING OR NOT CMAKE_BUILD_TYPE STREQUAL "Release"
   OR NOT THRUM_CONTEXT STREQUAL "auto" OR NOT THRUM_PLATFORM STREQUAL "auto" OR THRUM_AMALGAMATION)
  return()
endif()

# Those that only compile, and those that `make check` runs as well: in .ci/run and `make test-full`, not in `make test`.
set(house_full floors style checks_can_fail tables models prose reference rooms amalgamation links pages version rehearse headers cpp_pages cpp_refused
  compile_time snippets ports install meson plain_c mpi_model)

function(house_test name)
  set(size quick)
  if(name IN_LIST house_full)
    set(size full)
  endif()
  add_test(NAME house/${name} COMMAND ${ARGN})
  set_tests_properties(house/${name} PROPERTIES LABELS "house;${size}" TIMEOUT 600 COST 100
    ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
endfunction()

house_test(floors ${PROJECT_SOURCE_DIR}/tools/check/floors)
house_test(style ${PROJECT_SOURCE_DIR}/tools/check/style)
house_test(checks_can_fail ${PROJECT_SOURCE_DIR}/tools/check/self-test)
find_program(THRUM_PYTHON python3)
if(THRUM_PYTHON)
  house_test(tables ${PROJECT_SOURCE_DIR}/tools/check/tables)
  house_test(models ${PROJECT_SOURCE_DIR}/tools/check/models)
  house_test(prose ${PROJECT_SOURCE_DIR}/tools/check/prose)
  house_test(missing ${PROJECT_SOURCE_DIR}/tools/check/missing)
  house_test(reference ${PROJECT_SOURCE_DIR}/tools/release/reference --check)
  house_test(amalgamation ${CMAKE_CURRENT_SOURCE_DIR}/install/amalgamation.sh ${CMAKE_C_COMPILER})
  house_test(links ${CMAKE_CURRENT_SOURCE_DIR}/install/links.sh)
  house_test(pages ${CMAKE_CURRENT_SOURCE_DIR}/install/pages.sh)
  house_test(mpi_model ${PROJECT_SOURCE_DIR}/bench/mpi/model.py --check)
  house_test(version ${PROJECT_SOURCE_DIR}/tools/release/version --check)
  house_test(rehearse ${PROJECT_SOURCE_DIR}/tools/release/rehearse)
  set_tests_properties(house/rehearse PROPERTIES SKIP_RETURN_CODE 77)
  house_test(rooms ${PROJECT_SOURCE_DIR}/tools/check/rooms
    --objects ${PROJECT_BINARY_DIR}/CMakeFiles/thrum_static.dir)
endif()
if(THRUM_PYTHON) # the site, where Sphinx is; in Chromium where that is
  house_test(site ${CMAKE_CURRENT_SOURCE_DIR}/tools/site.py)
  set_tests_properties(house/site PROPERTIES LABELS "house;full" SKIP_RETURN_CODE 77)
endif()
if(THRUM_PYTHON) # the page of a trace; in Chromium where that is
  if(TARGET example_trace)
    set(traced $<TARGET_FILE:example_trace>)
  endif()
  house_test(timeline_reading ${CMAKE_CURRENT_SOURCE_DIR}/tools/timeline/reading.py ${traced})
  house_test(timeline_browser ${CMAKE_CURRENT_SOURCE_DIR}/tools/timeline/browser.py)
  set_tests_properties(house/timeline_browser PROPERTIES SKIP_RETURN_CODE 77)
endif()
if(THRUM_PYTHON) # a view of a running program; in a terminal where tmux is
  house_test(top_odd ${CMAKE_CURRENT_SOURCE_DIR}/tools/top/odd.py)
  thrum_program(house_busy tools/top/busy.c)
  foreach(part once terminal)
    house_test(top_${part} ${CMAKE_CURRENT_SOURCE_DIR}/tools/top/top.py ${part} $<TARGET_FILE:house_busy>)
    set_tests_properties(house/top_${part} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()
thrum_program(house_metrics tools/metrics.c)
house_test(promtool ${CMAKE_CURRENT_SOURCE_DIR}/tools/promtool.sh $<TARGET_FILE:house_metrics>)
set_tests_properties(house/promtool PROPERTIES SKIP_RETURN_CODE 77)
house_test(dropped ${CMAKE_CURRENT_SOURCE_DIR}/tools/dropped.sh ${CMAKE_C_COMPILER})
house_test(headers ${PROJECT_SOURCE_DIR}/tools/check/headers)
house_test(cpp_pages ${CMAKE_CURRENT_SOURCE_DIR}/tools/cpp-pages.sh)
if(CMAKE_CXX_COMPILER)
  house_test(cpp_refused ${CMAKE_CURRENT_SOURCE_DIR}/tools/cpp-refused.sh ${CMAKE_CXX_COMPILER})
  set_tests_properties(house/cpp_refused PROPERTIES SKIP_RETURN_CODE 77)
endif()
if(THRUM_PYTHON AND CMAKE_CXX_COMPILER)
  house_test(compile_time ${CMAKE_CURRENT_SOURCE_DIR}/tools/compile-time.py ${CMAKE_CXX_COMPILER})
endif()
if(TARGET thrum_tls_static) # with the blocks that are about it
  set(tls_library $<TARGET_FILE:thrum_tls_static>)
endif()
house_test(snippets ${PROJECT_SOURCE_DIR}/tools/check/readme $<TARGET_FILE:thrum_static> ${tls_library})
if(CMAKE_CXX_COMPILER AND NOT THRUM_SANITIZE)
  house_test(ports ${CMAKE_CURRENT_SOURCE_DIR}/ports/ports.sh ${CMAKE_C_COMPILER} $<TARGET_FILE:thrum_static>)
  set_tests_properties(house/ports PROPERTIES SKIP_RETURN_CODE 77)
endif()
if(TARGET thrum_test)
  foreach(part test test_race test_real)
    house_test(exports_${part} ${PROJECT_SOURCE_DIR}/tools/check/exports $<TARGET_FILE:thrum_${part}>)
  endforeach()
endif()
if(THRUM_SHARED)
  house_test(exports ${PROJECT_SOURCE_DIR}/tools/check/exports $<TARGET_FILE:thrum>)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # as it was recorded
    house_test(abi ${PROJECT_SOURCE_DIR}/tools/check/abi $<TARGET_FILE:thrum>)
  endif()
  if(TARGET thrum_tls)
    house_test(exports_tls ${PROJECT_SOURCE_DIR}/tools/check/exports $<TARGET_FILE:thrum_tls>)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
      house_test(abi_tls ${PROJECT_SOURCE_DIR}/tools/check/abi $<TARGET_FILE:thrum_tls>)
    endif()
  endif()
  if(TARGET thrum_mpi)
    house_test(exports_mpi ${PROJECT_SOURCE_DIR}/tools/check/exports $<TARGET_FILE:thrum_mpi>)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND "openmpi" IN_LIST thrum_mpis AND THRUM_MPICC STREQUAL "mpicc") # Debian's default
      house_test(abi_mpi ${PROJECT_SOURCE_DIR}/tools/check/abi $<TARGET_FILE:thrum_mpi>)
    endif()
  endif()
  if(THRUM_INSTALL)
    house_test(install ${CMAKE_CURRENT_SOURCE_DIR}/install/install.sh
      ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER})
    house_test(meson ${CMAKE_CURRENT_SOURCE_DIR}/install/meson.sh
      ${CMAKE_C_COMPILER} ${PROJECT_BINARY_DIR}/compile_commands.json)
    set_tests_properties(house/meson PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()
# Not on every machine: Python. The comparison of servers, as far as it needs nothing but ours and the loads here.
find_program(THRUM_PYTHON python3)
if(TARGET thrum-bench-servers AND THRUM_PYTHON)
  house_test(bench_servers ${PROJECT_SOURCE_DIR}/bench/servers.py --smoke --only echo,close,busy,idle,deadlines
    --seconds 0.1 --connections 50 --systems thrum,thrum-on,epoll --build ${PROJECT_BINARY_DIR} --out ${PROJECT_BINARY_DIR}/bench/servers-smoke)
endif()
if(TARGET thrum)
  set(shared_library $<TARGET_FILE:thrum>)
endif()
house_test(plain_c ${CMAKE_CURRENT_SOURCE_DIR}/tools/plain-c.sh ${CMAKE_C_COMPILER} $<TARGET_FILE:thrum_static> ${shared_library})
# Not on every machine: valgrind and its headers, Python.
find_program(THRUM_VALGRIND_PROGRAM valgrind) # THRUM_VALGRIND is a setting of the build
find_program(THRUM_PYTHON python3)
if(TARGET thrum-instructions AND THRUM_VALGRIND_PROGRAM AND THRUM_PYTHON)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # the table is gcc's
    house_test(instructions ${PROJECT_SOURCE_DIR}/tools/measure/instructions $<TARGET_FILE:thrum-instructions>)
  endif()
  if(CMAKE_CXX_COMPILER)
    add_executable(house_forks tools/forks.cpp)
    set_target_properties(house_forks PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
    target_link_libraries(house_forks PRIVATE thrum_static Threads::Threads)
    thrum_flags(house_forks)
    house_test(fork_instructions ${CMAKE_CURRENT_SOURCE_DIR}/tools/fork-instructions.py $<TARGET_FILE:house_forks>)
  endif()
endif()

# The library's own code is also told from the program's where it is a shared object.
if(THRUM_SHARED)
  add_executable(house_backtrace_shared unit/report/backtrace.c)
  set_target_properties(house_backtrace_shared PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
  target_include_directories(house_backtrace_shared PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(house_backtrace_shared PRIVATE thrum Threads::Threads m)
  thrum_flags(house_backtrace_shared)
  foreach(test calls_are_told_the_innermost_first calls_of_each_kind_of_wait
      ready_has_calls_and_running_has_none a_bound_thread_has_calls a_blocked_thread_has_calls)
    house_test(backtrace_shared.${test} house_backtrace_shared ${test})
  endforeach()
endif()

# gdb shows fibers, workers, tasks and scopes (tools/user/thrum-gdb.py), in cores too.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  thrum_program(house_waiting debug/waiting.c)
  if(THRUM_SHARED)
    add_executable(house_waiting_shared debug/waiting.c)
    set_target_properties(house_waiting_shared PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
    target_link_libraries(house_waiting_shared PRIVATE thrum)
    thrum_flags(house_waiting_shared)
    set(shared $<TARGET_FILE:house_waiting_shared>)
  endif()
  foreach(part words live cores found)
    house_test(gdb_${part} ${CMAKE_CURRENT_SOURCE_DIR}/debug/thrum-gdb.sh ${part}
      $<TARGET_FILE:house_waiting> ${shared})
    set_tests_properties(house/gdb_${part} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()

# Lines are added to dumps (tools/user/thrum-names).
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND THRUM_PYTHON)
  thrum_program(house_named debug/named.c)
  house_test(thrum_names ${CMAKE_CURRENT_SOURCE_DIR}/debug/thrum-names.sh $<TARGET_FILE:house_named>)
  set_tests_properties(house/thrum_names PROPERTIES SKIP_RETURN_CODE 77)
endif()

if(THRUM_SHARED)
  set(probes none)
  if(THRUM_USDT AND THRUM_HAS_SDT)
    set(probes wanted)
  endif()
  house_test(probes ${CMAKE_CURRENT_SOURCE_DIR}/debug/probes.py $<TARGET_FILE:thrum> ${probes})
endif()

# perf's samples by task (tools/user/thrum-profile), of a text and, where perf may sample, of a program.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND THRUM_PYTHON AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT THRUM_SANITIZE)
  thrum_program(house_profiled debug/profiled.c)
  house_test(profile ${CMAKE_CURRENT_SOURCE_DIR}/debug/profile.py $<TARGET_FILE:house_profiled>)
endif()

# What docs/guide/debugging.md shows is what its programs print.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND THRUM_PYTHON AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  house_test(questions ${THRUM_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/questions/questions.py
    $<TARGET_FILE:thrum_static>)
endif()

# Each mistake of docs/guide/ten-mistakes.md has the effect that the page names.
if(THRUM_PYTHON)
  house_test(mistakes ${THRUM_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/tools/mistakes.py $<TARGET_FILE:thrum_static>)
endif()

# Spares stand in under a debugger, under valgrind, and under a quota.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT THRUM_SANITIZE)
  foreach(where gdb valgrind quota)
    house_test(spares_${where} ${CMAKE_CURRENT_SOURCE_DIR}/debug/spares.sh ${where}
      $<TARGET_FILE:unit_spares>)
    set_tests_properties(house/spares_${where} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()
