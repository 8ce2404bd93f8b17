# Tests of libthrum-mpi (tests/support/ranks.h): each file is a program for each MPI that is there, all of whose tests
# run one after the other under one mpirun, since MPI can begin only once in a process. A few
# runs are quick.
function(mpi_test name labels limit)
  math(EXPR limit "${limit} * ${THRUM_TIMEOUT_FACTOR}")
  add_test(NAME mpi/${name} COMMAND ${ARGN})
  set_tests_properties(mpi/${name} PROPERTIES LABELS "mpi;${labels}" TIMEOUT ${limit} SKIP_RETURN_CODE 77
    ENVIRONMENT "THRUM_WORKERS=2" PROCESSORS 2)
endfunction()

# In plain builds only, and less than a minute in all.
set(quick)
set(bad_size full)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT THRUM_SANITIZE)
  set(quick openmpi,messages,2,multiple mpich,messages,2,multiple openmpi,waits,1,serialized openmpi,waits,2,funneled
    mpich,waits,2,multiple)
  set(bad_size quick)
endif()
if(THRUM_COVERAGE)
  foreach(level multiple serialized funneled)
    list(APPEND quick openmpi,messages,2,${level} openmpi,waits,2,${level})
  endforeach()
endif()

foreach(mpi IN LISTS thrum_mpis)
  file(GLOB sources CONFIGURE_DEPENDS mpi/*.c)
  foreach(source IN LISTS sources)
    get_filename_component(file ${source} NAME_WE)
    set(program mpi_${file}_${mpi})
    read_comment(${source} wrap wrap)
    separate_arguments(wrap)
    thrum_program(${program} ${source} LINK thrum_mpi_${mpi}_static thrum_inside m)
    target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    if(wrap)
      list(TRANSFORM wrap PREPEND "LINKER:--wrap=")
      target_link_options(${program} PRIVATE ${wrap})
    endif()
    if(file STREQUAL "bad") # what ends the program
      mpi_test("bad[${mpi}]" ${bad_size} 120 ${CMAKE_CURRENT_SOURCE_DIR}/mpi/bad.sh ${mpi} $<TARGET_FILE:${program}>)
      foreach(transport shm tcp)
        mpi_test("bad[${mpi},${transport}]" full 240
          ${CMAKE_CURRENT_SOURCE_DIR}/mpi/bad.sh ${mpi} $<TARGET_FILE:${program}> ${transport} 2 3 8)
      endforeach()
      continue()
    endif()
    foreach(ranks 1 2 4 8)
      foreach(level multiple serialized funneled)
        set(size full)
        if("${mpi},${file},${ranks},${level}" IN_LIST quick)
          set(size quick)
        endif()
        mpi_test("${file}[${mpi},n${ranks},${level}]" ${size} 120
          ${CMAKE_CURRENT_SOURCE_DIR}/mpi/run.sh ${mpi} ${ranks} ${level} $<TARGET_FILE:${program}> --all)
      endforeach()
    endforeach()
  endforeach()
endforeach()
