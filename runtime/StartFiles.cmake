# What a C++ compiler would add to executables and shared libraries, as files beside
# the runtime: begin-executable.link, begin-shared.link and end.link. With them
# zero-compile links by a linker alone, on machines without a compiler. Libraries of C
# and C++ are searched for where it links.
function(zero_add_start_files folder)
  # Sanitizers and counters of lines are the compiler's business.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize|-fprofile-instr" OR
     NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    return()
  endif()
  set(names Scrt1.o crti.o crtbeginS.o crtendS.o crtn.o libgcc.a libc_nonshared.a)
  foreach(name IN LISTS names)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name}
      OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT EXISTS ${file})
      message(STATUS "Linking without a compiler: off, there is no ${name}")
      return()
    endif()
    file(REAL_PATH ${file} file)
    file(COPY_FILE ${file} ${folder}/${name} ONLY_IF_DIFFERENT)
  endforeach()
  set(always "-m\nelf_x86_64\n-z\nrelro\n--hash-style=gnu\n--eh-frame-hdr\n--allow-shlib-undefined\n")
  set(begin "\"<CFGDIR>/crti.o\"\n\"<CFGDIR>/crtbeginS.o\"\n")
  file(CONFIGURE OUTPUT ${folder}/begin-executable.link CONTENT
    "${always}-pie\n-dynamic-linker\n/lib64/ld-linux-x86-64.so.2\n\"<CFGDIR>/Scrt1.o\"\n${begin}")
  file(CONFIGURE OUTPUT ${folder}/begin-shared.link CONTENT "${always}-shared\n${begin}")
  file(CONFIGURE OUTPUT ${folder}/end.link CONTENT
"-L/lib/x86_64-linux-gnu
-L/usr/lib/x86_64-linux-gnu
-L/lib64
-L/usr/lib64
-L/lib
-L/usr/lib
-l:libstdc++.so.6
-l:libm.so.6
-l:libgcc_s.so.1
\"<CFGDIR>/libgcc.a\"
-l:libc.so.6
\"<CFGDIR>/libc_nonshared.a\"
--as-needed
-l:ld-linux-x86-64.so.2
--no-as-needed
\"<CFGDIR>/crtendS.o\"
\"<CFGDIR>/crtn.o\"
")
endfunction()
