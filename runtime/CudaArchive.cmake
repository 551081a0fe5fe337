# The same for executables that run on CUDA: their `main` comes first, so the
# host's stays in its archive, and with it whatever only the host needs.
zero_merge_archive(zero_runtime_cuda zero_cuda_main zero_cuda_device
  zero_cuda_kernels)

set(cudnn "")
if(ZERO_HAVE_CUDNN)
  cmake_path(GET ZERO_CUDNN_LIBRARY PARENT_PATH folder)
  set(cudnn "-Wl,-rpath,\"${folder}\"\n")
endif()
function(zero_add_cuda_link suffix arch)
  set(stem ${ZERO_LINK_FOLDER}/zero-runtime-cuda${suffix})
  zero_write_features(${stem}.features ${arch})
  file(GENERATE
    OUTPUT ${stem}.link
    CONTENT "${instruments}\"<CFGDIR>/libzero_runtime_cuda.a\"
\"<CFGDIR>/libzero_runtime${suffix}.a\"
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
endfunction()
zero_add_cuda_link("" ${ZERO_HOST_ARCH})
foreach(arch IN LISTS ZERO_FURTHER_ARCHS)
  zero_add_cuda_link(.${arch} ${arch})
endforeach()
