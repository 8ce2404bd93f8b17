# The flags of everything that is compiled here: the library, tests, examples, benchmark.

set(THRUM_WARNINGS -Wall -Wextra -Wundef -Wshadow -Wconversion -Wstrict-prototypes)
if(THRUM_WERROR)
  list(APPEND THRUM_WARNINGS -Werror)
endif()

set(THRUM_SANITIZE_FLAGS "")
if(THRUM_SANITIZE)
  set(THRUM_SANITIZE_FLAGS -fsanitize=${THRUM_SANITIZE} -fno-omit-frame-pointer)
  if(THRUM_SANITIZE MATCHES "undefined")
    list(APPEND THRUM_SANITIZE_FLAGS -fno-sanitize-recover=all)
  endif()
endif()

# Counts of how often each line and branch of the library is reached (tools/measure/coverage). The tests themselves
# are not counted; tests/check.h keeps the counts of a process that ends without exit().
if(THRUM_COVERAGE)
  set(THRUM_COVERAGE_COMPILE --coverage -fprofile-update=atomic)
  set(THRUM_COVERAGE_LINK --coverage)
endif()

# A program that links a library that was built with a sanitizer needs that sanitizer's run time, too.
# Unwind tables let a fiber's stack be walked, and are not every processor's default.
function(thrum_flags target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C>:${THRUM_WARNINGS}> ${THRUM_SANITIZE_FLAGS} -fasynchronous-unwind-tables)
  target_link_options(${target} PRIVATE ${THRUM_SANITIZE_FLAGS} ${THRUM_COVERAGE_LINK})
endfunction()

# What is installed must not tell where it was built: paths in messages and in the debug information
# begin at the source's folder, "./src". (Counting builds need the real ones.)
# A project that adds this folder without a build type would have the library at -O0, three times
# slower; it gets what the Release build has, unless the flags say how to optimize.
function(thrum_flags_installed target)
  if(NOT THRUM_COVERAGE)
    foreach(folder ${CMAKE_BINARY_DIR} ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
      target_compile_options(${target} PRIVATE -ffile-prefix-map=${folder}=.)
    endforeach()
  endif()
  string(TOUPPER "CMAKE_C_FLAGS_${CMAKE_BUILD_TYPE}" of_type)
  set(flags "${CMAKE_C_FLAGS} ${${of_type}}")
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT flags MATCHES "-O")
    target_compile_options(${target} PRIVATE -O2 -DNDEBUG)
  elseif(THRUM_SANITIZE MATCHES "thread" AND NOT flags MATCHES "-O[1-3sgf]")
    # At -O0 structures are copied by calls that are not hidden from the sanitizer: false reports.
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# A check whose answer was no is made again when CMake next runs: what was missing may be installed by then.
macro(thrum_ask_again variable)
  if(DEFINED CACHE{${variable}} AND NOT ${variable})
    unset(${variable} CACHE)
  endif()
endmacro()

# A program of ours. `thrum_program(name source... [LINK library...])`
function(thrum_program name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
  target_link_libraries(${name} PRIVATE thrum_static Threads::Threads ${arg_LINK})
  thrum_flags(${name})
endfunction()
