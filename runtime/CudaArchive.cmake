# The same for executables that run on CUDA: their `main` comes first, so the
# host's stays in its archive, and with it whatever only the host needs.
set(ZERO_CUDA_ARCHIVE ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libzero_runtime_cuda.a)
set(script "CREATE ${ZERO_CUDA_ARCHIVE}\n")
set(libraries "")
foreach(library zero_cuda_device zero_cuda_kernels)
  string(APPEND script "ADDLIB $<TARGET_FILE:${library}>\n")
  list(APPEND libraries $<TARGET_FILE:${library}>)
endforeach()
string(APPEND script
  "ADDMOD $<JOIN:$<TARGET_OBJECTS:zero_cuda_main>,\nADDMOD >\nSAVE\nEND\n")
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/zero_runtime_cuda.mri
  CONTENT "${script}")
add_custom_command(OUTPUT ${ZERO_CUDA_ARCHIVE}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${ZERO_CUDA_ARCHIVE}
  COMMAND ${CMAKE_AR} -M < ${CMAKE_CURRENT_BINARY_DIR}/zero_runtime_cuda.mri
  DEPENDS ${libraries} $<TARGET_OBJECTS:zero_cuda_main>
    ${CMAKE_CURRENT_BINARY_DIR}/zero_runtime_cuda.mri
  COMMENT "Merging the runtime on CUDA into one archive" VERBATIM)
add_custom_target(zero-runtime-cuda-archive ALL DEPENDS ${ZERO_CUDA_ARCHIVE})

set(cudnn "")
if(ZERO_HAVE_CUDNN)
  cmake_path(GET ZERO_CUDNN_LIBRARY PARENT_PATH folder)
  set(cudnn "\"${ZERO_CUDNN_LIBRARY}\"\n\"$<TARGET_FILE:CUDA::nvrtc>\"\n-Wl,-rpath,\"${folder}\"\n")
endif()
file(GENERATE
  OUTPUT ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/zero-runtime-cuda.link
  CONTENT "\"${ZERO_CUDA_ARCHIVE}\"
\"${ZERO_RUNTIME_ARCHIVE}\"
\"$<TARGET_FILE:CUDA::cudart_static>\"
-Wl,--as-needed
\"$<TARGET_FILE:CUDA::cublasLt>\"
\"${ZERO_NCCL_LIBRARY}\"
${cudnn}-Wl,-rpath,\"${CUDAToolkit_LIBRARY_DIR}\"
\"${external}\"
-pthread
-lm
-ldl
-lrt
")
