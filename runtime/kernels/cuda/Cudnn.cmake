# Whether attention and convolutions may go through cuDNN, in ZERO_HAVE_CUDNN, and
# why not. Needs cuDNN 9.16 or later and the headers of NVIDIA's cudnn-frontend,
# 1.32 or later.
set(ZERO_HAVE_CUDNN OFF)

function(zero_find_cudnn reason)
  find_path(ZERO_CUDNN_INCLUDE_DIR cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
    DOC "cuDNN's headers")
  find_library(ZERO_CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR}
    DOC "cuDNN")
  find_path(ZERO_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS}
    PATHS /usr/local/share/cudnn-frontend/include
    DOC "The headers of cudnn-frontend")
  set(${reason} "" PARENT_SCOPE)
  if(NOT ZERO_CUDNN_INCLUDE_DIR OR NOT ZERO_CUDNN_LIBRARY)
    set(${reason} "cuDNN was not found" PARENT_SCOPE)
    return()
  endif()
  # Code in the headers that is not used here names it.
  if(NOT TARGET CUDA::nvrtc)
    set(${reason} "the CUDA toolkit has no NVRTC" PARENT_SCOPE)
    return()
  endif()
  if(NOT ZERO_CUDNN_FRONTEND_INCLUDE_DIR)
    set(${reason} "cudnn-frontend, which tools/setup fetches, was not found"
      PARENT_SCOPE)
    return()
  endif()
  zero_version_in(${ZERO_CUDNN_INCLUDE_DIR}/cudnn_version.h
    CUDNN_MAJOR CUDNN_MINOR cudnn)
  zero_version_in(${ZERO_CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend_version.h
    CUDNN_FRONTEND_MAJOR_VERSION CUDNN_FRONTEND_MINOR_VERSION frontend)
  set(ZERO_CUDNN_VERSIONS "cuDNN ${cudnn}, cudnn-frontend ${frontend}"
    PARENT_SCOPE)
  if(cudnn VERSION_LESS 9.16)
    set(${reason} "cuDNN ${cudnn} is older than 9.16" PARENT_SCOPE)
  elseif(frontend VERSION_LESS 1.32)
    set(${reason} "cudnn-frontend ${frontend} is older than 1.32" PARENT_SCOPE)
  endif()
endfunction()

# Two numbers that `header` defines, as a version.
function(zero_version_in header major minor result)
  set(numbers "")
  foreach(name ${major} ${minor})
    file(STRINGS ${header} line REGEX "#define ${name} +[0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND numbers ${number})
  endforeach()
  list(JOIN numbers "." version)
  set(${result} ${version} PARENT_SCOPE)
endfunction()

if(ZERO_HAVE_CUDA)
  zero_find_cudnn(reason)
  if(NOT reason)
    set(ZERO_HAVE_CUDNN ON)
    message(STATUS "CUDA target: attention and convolutions through ${ZERO_CUDNN_VERSIONS}")
  else()
    message(STATUS "CUDA target: attention and convolutions by own kernels only: ${reason}")
  endif()
endif()
