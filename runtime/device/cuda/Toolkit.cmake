# Whether the CUDA target is built, in ZERO_HAVE_CUDA, and why not. Needs the
# CUDA toolkit (12.8 or later) with cuBLASLt, NCCL, and a C++ compiler that nvcc
# takes as its host compiler.
set(ZERO_ENABLE_CUDA AUTO CACHE STRING
  "Build the CUDA target: AUTO (where its parts are found), ON or OFF")
set_property(CACHE ZERO_ENABLE_CUDA PROPERTY STRINGS AUTO ON OFF)
# What leaves this machine is for more: sm_80, sm_90 and PTX for what comes later
# are "80-real;90", as the preset "bundle" has it, to be small; the preset
# "portable" adds "100-real;120-real".
# Without a GPU they are PTX alone, which a driver compiles when a program first
# starts: nearly half of what nvcc takes is left out.
set(architectures 80-virtual)
if(EXISTS /dev/nvidiactl)
  set(architectures 80)
endif()
set(ZERO_CUDA_ARCHITECTURES ${architectures} CACHE STRING
  "GPU architectures of the device code, as CUDA_ARCHITECTURES takes them")
set(ZERO_HAVE_CUDA OFF)

function(zero_find_cuda reason)
  set(${reason} "" PARENT_SCOPE)
  find_package(CUDAToolkit 12.8 QUIET)
  if(NOT CUDAToolkit_FOUND)
    set(${reason} "no CUDA toolkit of version 12.8 or later was found"
      PARENT_SCOPE)
    return()
  endif()
  if(NOT TARGET CUDA::cublasLt OR NOT TARGET CUDA::cudart_static)
    set(${reason} "the CUDA toolkit has no cuBLASLt" PARENT_SCOPE)
    return()
  endif()
  find_path(ZERO_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
    DOC "NCCL's header")
  find_library(ZERO_NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR}
    DOC "NCCL")
  if(NOT ZERO_NCCL_INCLUDE_DIR OR NOT ZERO_NCCL_LIBRARY)
    set(${reason} "NCCL was not found" PARENT_SCOPE)
    return()
  endif()
  find_program(ZERO_CUDA_HOST_COMPILER NAMES g++ g++-14 g++-13 g++-12
    DOC "The host compiler of nvcc")
  if(NOT ZERO_CUDA_HOST_COMPILER)
    set(${reason} "nvcc needs g++, which was not found" PARENT_SCOPE)
  endif()
endfunction()

if(ZERO_ENABLE_CUDA STREQUAL "OFF")
  message(STATUS "CUDA target: off, as ZERO_ENABLE_CUDA says")
else()
  zero_find_cuda(reason)
  if(NOT reason)
    set(ZERO_HAVE_CUDA ON)
    # Targets say theirs; without one, CMake tries what nvcc dropped.
    set(CMAKE_CUDA_ARCHITECTURES 80)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
    set(CMAKE_CUDA_HOST_COMPILER ${ZERO_CUDA_HOST_COMPILER})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
    enable_language(CUDA)
    find_package(CUDAToolkit 12.8 QUIET REQUIRED)
    message(STATUS "CUDA target: on, toolkit ${CUDAToolkit_VERSION}")
  elseif(ZERO_ENABLE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "CUDA target: ${reason}")
  else()
    message(STATUS "CUDA target: off: ${reason}")
  endif()
endif()

# Whether tests interpret the PTX of the kernels, which they find where the device code
# is for one architecture and not for machine code alone.
set(ZERO_PTX_TESTS OFF)
if(ZERO_HAVE_CUDA AND ZERO_BUILD_TESTS
    AND ZERO_CUDA_ARCHITECTURES MATCHES "^[0-9]+(-virtual)?$")
  set(ZERO_PTX_TESTS ON)
endif()
