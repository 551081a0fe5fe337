# zero_kernel_families(PROCESSOR LIBRARY FAMILY...): the file that calls every
# family's registration, so that no list in C++ is kept by hand. A family F is
# a file that defines `void zrt::<processor>::registerF(Registry &)`.
function(zero_kernel_families processor library)
  set(declarations "")
  set(calls "")
  foreach(family ${ARGN})
    string(APPEND declarations "void register${family}(Registry &registry);\n")
    string(APPEND calls "  ${processor}::register${family}(registry);\n")
  endforeach()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/Families.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT
"// Written by the build: the kernels of this processor.
#include \"kernels/Registry.h\"

namespace zrt::@processor@ {

@declarations@
void registerFamilies(Registry &registry) {
@calls@}

} // namespace zrt::@processor@
" @ONLY)
  target_sources(${library} PRIVATE ${file})
endfunction()
