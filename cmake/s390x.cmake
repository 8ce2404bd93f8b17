# Debian's cross compiler, the programs run under qemu-user: a processor whose words begin with
# their high byte.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_C_COMPILER s390x-linux-gnu-gcc)
set(CMAKE_ASM_COMPILER s390x-linux-gnu-gcc)
find_program(qemu NAMES qemu-s390x-static qemu-s390x)
# The CPU is named: what the default one can do differs between versions.
set(CMAKE_CROSSCOMPILING_EMULATOR ${qemu} -cpu max)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_FIND_ROOT_PATH /usr/s390x-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
