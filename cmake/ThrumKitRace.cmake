# libthrum-test-race: libthrum-test for tests that are compiled by -fsanitize=thread. The simulator's model of memory
# (testkit/memory) takes the place of the sanitizer's run time, so the library itself is compiled that way, too.

# For programs as well; thrum-test-race.pc has the same. A place is where a callback returns to, so calls at the end stay
# calls. gcc reports no fills and copies that it expands itself, so it must call ours; checked ones have other names.
set(race_program -U_FORTIFY_SOURCE -fsanitize=thread -fno-optimize-sibling-calls -fno-builtin-memset -fno-builtin-memcpy -fno-builtin-memmove
  $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-tsan> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
set(race_options ${race_program})
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND race_options "SHELL:--param tsan-instrument-func-entry-exit=0")
else()
  list(APPEND race_options "SHELL:-mllvm -tsan-instrument-func-entry-exit=0")
endif()

# Calls of programs that go to the library instead.
set(race_wrapped memcpy memmove memset pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_rwlock_rdlock
  pthread_rwlock_tryrdlock pthread_rwlock_wrlock pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_once)
list(TRANSFORM race_wrapped PREPEND "--wrap=")
list(JOIN race_wrapped "," race_wraps)
set(pc_race_wraps "-Wl,${race_wraps}")

set(race_watched ${kit_inside})
list(FILTER race_watched EXCLUDE REGEX "/platform/|/(absent|socket).c")
set(race_platform ${kit_inside})
list(FILTER race_platform INCLUDE REGEX "/platform/|/(absent|socket).c")
add_library(thrum_race_watched OBJECT ${race_watched})
target_compile_options(thrum_race_watched PRIVATE ${race_options})
add_library(thrum_race_platform OBJECT ${race_platform})

set(race_dir ${CMAKE_CURRENT_BINARY_DIR}/kit-race)
file(MAKE_DIRECTORY ${race_dir})
add_custom_command(OUTPUT ${race_dir}/inner.o ${race_dir}/points_calls.S
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${race_dir}/all.o
    $<TARGET_OBJECTS:thrum_race_watched> $<TARGET_OBJECTS:thrum_race_platform>
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/testkit/make_points ${race_dir}/all.o ${race_dir} ${CMAKE_NM}
  # Its constructors are the compiler's calls of __tsan_init, by which race.c knows the program's objects.
  COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${race_dir}/points.syms -R .init_array* -R .rela.init_array*
    ${race_dir}/all.o ${race_dir}/inner.o
  DEPENDS thrum_race_watched $<TARGET_OBJECTS:thrum_race_watched> thrum_race_platform
    $<TARGET_OBJECTS:thrum_race_platform> testkit/make_points
  COMMAND_EXPAND_LISTS VERBATIM)

add_custom_target(thrum_race_points DEPENDS ${race_dir}/inner.o ${race_dir}/points_calls.S)

set(race_sources ${kit_sources} testkit/race/pthread.c testkit/race/race.c)
list(FILTER race_sources EXCLUDE REGEX "/lone.c")
foreach(part locs model seqcst shadow tsan)
  list(APPEND race_sources testkit/memory/${part}.c)
endforeach()
add_library(thrum_race OBJECT ${race_sources} ${race_dir}/points_calls.S)
add_dependencies(thrum_race thrum_race_points)
target_compile_definitions(thrum_race PRIVATE SIM_THREADS=32)

foreach(part thrum_race_watched thrum_race_platform thrum_race)
  set_target_properties(${part} PROPERTIES C_VISIBILITY_PRESET hidden C_STANDARD 11 C_EXTENSIONS ON
    POSITION_INDEPENDENT_CODE OFF)
  target_include_directories(${part} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include
    ${CMAKE_CURRENT_SOURCE_DIR}/testkit)
  target_link_libraries(${part} PRIVATE $<BUILD_INTERFACE:thrum_inside>)
  target_compile_definitions(${part} PRIVATE TH_SIM=1 TH_KIT=1 SIM_ORDERS=1)
  target_compile_options(${part} PRIVATE -fPIE -fno-lto $<$<COMPILE_LANGUAGE:C>:-Wno-psabi>)
  thrum_flags(${part})
  thrum_flags_installed(${part})
endforeach()
foreach(part thrum_race_watched thrum_race_platform)
  target_compile_options(${part} PRIVATE "SHELL:-include ${CMAKE_CURRENT_SOURCE_DIR}/src/base/mark.h")
endforeach()

# One object, as libthrum-test is; the names that compilers call for each access are global, too. They are
# weak, so that a program that also has the sanitizer's library links, and builds.c can say that it must not.
add_custom_command(OUTPUT ${race_dir}/kit.o
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${race_dir}/whole.o ${race_dir}/inner.o $<TARGET_OBJECTS:thrum_race>
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard --localize-symbol=kit_* --weaken-symbol=__tsan_*
    ${race_dir}/whole.o ${race_dir}/kit.o
  DEPENDS thrum_race thrum_race_points ${race_dir}/inner.o $<TARGET_OBJECTS:thrum_race>
  COMMAND_EXPAND_LISTS VERBATIM)
add_library(thrum_test_race STATIC ${race_dir}/kit.o)
add_library(thrum::test_race ALIAS thrum_test_race)
set_source_files_properties(${race_dir}/kit.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
set_target_properties(thrum_test_race PROPERTIES OUTPUT_NAME thrum-test-race EXPORT_NAME test_race LINKER_LANGUAGE C)
target_include_directories(thrum_test_race INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_options(thrum_test_race INTERFACE ${THRUM_PROBED_STACKS} ${race_program})
target_link_libraries(thrum_test_race INTERFACE ${CMAKE_DL_LIBS})
target_link_options(thrum_test_race INTERFACE "LINKER:${race_wraps}")
