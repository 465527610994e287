# SPDX-License-Identifier: Apache-2.0
# For aarch64 Linux with Debian's and Ubuntu's cross compiler: cmake --toolchain THIS -DCMAKE_SYSROOT=FOLDER, where the
# folder has unpacked arm64 packages (sysroot.sh makes one).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(libraries ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})

# Without these, CMake asks the mpicc of this machine, which speaks for this machine.
set(MPI_C_LIB_NAMES mpi)
set(MPI_mpi_LIBRARY ${libraries}/openmpi/lib/libmpi.so)
set(MPI_C_HEADER_DIR ${libraries}/openmpi/include)
