# zero_tablegen(TARGET SOURCE OUTPUT GENERATOR [OUTPUT GENERATOR]...): runs
# zero-tblgen over the file SOURCE, below include/, once for each OUTPUT, a file
# below include/ of the build; TARGET stands for them all.
function(zero_tablegen target source)
  set(outputs "")
  while(ARGN)
    list(POP_FRONT ARGN name generator)
    set(output ${CMAKE_BINARY_DIR}/include/${name})
    get_filename_component(folder ${output} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${output}
      COMMAND zero-tblgen ${generator} -I ${CMAKE_SOURCE_DIR}/include
              -I ${MLIR_INCLUDE_DIRS} ${CMAKE_SOURCE_DIR}/include/${source}
              --write-if-changed -o ${output} -d ${output}.d
      DEPENDS zero-tblgen ${CMAKE_SOURCE_DIR}/include/${source}
      DEPFILE ${output}.d
      COMMENT "Building ${name}")
    list(APPEND outputs ${output})
  endwhile()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()
