# zero_find_families(VARIABLE FILE...): the families among the files. A family F is
# a file F that defines `void zrt::<processor>::registerF(Registry &)`.
function(zero_find_families variable)
  set(families "")
  foreach(file ${ARGN})
    get_filename_component(family ${file} NAME_WE)
    file(STRINGS ${file} found REGEX "^void register${family}\\(Registry &")
    if(found)
      list(APPEND families ${family})
    endif()
  endforeach()
  set(${variable} ${families} PARENT_SCOPE)
endfunction()

# zero_kernel_families(PROCESSOR LIBRARY FAMILY...): the file that calls every
# family's registration, so that no list in C++ is kept by hand.
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
