# Debian's cross compiler, the programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_ASM_COMPILER riscv64-linux-gnu-gcc)
find_program(qemu NAMES qemu-riscv64-static qemu-riscv64)
# The CPU is named: what the default one can do differs between versions.
set(CMAKE_CROSSCOMPILING_EMULATOR ${qemu} -cpu rv64)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
# Atomics of a byte, which some tests have, are calls with gcc 12; the library has none.
set(CMAKE_C_STANDARD_LIBRARIES_INIT -latomic)
set(CMAKE_FIND_ROOT_PATH /usr/riscv64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
