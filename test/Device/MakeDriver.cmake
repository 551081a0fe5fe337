# Writes OUTPUT, the source of a driver with the names of the library STUB: code
# loads, has kernels, and takes their attributes; everything else fails as the
# stub does.
execute_process(COMMAND ${NM} -D --defined-only ${STUB}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " T cu[A-Za-z0-9_]+" symbols "${symbols}")
set(text "")
foreach(symbol ${symbols})
  string(REPLACE " T " "" symbol ${symbol})
  if(symbol MATCHES "^cu(LibraryLoadData|LibraryGetKernel|KernelGetFunction)$")
    string(APPEND text
      "int ${symbol}(void **made) { *made = (void *)16; return 0; }\n")
  elseif(symbol MATCHES "^cu(Func|Kernel)SetAttribute$|^cuLibraryUnload$")
    string(APPEND text "int ${symbol}(void) { return 0; }\n")
  else()
    string(APPEND text "int ${symbol}(void) { return 34; }\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "${text}")
