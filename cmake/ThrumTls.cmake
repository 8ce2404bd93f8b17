# libthrum-tls: TLS over thrum_io, a library of its own over thrum's public headers and OpenSSL 3. The targets
# thrum_tls (shared) and thrum_tls_static are there if OpenSSL is, for the compiler in use.
option(THRUM_TLS "Build libthrum-tls where OpenSSL 3 is found" ON)
if(NOT THRUM_TLS)
  return()
endif()
find_package(OpenSSL 3 QUIET COMPONENTS SSL Crypto)
if(OPENSSL_FOUND)
  # What is found may be another C library's.
  include(CheckCSourceCompiles)
  thrum_ask_again(THRUM_HAS_OPENSSL)
  set(CMAKE_REQUIRED_LIBRARIES OpenSSL::SSL OpenSSL::Crypto Threads::Threads ${CMAKE_DL_LIBS})
  check_c_source_compiles("#include <openssl/ssl.h>
int main(void) { return SSL_CTX_new(TLS_method()) == 0; }" THRUM_HAS_OPENSSL)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(NOT OPENSSL_FOUND OR NOT THRUM_HAS_OPENSSL)
  message(STATUS "libthrum-tls is left out: no OpenSSL 3 (Debian: libssl-dev)")
  return()
endif()

file(GLOB tls_sources CONFIGURE_DEPENDS src/tls/*.c)

function(thrum_tls_library target kind name)
  add_library(${target} ${kind} ${tls_sources})
  add_library(thrum::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME thrum-tls EXPORT_NAME ${name} C_VISIBILITY_PRESET hidden C_STANDARD 11 C_EXTENSIONS ON
    POSITION_INDEPENDENT_CODE OFF)
  # It sees its own files and the public headers: nothing else of src/.
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/tls)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE=1)
  target_compile_options(${target} PRIVATE ${THRUM_COVERAGE_COMPILE})
  thrum_flags(${target})
  thrum_flags_installed(${target})
endfunction()

file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tls)
file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/src/tls ${CMAKE_CURRENT_BINARY_DIR}/tls/tls SYMBOLIC)

thrum_tls_library(thrum_tls_static STATIC tls_static)
target_link_libraries(thrum_tls_static PUBLIC thrum_static OpenSSL::SSL OpenSSL::Crypto)
target_compile_options(thrum_tls_static PRIVATE $<IF:$<BOOL:${THRUM_STATIC_PIC}>,-fPIC,-fPIE>)

if(THRUM_SHARED)
  set(tls_map ${CMAKE_CURRENT_BINARY_DIR}/thrum-tls.map)
  configure_file(src/tls/thrum-tls.map.in ${tls_map} @ONLY)
  thrum_tls_library(thrum_tls SHARED tls)
  target_link_libraries(thrum_tls PUBLIC thrum PRIVATE OpenSSL::SSL OpenSSL::Crypto)
  set_target_properties(thrum_tls PROPERTIES
    POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION} SOVERSION ${interface}
    LINK_DEPENDS ${tls_map})
  target_link_options(thrum_tls PRIVATE LINKER:--version-script=${tls_map} LINKER:-z,now
    LINKER:--no-undefined)
endif()
