# zero_shared_file(OUT LIBRARY): the file of the shared library LIBRARY that has the
# name by which programs ask for it when they start, such as libdnnl.so.2 beside
# libdnnl.so. It is there without the library's development files.
function(zero_shared_file out library)
  set(${out} ${library} PARENT_SCOPE)
  execute_process(COMMAND ${CMAKE_READELF} -d ${library}
    OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(dynamic MATCHES "SONAME[^\n]*\\[([^]]+)\\]")
    foreach(file IN ITEMS ${library} REALPATH)
      if(file STREQUAL "REALPATH")
        file(REAL_PATH ${library} file)
      endif()
      cmake_path(GET file PARENT_PATH folder)
      if(EXISTS ${folder}/${CMAKE_MATCH_1})
        set(${out} ${folder}/${CMAKE_MATCH_1} PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endif()
endfunction()
