# The test kit over kernels with a bug each (README.md), its promises, and faults in itself by which these are tested.
if(NOT TARGET thrum_test)
  return()
endif()
find_program(THRUM_PYTHON python3)
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)

function(kit_program name library)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON
    CXX_STANDARD 20 CXX_EXTENSIONS ON)
  target_link_libraries(${name} PRIVATE ${library})
  thrum_flags(${name})
endfunction()

# A script of tests/kit as a test. `kit_test(name script seconds argument...)`
function(kit_test name script seconds)
  add_test(NAME kit/${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/kit/${script} ${ARGN})
  set_tests_properties(kit/${name} PROPERTIES LABELS "kit;quick" TIMEOUT 1800 COST ${seconds})
endfunction()

file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kit/*.c)
kit_program(kit_kernels thrum_test ${kernels})
kit_program(kit_kernels_real thrum_test_real ${kernels})
add_dependencies(kit_kernels kit_kernels_real) # the program of kit/kernels, as tools/run-tests knows it
if(THRUM_TESTS STREQUAL "portable" AND THRUM_PYTHON AND NOT THRUM_VALGRIND) # two kernels, one about locks and one about time
  add_test(NAME portable/kit COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/kit/run.py $<TARGET_FILE:kit_kernels>
    $<TARGET_FILE:kit_kernels_real> 200 --only ab_ba --only ticker_never_stopped)
  set_tests_properties(portable/kit PROPERTIES LABELS "portable;full" TIMEOUT 600
    ENVIRONMENT "EMULATOR=${emulator}")
  add_dependencies(portable_tests kit_kernels)
endif()
if(CMAKE_CROSSCOMPILING OR NOT THRUM_PYTHON OR THRUM_TESTS STREQUAL "portable")
  return()
endif()

kit_test(kernels run.py 150 $<TARGET_FILE:kit_kernels> $<TARGET_FILE:kit_kernels_real>)

# Servers and clients over the sockets of a test, each in 1,000 schedules.
kit_program(kit_sockets thrum_test kit/sockets/sockets.c)
foreach(name tcp unix udp serve)
  add_test(NAME kit/sockets_${name} COMMAND kit_sockets ${name})
  set_tests_properties(kit/sockets_${name} PROPERTIES LABELS "kit;quick" TIMEOUT 600 COST 10)
endforeach()

# Kernels whose bugs are races of memory; and all other kernels, which have none without their bugs.
set(race_kernels kit/main.c kit/race/race.c kit/race/orders.c kit/race/messages.c)
if(CMAKE_CXX_COMPILER)
  list(APPEND race_kernels kit/race/race.cpp)
endif()
kit_program(kit_race thrum_test_race ${race_kernels})
kit_program(kit_race_real thrum_test_real ${race_kernels})
target_include_directories(kit_race PRIVATE kit)
target_include_directories(kit_race_real PRIVATE kit)
kit_program(kit_kernels_race thrum_test_race ${kernels})
add_dependencies(kit_race kit_race_real)
kit_test(race run.py 60 $<TARGET_FILE:kit_race> $<TARGET_FILE:kit_race_real> 500)
kit_test(builds race/builds.py 20 ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER})
kit_test(no_race run.py 100 $<TARGET_FILE:kit_kernels_race> $<TARGET_FILE:kit_kernels_real> 100 --corrected)
add_dependencies(kit_kernels_race kit_kernels_real)
# Several hosts.
kit_program(kit_hosts thrum_test kit/hosts/hosts.c)
kit_test(hosts hosts/hosts.py 20 $<TARGET_FILE:kit_hosts>)
# Files and crashes of their disk; calls that fail because a test asks for it.
kit_program(kit_files thrum_test kit/files/files.c)
kit_test(files files/files.py 60 $<TARGET_FILE:kit_files>)
kit_program(kit_plans thrum_test kit/files/plans.c)
kit_test(plans files/plans.py 40 $<TARGET_FILE:kit_plans>)

# Kernels in C++.
if(CMAKE_CXX_COMPILER)
  kit_program(kit_cpp thrum_test kit/cpp/cpp.cpp)
  kit_program(kit_cpp_real thrum_test_real kit/cpp/cpp.cpp)
  add_dependencies(kit_cpp kit_cpp_real)
  kit_test(cpp run.py 50 $<TARGET_FILE:kit_cpp> $<TARGET_FILE:kit_cpp_real>)
  kit_program(kit_cpp_race thrum_test_race kit/cpp/cpp.cpp)
  add_dependencies(kit_cpp_race kit_cpp_real)
  kit_test(cpp_no_race run.py 30 $<TARGET_FILE:kit_cpp_race> $<TARGET_FILE:kit_cpp_real> 100 --corrected)
endif()

# Faults that the kit finds by itself, loops that are none, and orders that are counted by hand.
file(GLOB faults CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kit/faults/*.c)
kit_program(kit_faults thrum_test ${faults})
if(CMAKE_CXX_COMPILER)
  kit_program(kit_faults_cpp thrum_test kit/faults/thrown.cpp)
  target_compile_options(kit_faults_cpp PRIVATE -O0) # so that the headers' functions are calls
  add_dependencies(kit_faults kit_faults_cpp)
  set(faults_cpp $<TARGET_FILE:kit_faults_cpp>)
endif()
kit_test(faults faults/faults.py 30 $<TARGET_FILE:kit_faults> ${faults_cpp})

# The same source, compiled in two ways: a run does not depend on that.
kit_program(kit_promises thrum_test kit/promises/promises.c)
kit_program(kit_promises_other thrum_test kit/promises/promises.c)
target_compile_options(kit_promises_other PRIVATE -O0 -fno-inline)
add_dependencies(kit_promises kit_promises_other)
kit_test(promises promises/promises.py 100 $<TARGET_FILE:kit_promises> $<TARGET_FILE:kit_promises_other>)
if(CMAKE_EXPORT_COMPILE_COMMANDS AND CMAKE_GENERATOR MATCHES "Makefiles|Ninja")
  add_custom_target(kit_planted DEPENDS kit_promises kit_race)
  kit_test(planted promises/planted.py 150 ${PROJECT_BINARY_DIR})
  add_custom_target(kit_planted_hosts DEPENDS kit_hosts)
  kit_test(planted_hosts promises/planted.py 100 ${PROJECT_BINARY_DIR} --hosts)
endif()
