# zero_merge_archive(NAME MAIN LIBRARY...): one archive, lib<NAME>.a, of the
# libraries and of the object library MAIN, for executables that are linked
# without CMake, in ZERO_LINK_FOLDER. Its target is <NAME>-archive.
function(zero_merge_archive name main)
  set(archive ${ZERO_LINK_FOLDER}/lib${name}.a)
  set(script "CREATE ${archive}\n")
  set(files "")
  foreach(library ${ARGN})
    string(APPEND script "ADDLIB $<TARGET_FILE:${library}>\n")
    list(APPEND files $<TARGET_FILE:${library}>)
  endforeach()
  string(APPEND script
    "ADDMOD $<JOIN:$<TARGET_OBJECTS:${main}>,\nADDMOD >\nSAVE\nEND\n")
  set(mri ${CMAKE_CURRENT_BINARY_DIR}/${name}.mri)
  file(GENERATE OUTPUT ${mri} CONTENT "${script}")
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} -M < ${mri}
    DEPENDS ${files} $<TARGET_OBJECTS:${main}> ${mri}
    COMMENT "Merging ${name} into one archive" VERBATIM)
  add_custom_target(${name}-archive ALL DEPENDS ${archive})
endfunction()
