# Tests of the drop-in headers (compat/), if there is a C++ compiler: each file by the oldest standard that its headers
# know, by C++17 and by C++20, with assertions whatever the build is.
if(NOT CMAKE_CXX_COMPILER)
  return()
endif()

# `compat_file(library source standard [full])`
function(compat_file library source standard)
  get_filename_component(file ${source} NAME_WE)
  set(file ${library}_${file}_${standard})
  add_executable(compat_${file} ${source})
  set_target_properties(compat_${file} PROPERTIES
    CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_include_directories(compat_${file} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(compat_${file} PRIVATE ${platform_define}=1 _GNU_SOURCE=1)
  target_compile_options(compat_${file} PRIVATE -Wall -Wextra -Wshadow $<$<BOOL:${THRUM_WERROR}>:-Werror> -UNDEBUG)
  target_link_libraries(compat_${file} PRIVATE thrum::compat_static Threads::Threads)
  thrum_flags(compat_${file})
  if(THRUM_COVERAGE)
    target_compile_definitions(compat_${file} PRIVATE CHECK_COVERAGE=1)
    target_link_options(compat_${file} PRIVATE LINKER:--wrap=_exit)
  endif()
  compile_of(${source} flags)
  target_compile_options(compat_${file} PRIVATE ${flags})
  register_file(compat ${file} ${source} 120 ${ARGN})
endfunction()

file(GLOB compat_sources CONFIGURE_DEPENDS compat/marl/*.cpp)
foreach(source IN LISTS compat_sources)
  compat_file(marl ${source} 11)
  compat_file(marl ${source} 17 full)
  compat_file(marl ${source} 20)
endforeach()

# A file whose name ends with _20 needs coroutines.
file(GLOB compat_sources CONFIGURE_DEPENDS compat/taskscheduler/*.cpp)
foreach(source IN LISTS compat_sources)
  if(NOT source MATCHES "_20\\.cpp$")
    compat_file(taskscheduler ${source} 11)
  elseif(THRUM_COROUTINES)
    compat_file(taskscheduler ${source} 20)
  endif()
endforeach()
