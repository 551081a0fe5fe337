# zero_cpu_features(OUT ARCH): the features of CPUs that code for -march=ARCH
# uses, as kernels/host/BuiltFor.cpp finds them, with spaces between.
function(zero_cpu_features out arch)
  set(runtime ${PROJECT_SOURCE_DIR}/runtime)
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -march=${arch} -E -P -I ${runtime}
      ${runtime}/kernels/host/BuiltFor.cpp
    OUTPUT_VARIABLE source COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "\"[^\"]*\"" literals "${source}")
  list(JOIN literals "" features)
  string(REPLACE "\"" "" features "${features}")
  set(${out} "${features}" PARENT_SCOPE)
endfunction()

# zero_write_features(FILE ARCH): the same, into FILE.
function(zero_write_features file arch)
  zero_cpu_features(features ${arch})
  file(CONFIGURE OUTPUT ${file} CONTENT "@features@\n" @ONLY)
endfunction()
