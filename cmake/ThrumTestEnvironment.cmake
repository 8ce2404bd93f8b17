# What the user has set for other programs changes nothing in a test: thrum_test_environment(REGEX) gives all tests of
# this directory whose names are like it the same environment. It is for scripts, which call a shell, Python, git,
# compilers and debuggers: with PYTHONOPTIMIZE, for one, Python would leave out each assertion. Nor do debug builds
# report common mistakes there: on a loaded machine a task may well hold its worker for a while.
function(thrum_test_environment regex)
  set(changes LC_ALL=set:C.UTF-8 SHELL=set:/bin/sh PERF_CONFIG=set:/dev/null THRUM_CHECK=set:0)
  foreach(name LANGUAGE POSIXLY_CORRECT COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR_FORCE
      http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
      PYTHONOPTIMIZE PYTHONWARNINGS PYTHONDEVMODE PYTHONVERBOSE PYTHONINSPECT PYTHONIOENCODING PYTHONSAFEPATH
      GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS MFLAGS MAKELEVEL DESTDIR
      DEBUGINFOD_URLS VALGRIND_OPTS REDISCLI_AUTH)
    list(APPEND changes ${name}=unset:)
  endforeach()
  get_property(tests DIRECTORY PROPERTY TESTS)
  list(FILTER tests INCLUDE REGEX "${regex}")
  if(tests)
    set_property(TEST ${tests} APPEND PROPERTY ENVIRONMENT_MODIFICATION ${changes})
  endif()
endfunction()
