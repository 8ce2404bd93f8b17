# Headers, static and shared library, find_package(thrum), pkg-config; thrum-timeline, thrum-profile, thrum-names, thrum-top and thrum-gdb.py; the reference, where python3 is there.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thrum)
set(installed thrum_static)
if(THRUM_SHARED)
  list(APPEND installed thrum)
endif()

# A program's own path leads to what it needs itself, not to what its libraries need: the components find libthrum
# beside them. The system's libraries are found anyway, and Debian's policy forbids them a path.
if(NOT WIN32 AND NOT CMAKE_INSTALL_PREFIX MATCHES "^/(usr)?/*$")
  foreach(component thrum_tls thrum_mpi)
    if(TARGET ${component})
      set_property(TARGET ${component} APPEND PROPERTY INSTALL_RPATH "$ORIGIN")
    endif()
  endforeach()
endif()

install(TARGETS ${installed} EXPORT thrum-targets)
install(FILES include/thrum.h TYPE INCLUDE)
install(DIRECTORY include/thrum TYPE INCLUDE FILES_MATCHING PATTERN "tls.h" EXCLUDE PATTERN "tls.hpp" EXCLUDE PATTERN "mpi.h" EXCLUDE
  PATTERN "test.h" EXCLUDE PATTERN "test.hpp" EXCLUDE PATTERN "*.h" PATTERN "*.hpp")
# The test kit: thrum::test, thrum::test_race and thrum::test_real, thrum-test.pc, thrum-test-race.pc and thrum-test-real.pc.
if(TARGET thrum_test)
  install(TARGETS thrum_test thrum_test_race thrum_test_real EXPORT thrum-targets)
  install(DIRECTORY include/thrum TYPE INCLUDE FILES_MATCHING PATTERN "test.h" PATTERN "test.hpp")
endif()
# The headers of compat/: thrum::compat, thrum::compat_static, thrum-compat.pc.
install(TARGETS thrum_compat_static EXPORT thrum-targets)
if(THRUM_SHARED)
  install(TARGETS thrum_compat EXPORT thrum-targets)
endif()
install(DIRECTORY compat/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thrum-compat FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT thrum-targets NAMESPACE thrum:: DESTINATION ${package_dir})

configure_package_config_file(cmake/thrum-config.cmake.in ${PROJECT_BINARY_DIR}/thrum-config.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change names.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/thrum-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/thrum-config.cmake
              ${PROJECT_BINARY_DIR}/thrum-config-version.cmake DESTINATION ${package_dir})

# The paths in thrum.pc are relative to the file, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
if(WIN32)
  set(pc_private "-lws2_32 -liphlpapi")
else()
  set(pc_private "-lpthread -Wl,-z,nodelete")
endif()
configure_file(cmake/thrum.pc.in ${PROJECT_BINARY_DIR}/thrum.pc @ONLY)
configure_file(cmake/thrum-compat.pc.in ${PROJECT_BINARY_DIR}/thrum-compat.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/thrum.pc ${PROJECT_BINARY_DIR}/thrum-compat.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET thrum_test)
  foreach(pc thrum-test thrum-test-race thrum-test-real)
    configure_file(cmake/${pc}.pc.in ${PROJECT_BINARY_DIR}/${pc}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${pc}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endforeach()
endif()

# The component tls: find_package(thrum COMPONENTS tls), thrum-tls.pc.
if(TARGET thrum_tls_static)
  set(installed_tls thrum_tls_static)
  if(THRUM_SHARED)
    list(APPEND installed_tls thrum_tls)
  endif()
  install(TARGETS ${installed_tls} EXPORT thrum-tls-targets)
  install(FILES include/thrum/tls.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thrum)
  install(FILES include/thrum/cpp/tls.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thrum/cpp)
  install(EXPORT thrum-tls-targets NAMESPACE thrum:: DESTINATION ${package_dir})
  configure_file(cmake/thrum-tls.pc.in ${PROJECT_BINARY_DIR}/thrum-tls.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/thrum-tls.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The component mpi: find_package(thrum COMPONENTS mpi), thrum-mpi.pc.
if(TARGET thrum_mpi_static)
  set(installed_mpi thrum_mpi_static)
  if(THRUM_SHARED)
    list(APPEND installed_mpi thrum_mpi)
  endif()
  install(TARGETS ${installed_mpi} EXPORT thrum-mpi-targets)
  install(FILES include/thrum/mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/thrum)
  install(EXPORT thrum-mpi-targets NAMESPACE thrum:: DESTINATION ${package_dir})
  configure_file(cmake/thrum-mpi.pc.in ${PROJECT_BINARY_DIR}/thrum-mpi.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/thrum-mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# Scripts of Python's: lines for a report, a view of a running program, and the page of a trace with what it puts together.
install(PROGRAMS tools/user/thrum-names tools/user/thrum-profile tools/user/thrum-timeline tools/user/thrum-top TYPE BIN)
install(DIRECTORY docs/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
# The same stands in the libraries, as long as they are not stripped.
install(FILES tools/user/thrum-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/thrum)
install(DIRECTORY tools/user/timeline DESTINATION ${CMAKE_INSTALL_DATADIR}/thrum PATTERN __pycache__ EXCLUDE)

# Made at the install, so that it says what the headers say. Without python3 there is none.
find_program(THRUM_PYTHON python3)
if(THRUM_PYTHON)
  set(reference_dir ${PROJECT_BINARY_DIR}/reference)
  install(CODE "execute_process(COMMAND \"${THRUM_PYTHON}\" tools/release/reference --out \"${reference_dir}\"
    WORKING_DIRECTORY \"${PROJECT_SOURCE_DIR}\" RESULT_VARIABLE failed)
  if(failed)
    message(WARNING \"the reference could not be made, and is not installed\")
  endif()")
  install(DIRECTORY ${reference_dir}/man3 ${reference_dir}/man7 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
  install(FILES ${reference_dir}/thrum.html TYPE DOC OPTIONAL)
endif()
