# What `cmake --install` copies, which works wherever the folder is then moved:
#
#   tools        bin/zero-*, and lib/zero, what zero-compile links executables with
#   cuda         lib/zero: the same for GPUs
#   python       the package of tools/python, which finds the tools by where it is
#   development  headers, libraries and find_package(Zero)
#   docs         share/doc/zero
include(CMakePackageConfigHelpers)
set(ZERO_INSTALL_PYTHON lib/python3/dist-packages CACHE STRING
  "Folder of Python packages, below the prefix")

set(tools zero-checkpoint zero-compile zero-flight zero-lsp-server zero-opt zero-plan zero-reduce)
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
  COMPONENT python FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)

# For C++: the compiler's libraries, and the runtime as the archive of lib/zero.
set(libraries zero_program ZeroLLVM ZeroInterfaces ZeroNN ZeroZero ZeroAnalysis
  ZeroKernels ZeroMemory ZeroCost ZeroPlan ZeroVerify ZeroConfig ZeroDifferentiation
  ZeroTransforms ZeroInterpreter ZeroRegistration ZeroConversion ZeroTimeline
  ZeroSearch ZeroTarget)
install(TARGETS ${libraries} EXPORT ZeroTargets
  ARCHIVE DESTINATION lib COMPONENT development
  INCLUDES DESTINATION include)
install(EXPORT ZeroTargets NAMESPACE Zero:: DESTINATION lib/cmake/Zero
  COMPONENT development)
set(headers FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc")
install(DIRECTORY include/zero ${CMAKE_BINARY_DIR}/include/zero DESTINATION include
  COMPONENT development ${headers})
install(DIRECTORY runtime/ ${CMAKE_BINARY_DIR}/include/program
  DESTINATION include/zero/runtime COMPONENT development ${headers})
set(config ${CMAKE_CURRENT_BINARY_DIR}/ZeroConfig.cmake)
configure_package_config_file(cmake/ZeroConfig.cmake.in ${config}
  INSTALL_DESTINATION lib/cmake/Zero NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Until 1.0 any version may change what another one uses.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ZeroConfigVersion.cmake
  COMPATIBILITY ExactVersion)
install(FILES ${config} ${CMAKE_CURRENT_BINARY_DIR}/ZeroConfigVersion.cmake
  DESTINATION lib/cmake/Zero COMPONENT development)
