# Versions of this build and of what it was made with, for --version: ZERO_VERSIONS in
# tools/Versions.inc of the build's include folder.

# zero_read_version(OUT FILE NAME...): the numbers that FILE defines NAME... to be, with
# dots between.
function(zero_read_version out file)
  set(numbers "")
  foreach(name IN LISTS ARGN)
    file(STRINGS ${file} line LIMIT_COUNT 1 REGEX "#define +${name} +[0-9]+")
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND numbers ${number})
  endforeach()
  list(JOIN numbers "." numbers)
  set(${out} ${numbers} PARENT_SCOPE)
endfunction()

find_file(ZERO_DNNL_VERSION_FILE oneapi/dnnl/dnnl_version.h
  HINTS ${ZERO_DNNL_INCLUDE_DIR} REQUIRED DOC "oneDNN's version")
zero_read_version(dnnl ${ZERO_DNNL_VERSION_FILE}
  DNNL_VERSION_MAJOR DNNL_VERSION_MINOR DNNL_VERSION_PATCH)
set(cuda none)
set(nccl none)
set(cudnn none)
if(ZERO_HAVE_CUDA)
  set(cuda ${CUDAToolkit_VERSION})
  zero_read_version(nccl ${ZERO_NCCL_INCLUDE_DIR}/nccl.h
    NCCL_MAJOR NCCL_MINOR NCCL_PATCH)
  if(ZERO_HAVE_CUDNN)
    zero_read_version(cudnn ${ZERO_CUDNN_INCLUDE_DIR}/cudnn_version.h
      CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL)
  endif()
endif()
set(mpi none)
if(ZERO_HAVE_MPI)
  find_package(MPI QUIET COMPONENTS C)
  # What calls itself by no name of its own is known by the standard's version.
  set(mpi "of version ${MPI_C_VERSION}")
  find_file(ZERO_MPI_HEADER mpi.h HINTS ${MPI_C_HEADER_DIR} ${MPI_C_INCLUDE_DIRS}
    DOC "MPI's header")
  if(ZERO_MPI_HEADER)
    zero_read_version(open ${ZERO_MPI_HEADER}
      OMPI_MAJOR_VERSION OMPI_MINOR_VERSION OMPI_RELEASE_VERSION)
    if(NOT open STREQUAL "")
      set(mpi "Open MPI ${open}")
    endif()
  endif()
endif()
set(linked shared)
if(ZERO_STATIC_LLVM)
  set(linked "linked in")
endif()
list(JOIN ZERO_FURTHER_ARCHS ", " further)
set(archs ${ZERO_HOST_ARCH})
if(further)
  string(APPEND archs ", ${further}")
endif()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/tools/Versions.inc CONTENT
[[#define ZERO_VERSIONS                                                          \
  "@PROJECT_VERSION@\n"                                                          \
  "LLVM and MLIR: @LLVM_PACKAGE_VERSION@, @linked@\n"                            \
  "kernels for: @archs@\n"                                                       \
  "oneDNN: @dnnl@\n"                                                             \
  "MPI: @mpi@\n"                                                                 \
  "CUDA toolkit: @cuda@\n"                                                       \
  "NCCL headers: @nccl@\n"                                                       \
  "cuDNN: @cudnn@"
]] @ONLY)
