# Tests of libthrum-mpi (tests/support/ranks.h): each file is a program for each MPI that is there, all of whose tests
# run one after the other under one mpirun, since MPI can begin only once in a process. A few
# runs are quick.
set(mpi_environment THRUM_WORKERS=2)
if(THRUM_SANITIZE MATCHES "thread") # UCX would take mmap and munmap over, and the sanitizer not see that stacks are new
  list(APPEND mpi_environment UCX_MEM_EVENTS=n)
endif()
function(mpi_test name labels limit)
  math(EXPR limit "${limit} * ${THRUM_TIMEOUT_FACTOR}")
  add_test(NAME mpi/${name} COMMAND ${ARGN})
  set_tests_properties(mpi/${name} PROPERTIES LABELS "mpi;${labels}" TIMEOUT ${limit} SKIP_RETURN_CODE 77
    ENVIRONMENT "${mpi_environment}" COST 400)
endfunction()

# In plain builds only, and less than a minute in all.
set(quick)
set(bad_size full)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT THRUM_SANITIZE)
  set(quick openmpi,messages,2,multiple mpich,messages,2,multiple openmpi,waits,1,serialized openmpi,waits,2,funneled
    mpich,waits,2,multiple openmpi,told,2,multiple mpich,told,2,multiple openmpi,races,2,multiple mpich,races,2,multiple
    openmpi,ends,2,funneled mpich,ends,1,serialized openmpi,lasting,1,funneled mpich,lasting,1,multiple
    openmpi,workers,2,multiple mpich,workers,2,multiple openmpi,messages,2,multiple,tcp openmpi,messages,2,multiple,user)
  set(bad_size quick)
endif()
if(THRUM_COVERAGE)
  list(APPEND quick openmpi,messages,2,multiple openmpi,waits,2,multiple openmpi,told,2,multiple openmpi,races,2,multiple
    openmpi,lasting,1,multiple openmpi,ends,2,multiple openmpi,waits,2,funneled)
endif()

# Over shared memory all ranks and levels; over TCP, and as a user that is not root, some. MPICH's TCP (UCX) is
# left out: plain programs hang in it, too (4.0.2; 1 of 285 of two ranks that begin and end, three at a time).
function(mpi_cells mpi result)
  set(cells)
  foreach(ranks 1 2 3 4 8)
    foreach(level multiple serialized funneled)
      list(APPEND cells ${ranks},${level})
    endforeach()
  endforeach()
  foreach(ranks 5 6 7)
    list(APPEND cells ${ranks},multiple)
  endforeach()
  if(mpi STREQUAL "openmpi")
    foreach(level multiple serialized funneled)
      list(APPEND cells 2,${level},tcp)
    endforeach()
    list(APPEND cells 3,multiple,tcp 4,multiple,tcp 8,multiple,tcp)
  endif()
  foreach(ranks 2 4 8)
    list(APPEND cells ${ranks},multiple,user)
  endforeach()
  set(${result} ${cells} PARENT_SCOPE)
endfunction()

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
    if(file STREQUAL "bad") # what ends the program: most of its time is spent between runs
      if(mpi STREQUAL "mpich")
        set(bad_size full) # twenty-three runs of mpirun; one MPI's do for each commit
      endif()
      mpi_test("bad[${mpi}]" ${bad_size} 300 ${CMAKE_CURRENT_SOURCE_DIR}/mpi/bad.sh ${mpi} $<TARGET_FILE:${program}>)
      foreach(transport shm tcp)
        if(NOT "${mpi},${transport}" STREQUAL "mpich,tcp")
          mpi_test("bad[${mpi},${transport}]" full 240
            ${CMAKE_CURRENT_SOURCE_DIR}/mpi/bad.sh ${mpi} $<TARGET_FILE:${program}> ${transport} 2 3 8)
        endif()
      endforeach()
      continue()
    endif()
    mpi_cells(${mpi} cells)
    foreach(cell IN LISTS cells)
      set(size full)
      if("${mpi},${file},${cell}" IN_LIST quick)
        set(size quick)
      endif()
      string(REPLACE "," ";" parts ${cell})
      list(POP_FRONT parts ranks level)
      mpi_test("${file}[${mpi},n${cell}]" ${size} 120
        ${CMAKE_CURRENT_SOURCE_DIR}/mpi/run.sh ${mpi} ${ranks} ${level} $<TARGET_FILE:${program}> --all)
      if(ranks GREATER 1) # ranks that wait compute
        set_property(TEST "mpi/${file}[${mpi},n${cell}]" PROPERTY PROCESSORS 2)
      endif()
      if(parts STREQUAL "tcp")
        set_property(TEST "mpi/${file}[${mpi},n${cell}]" APPEND PROPERTY ENVIRONMENT "CHECK_MPI_TRANSPORT=tcp")
      elseif(parts STREQUAL "user")
        set_property(TEST "mpi/${file}[${mpi},n${cell}]" APPEND PROPERTY ENVIRONMENT "USER_IS=nobody")
      endif()
    endforeach()
  endforeach()
endforeach()
