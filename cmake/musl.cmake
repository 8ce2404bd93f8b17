# Debian's musl-gcc. It brings musl's headers and no others: the kernel's are linked to from a folder of
# their own, or the C library's would be found beside them.
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_ASM_COMPILER musl-gcc)
set(kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel_headers})
foreach(folder linux asm-generic x86_64-linux-gnu/asm)
  get_filename_component(name ${folder} NAME)
  if(NOT EXISTS ${kernel_headers}/${name})
    file(CREATE_LINK /usr/include/${folder} ${kernel_headers}/${name} SYMBOLIC)
  endif()
endforeach()
# Debian's libgcc walks stacks with the help of glibc alone.
set(CMAKE_C_FLAGS_INIT "-idirafter ${kernel_headers} -DCHECK_NO_UNWINDER=1")
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
