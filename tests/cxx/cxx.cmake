# Tests in C++, if the C++ compiler that belongs to the C compiler is there: with the static and the
# shared library, and with clang's own run time (libc++) if that is there too.
if(NOT CMAKE_CXX_COMPILER)
  return()
endif()
include(CheckCXXSourceCompiles)

# `cxx_file(source suffix library option...)`
function(cxx_file source suffix library)
  get_filename_component(file ${source} NAME_WE)
  set(file ${file}${suffix})
  add_executable(cxx_${file} ${source})
  set(standard 17)
  if(source MATCHES "_20\\.cpp$")
    set(standard 20)
  endif()
  if(source MATCHES "_none\\.cpp$")
    target_compile_options(cxx_${file} PRIVATE -fno-exceptions -fno-rtti)
  endif()
  set_target_properties(cxx_${file} PROPERTIES
    CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS ON)
  target_include_directories(cxx_${file} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(cxx_${file} PRIVATE ${platform_define}=1) # for NOT_BY_POSIX
  target_compile_options(cxx_${file} PRIVATE -Wall -Wextra -Wshadow $<$<BOOL:${THRUM_WERROR}>:-Werror>
    ${ARGN})
  target_link_options(cxx_${file} PRIVATE ${ARGN})
  if(source MATCHES "/tls\\.cpp$")
    target_link_libraries(cxx_${file} PRIVATE thrum_tls_static)
  endif()
  target_link_libraries(cxx_${file} PRIVATE ${library} Threads::Threads)
  thrum_flags(cxx_${file})
  if(THRUM_COVERAGE)
    target_compile_definitions(cxx_${file} PRIVATE CHECK_COVERAGE=1)
    target_link_options(cxx_${file} PRIVATE LINKER:--wrap=_exit)
  endif()
  compile_of(${source} flags)
  if(suffix MATCHES "^_O") # a level of its own
    set(flags "")
  endif()
  target_compile_options(cxx_${file} PRIVATE ${flags})
  set(size quick)
  if(suffix AND NOT suffix MATCHES "^_O")
    set(size full) # the same tests, of another library; their compilation takes minutes
  endif()
  register_file(cxx ${file} ${source} 60 ${size})
endfunction()

# Not under the thread sanitizer: what libc++'s unwinder writes on a stack by memset, where a worker
# has read before, is a race to it.
if(NOT "${THRUM_SANITIZE}" MATCHES "thread")
  set(CMAKE_REQUIRED_FLAGS -stdlib=libc++)
  check_cxx_source_compiles("#include <exception>\nint main() { throw 1; }" THRUM_LIBCXX)
  unset(CMAKE_REQUIRED_FLAGS)
endif()

file(GLOB cxx_sources CONFIGURE_DEPENDS cxx/*.cpp cxx/posted/*.cpp cxx/sync/*.cpp)
if(NOT cxx_std_20 IN_LIST CMAKE_CXX_COMPILE_FEATURES)
  list(FILTER cxx_sources EXCLUDE REGEX "_20\\.cpp$")
else()
  set(CMAKE_REQUIRED_FLAGS "-std=gnu++20")
  check_cxx_source_compiles("#include <coroutine>
#ifndef __cpp_impl_coroutine
#error
#endif
int main() {}" THRUM_COROUTINES)
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT THRUM_COROUTINES)
    list(FILTER cxx_sources EXCLUDE REGEX "coroutine[a-z_]*_20\\.cpp$")
  endif()
endif()
if(NOT TARGET thrum_tls_static)
  list(FILTER cxx_sources EXCLUDE REGEX "/tls\\.cpp$")
endif()
foreach(source IN LISTS cxx_sources)
  get_filename_component(name ${source} NAME_WE)
  read_comment(${source} POSIX posix)
  if(cxx/${name} IN_LIST skipped OR (WIN32 AND posix))
    continue()
  endif()
  cxx_file(${source} "" thrum_static)
  if(source MATCHES "/tls\\.cpp$")
    continue() # libthrum-tls is there once
  endif()
  if(name STREQUAL "coroutine_stack_20") # gcc makes a transfer a jump, or a call, by the level; -O1 is the default here
    foreach(level 0 g 2)
      cxx_file(${source} _O${level} thrum_static -O${level})
    endforeach()
    continue()
  endif()
  if(TARGET thrum)
    cxx_file(${source} _shared thrum)
  endif()
  if(THRUM_LIBCXX)
    cxx_file(${source} _libcxx thrum_static -stdlib=libc++)
  endif()
endforeach()
if(MINGW)
  add_subdirectory(cxx/dlls)
endif()
