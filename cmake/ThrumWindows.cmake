# What differs on Windows; included by CMakeLists.txt once `sources` is set, and changes nothing elsewhere.
if(NOT WIN32)
  return()
endif()
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8 OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$" OR MSVC)
  message(FATAL_ERROR "thrum on Windows: x86_64, by gcc or clang for mingw-w64")
endif()

list(FILTER sources EXCLUDE REGEX "/src/platform/(unix|${platform})/")
file(GLOB windows_sources CONFIGURE_DEPENDS src/platform/windows/*.c src/platform/windows/*/*.c)
# What Unix systems and Windows share: waiting for one descriptor, addresses, words, and what is missing.
list(APPEND sources ${windows_sources})
foreach(file posix/absent unix/io/poll unix/io/address unix/io/io_text)
  list(APPEND sources ${CMAKE_CURRENT_SOURCE_DIR}/src/platform/${file}.c)
endforeach()
# Sockets, and names of interfaces.
link_libraries(ws2_32 iphlpapi)

# printf as C has it (%zu, %lld), and what Windows 8 has: WaitOnAddress.
add_compile_definitions(__USE_MINGW_ANSI_STDIO=1 _WIN32_WINNT=0x0602 NTDDI_VERSION=0x06020000)
# All code of an object in its .text (src/base/mark.h).
set(windows_code -fno-reorder-functions -fno-reorder-blocks-and-partition)
# OpenSSL would have to be built for it.
set(THRUM_TLS OFF)

# The DLL is linked from the static library's objects, since all code is movable here. It exports what has a
# public name, by a file that is made from these objects, and that others may link by.
function(thrum_windows_dll target)
  set(def ${CMAKE_CURRENT_BINARY_DIR}/thrum-${interface}.def)
  add_custom_command(OUTPUT ${def}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tools/release/windows-def ${CMAKE_NM} $<TARGET_FILE:thrum_static> > ${def}
    DEPENDS thrum_static tools/release/windows-def VERBATIM)
  add_library(${target} SHARED $<TARGET_OBJECTS:thrum_static> ${def})
  add_library(thrum::${target} ALIAS ${target})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C
    RUNTIME_OUTPUT_NAME thrum-${interface} ARCHIVE_OUTPUT_NAME thrum)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()
