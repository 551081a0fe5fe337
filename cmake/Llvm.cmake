# ZeroLLVM: LLVM and MLIR, for the compiler's libraries and tools.
option(ZERO_STATIC_LLVM
  "Link LLVM and MLIR into the tools, which then load no dialect plugins" OFF)

add_library(ZeroLLVM INTERFACE)
if(ZERO_STATIC_LLVM)
  # As files, in no order, which lld does not ask for: as targets they bring tests,
  # and shared libraries that LLVM itself may use.
  file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
  find_library(ZERO_ZSTD_ARCHIVE libzstd.a REQUIRED DOC "zstd, for LLVM")
  find_library(ZERO_ZLIB_ARCHIVE libz.a REQUIRED DOC "zlib, for LLVM")
  list(APPEND archives ${ZERO_ZSTD_ARCHIVE} ${ZERO_ZLIB_ARCHIVE})
  target_link_options(ZeroLLVM INTERFACE LINKER:--gc-sections)
  # What MLIR's functions add to each library. Shared libraries come with it.
  set(LLVM_LINK_LLVM_DYLIB OFF)
  get_target_property(libraries LLVMSupport INTERFACE_LINK_LIBRARIES)
  list(FILTER libraries EXCLUDE REGEX "zstd|ZLIB|libz3")
  set_property(TARGET LLVMSupport PROPERTY INTERFACE_LINK_LIBRARIES ${libraries})
else()
  set(archives MLIR LLVM)
endif()
target_link_libraries(ZeroLLVM INTERFACE
  "$<BUILD_INTERFACE:${archives}>" $<INSTALL_INTERFACE:MLIR> $<INSTALL_INTERFACE:LLVM>)
