# Headers that most files of a folder include, compiled once. Files still include
# what they use: nothing here is needed for a file to compile.
option(ZERO_PRECOMPILED_HEADERS "Compile headers that many files include once for all" ON)

# zero_add_precompiled_headers(NAME HEADER): those of HEADER, by the flags that hold
# where it is called.
function(zero_add_precompiled_headers name header)
  if(NOT ZERO_PRECOMPILED_HEADERS)
    return()
  endif()
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/Precompiled.cpp)
  target_precompile_headers(${name} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CURRENT_SOURCE_DIR}/${header}>")
  # A time in it would make every build of it another one to ccache.
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endfunction()

# zero_use_precompiled_headers(NAME TARGET...): for targets of the same flags.
function(zero_use_precompiled_headers name)
  if(NOT ZERO_PRECOMPILED_HEADERS)
    return()
  endif()
  # The standard library's own use of what it deprecates, in its stable sort.
  set(quiet -Wno-deprecated-declarations)
  foreach(target IN LISTS ARGN)
    if(TARGET obj.${target}) # a library of MLIR's
      set(target obj.${target})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${name})
    target_compile_options(${target} PRIVATE ${quiet})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      # Headers compiled with -fPIC, which LLVM's flags hold, are refused beside
      # the -fPIE that CMake would add.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    endif()
  endforeach()
endfunction()
