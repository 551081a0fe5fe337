# What `cmake --install` copies, which works wherever the folder is then moved:
#
#   tools        bin/zero-*, and lib/zero, what zero-compile links executables with
#   cuda         lib/zero: the same for GPUs
#   python       the package of tools/python, which finds the tools by where it is
#   docs         share/doc/zero
set(ZERO_INSTALL_PYTHON lib/python3/dist-packages CACHE STRING
  "Folder of Python packages, below the prefix")

set(tools zero-checkpoint zero-compile zero-lsp-server zero-opt zero-plan zero-reduce)
install(TARGETS ${tools} RUNTIME DESTINATION bin COMPONENT tools)
# Generated files are there once it is built.
install(DIRECTORY ${ZERO_LINK_FOLDER}/ DESTINATION lib/zero COMPONENT tools
  PATTERN "*cuda*" EXCLUDE)
if(ZERO_HAVE_CUDA)
  install(DIRECTORY ${ZERO_LINK_FOLDER}/ DESTINATION lib/zero COMPONENT cuda
    FILES_MATCHING PATTERN "*cuda*")
endif()
install(FILES LICENSE README.md DESTINATION share/doc/zero COMPONENT tools)
install(DIRECTORY docs/ DESTINATION share/doc/zero/docs COMPONENT docs
  PATTERN CMakeLists.txt EXCLUDE)

install(DIRECTORY tools/python/zero DESTINATION ${ZERO_INSTALL_PYTHON}
  COMPONENT python FILES_MATCHING PATTERN "*.py")

