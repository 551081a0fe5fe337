# The same for executables that run on CUDA: their `main` comes first, so the
# host's stays in its archive, and with it whatever only the host needs.
zero_merge_archive(zero_runtime_cuda zero_cuda_main zero_cuda_device
  zero_cuda_kernels)

file(GENERATE
  OUTPUT ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/zero-runtime-cuda.link
  CONTENT "\"${zero_runtime_cuda_ARCHIVE}\"
\"${zero_runtime_ARCHIVE}\"
\"$<TARGET_FILE:CUDA::cudart_static>\"
-Wl,--as-needed
\"$<TARGET_FILE:CUDA::cublasLt>\"
\"${ZERO_NCCL_LIBRARY}\"
-Wl,-rpath,\"${CUDAToolkit_LIBRARY_DIR}\"
\"${external}\"
-pthread
-lm
-ldl
-lrt
")
