# libthrum-test: the library's own sources over the simulated platform, for deterministic tests (testkit/README.md).
# The target thrum_test is there on Linux with the processors for which the entries of public calls are written.
option(THRUM_KIT "Build libthrum-test, the kit for tests of concurrent code" ON)
if(NOT THRUM_KIT OR NOT platform STREQUAL "linux" OR NOT context MATCHES "^(x86_64|aarch64)$" OR THRUM_SANITIZE
   OR THRUM_COVERAGE OR NOT CMAKE_OBJCOPY OR NOT CMAKE_NM)
  return()
endif()

# The library but its platform, which is the simulator's; code and addresses are named as on Linux.
set(kit_inside ${sources})
if(THRUM_AMALGAMATION)
  return()
endif()
list(FILTER kit_inside EXCLUDE REGEX "/platform/(linux|unix)/|/platform/alike.c|/policy_global.c|/study/")
file(GLOB kit_platform CONFIGURE_DEPENDS src/platform/sim/*.c)
list(APPEND kit_inside ${kit_platform} src/platform/posix/absent_posix.c src/platform/linux/code.c
  src/platform/linux/symbols.c src/platform/unix/io/address.c testkit/inside/absent.c testkit/inside/guard.c
  testkit/inside/policy_any.c testkit/inside/socket.c testkit/inside/datagram.c)
add_library(thrum_kit_inside OBJECT ${kit_inside})
target_compile_options(thrum_kit_inside PRIVATE
  "SHELL:-include ${CMAKE_CURRENT_SOURCE_DIR}/testkit/atomics.h"
  "SHELL:-include ${CMAKE_CURRENT_SOURCE_DIR}/src/base/mark.h")

# Each public call gets an entry, which is a point at which other tasks may come in between.
set(kit_dir ${CMAKE_CURRENT_BINARY_DIR}/kit)
file(MAKE_DIRECTORY ${kit_dir})
add_custom_command(OUTPUT ${kit_dir}/inner.o ${kit_dir}/points_calls.S
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${kit_dir}/all.o $<TARGET_OBJECTS:thrum_kit_inside>
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/testkit/make_points ${kit_dir}/all.o ${kit_dir} ${CMAKE_NM}
  COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${kit_dir}/points.syms ${kit_dir}/all.o ${kit_dir}/inner.o
  DEPENDS thrum_kit_inside $<TARGET_OBJECTS:thrum_kit_inside> testkit/make_points
  COMMAND_EXPAND_LISTS VERBATIM)

# So that sources that take both wait for one command.
add_custom_target(thrum_kit_points DEPENDS ${kit_dir}/inner.o ${kit_dir}/points_calls.S)

file(GLOB kit_sources CONFIGURE_DEPENDS testkit/*.c testkit/disk/*.c testkit/faults/*.c testkit/hosts/*.c)
add_library(thrum_kit OBJECT ${kit_sources} testkit/race/tsan_names.S ${kit_dir}/points_calls.S)
add_dependencies(thrum_kit thrum_kit_points)
target_compile_definitions(thrum_kit PRIVATE SIM_THREADS=32)

foreach(part thrum_kit_inside thrum_kit)
  set_target_properties(${part} PROPERTIES C_VISIBILITY_PRESET hidden C_STANDARD 11 C_EXTENSIONS ON
    POSITION_INDEPENDENT_CODE OFF)
  target_include_directories(${part} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include
    ${CMAKE_CURRENT_SOURCE_DIR}/testkit)
  target_link_libraries(${part} PRIVATE $<BUILD_INTERFACE:thrum_inside>)
  target_compile_definitions(${part} PRIVATE TH_SIM=1 TH_KIT=1)
  target_compile_options(${part} PRIVATE -fPIE -fno-lto $<$<COMPILE_LANGUAGE:C>:-Wno-psabi>) # objcopy changes the names
  thrum_flags(${part})
  thrum_flags_installed(${part})
endforeach()

# One object, whose only global names are the public calls and those of the heap and of exits, and
# those of tsan_names.S: a program may have a `fail` of its own.
add_custom_command(OUTPUT ${kit_dir}/kit.o
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${kit_dir}/whole.o ${kit_dir}/inner.o $<TARGET_OBJECTS:thrum_kit>
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard --localize-symbol=kit_* ${kit_dir}/whole.o ${kit_dir}/kit.o
  DEPENDS thrum_kit thrum_kit_points ${kit_dir}/inner.o $<TARGET_OBJECTS:thrum_kit>
  COMMAND_EXPAND_LISTS VERBATIM)
add_library(thrum_test STATIC ${kit_dir}/kit.o)
add_library(thrum::test ALIAS thrum_test)
set_source_files_properties(${kit_dir}/kit.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
set_target_properties(thrum_test PROPERTIES OUTPUT_NAME thrum-test EXPORT_NAME test LINKER_LANGUAGE C)
target_include_directories(thrum_test INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_options(thrum_test INTERFACE ${THRUM_PROBED_STACKS})
target_link_libraries(thrum_test INTERFACE ${CMAKE_DL_LIBS}) # dlsym, for the exit of the C library

# The same calls over the library itself: a few runs in real time.
add_library(thrum_test_real STATIC testkit/real/real.c)
add_library(thrum::test_real ALIAS thrum_test_real)
set_target_properties(thrum_test_real PROPERTIES OUTPUT_NAME thrum-test-real EXPORT_NAME test_real C_STANDARD 11
  C_EXTENSIONS ON POSITION_INDEPENDENT_CODE OFF)
target_link_libraries(thrum_test_real PUBLIC thrum_static)
target_compile_options(thrum_test_real PRIVATE -fPIE)
thrum_flags(thrum_test_real)
thrum_flags_installed(thrum_test_real)

include(cmake/ThrumKitRace.cmake)

# A project that adds this folder builds of it only what it links with.
if(NOT PROJECT_IS_TOP_LEVEL)
  set_target_properties(thrum_kit_inside thrum_kit_points thrum_kit thrum_test thrum_test_real thrum_race_watched
    thrum_race_platform thrum_race_points thrum_race thrum_test_race PROPERTIES EXCLUDE_FROM_ALL TRUE)
endif()
