# The tests of kernels, in this folder: on the host here, on a GPU in
# ../../Device.
file(GLOB ZERO_KERNEL_TESTS CONFIGURE_DEPENDS
  RELATIVE ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/Kernel*Test.cpp)
# These are of tables, of the host's vectors and of the harness.
list(REMOVE_ITEM ZERO_KERNEL_TESTS KernelRegistryTest.cpp KernelSchemaTest.cpp
  KernelTest.cpp KernelVectorTest.cpp)
