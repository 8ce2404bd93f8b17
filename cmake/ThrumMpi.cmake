# libthrum-mpi: waiting for MPI in tasks, a library of its own over thrum's public headers and one MPI. The targets
# thrum_mpi (shared) and thrum_mpi_static are there if the wrapper compiler THRUM_MPICC is, for the compiler in use.
option(THRUM_MPI "Build libthrum-mpi where an MPI is found" ON)
set(THRUM_MPICC mpicc CACHE STRING "The compiler of the MPI that libthrum-mpi is for: mpicc.openmpi, mpicc.mpich, ...")
set(thrum_mpis "" CACHE INTERNAL "MPIs that are there for tests, openmpi and mpich; thrum_mpi_NAME_static is the library for each")
if(NOT THRUM_MPI)
  return()
endif()

# What the wrapper adds to the compiler's line becomes the interface library TARGET. Sets FOUND.
function(thrum_mpi_of target wrapper found)
  set(${found} OFF PARENT_SCOPE)
  find_program(THRUM_PATH_${wrapper} ${wrapper})
  if(NOT THRUM_PATH_${wrapper})
    return()
  endif()
  execute_process(COMMAND ${THRUM_PATH_${wrapper}} -show OUTPUT_VARIABLE line RESULT_VARIABLE failed ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${line}")
  list(FILTER words INCLUDE REGEX "^-[ILl]")
  set(includes ${words})
  list(FILTER includes INCLUDE REGEX "^-I")
  list(TRANSFORM includes REPLACE "^-I" "")
  list(FILTER words EXCLUDE REGEX "^-I")
  # What is found may be another C library's, or another processor's.
  include(CheckCSourceCompiles)
  thrum_ask_again(THRUM_HAS_${wrapper})
  set(CMAKE_REQUIRED_INCLUDES ${includes})
  set(CMAKE_REQUIRED_LIBRARIES ${words})
  check_c_source_compiles("#include <mpi.h>
int main(void) { MPI_Request r; return MPI_Ibarrier(MPI_COMM_WORLD, &r); }" THRUM_HAS_${wrapper})
  if(THRUM_HAS_${wrapper})
    add_library(${target} INTERFACE)
    target_include_directories(${target} SYSTEM INTERFACE ${includes})
    target_link_libraries(${target} INTERFACE ${words})
    set(${found} ON PARENT_SCOPE)
  endif()
endfunction()

thrum_mpi_of(thrum_mpi_used ${THRUM_MPICC} mpi_found)
if(NOT mpi_found)
  message(STATUS "libthrum-mpi is left out: no MPI (Debian: libopenmpi-dev or libmpich-dev)")
  return()
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS src/mpi/*.c)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mpi)
file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/src/mpi ${CMAKE_CURRENT_BINARY_DIR}/mpi/mpi SYMBOLIC)

function(thrum_mpi_library target kind)
  add_library(${target} ${kind} ${mpi_sources})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME thrum-mpi C_VISIBILITY_PRESET hidden C_STANDARD 11 C_EXTENSIONS ON POSITION_INDEPENDENT_CODE OFF)
  # It sees its own files and the public headers: nothing else of src/.
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/mpi)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE=1)
  target_compile_options(${target} PRIVATE ${THRUM_COVERAGE_COMPILE})
  thrum_flags(${target})
  thrum_flags_installed(${target})
endfunction()

thrum_mpi_library(thrum_mpi_static STATIC)
add_library(thrum::mpi_static ALIAS thrum_mpi_static)
set_target_properties(thrum_mpi_static PROPERTIES EXPORT_NAME mpi_static)
target_link_libraries(thrum_mpi_static PUBLIC thrum_static
  $<BUILD_INTERFACE:thrum_mpi_used> $<INSTALL_INTERFACE:MPI::MPI_C>)
target_compile_options(thrum_mpi_static PRIVATE $<IF:$<BOOL:${THRUM_STATIC_PIC}>,-fPIC,-fPIE>)

if(THRUM_SHARED)
  set(mpi_map ${CMAKE_CURRENT_BINARY_DIR}/thrum-mpi.map)
  configure_file(src/mpi/thrum-mpi.map.in ${mpi_map} @ONLY)
  thrum_mpi_library(thrum_mpi SHARED)
  add_library(thrum::mpi ALIAS thrum_mpi)
  target_link_libraries(thrum_mpi PUBLIC thrum
    $<BUILD_INTERFACE:thrum_mpi_used> $<INSTALL_INTERFACE:MPI::MPI_C>)
  set_target_properties(thrum_mpi PROPERTIES
    EXPORT_NAME mpi POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION} SOVERSION ${interface}
    LINK_DEPENDS ${mpi_map})
  target_link_options(thrum_mpi PRIVATE LINKER:--version-script=${mpi_map} LINKER:-z,now
    LINKER:--no-undefined)
endif()

# Tests run with each MPI that is there.
if(THRUM_TESTS)
  foreach(name openmpi mpich)
    thrum_mpi_of(thrum_mpi_${name}_used mpicc.${name} mpi_found)
    if(mpi_found)
      thrum_mpi_library(thrum_mpi_${name}_static STATIC)
      set_target_properties(thrum_mpi_${name}_static PROPERTIES OUTPUT_NAME thrum-mpi-${name} EXCLUDE_FROM_ALL ON)
      target_link_libraries(thrum_mpi_${name}_static PUBLIC thrum_static thrum_mpi_${name}_used)
      set(thrum_mpis ${thrum_mpis} ${name} CACHE INTERNAL "")
    endif()
  endforeach()
endif()
