# The tests of kernels, in this folder: on the host here, on a GPU in ../Device.
set(ZERO_KERNEL_TESTS
  KernelAttentionTest.cpp
  KernelDropoutTest.cpp
  KernelFeedbackTest.cpp
  KernelInPlaceTest.cpp
  KernelIndexTest.cpp
  KernelLinearCrossEntropyTest.cpp
  KernelLinearGeluTest.cpp
  KernelLinearWeightGradTest.cpp
  KernelLossTest.cpp
  KernelMatrixTest.cpp
  KernelNormTest.cpp
  KernelQuantizeTest.cpp
  KernelShapeTest.cpp
  KernelSiluMulTest.cpp
  KernelStridesTest.cpp
  KernelWindowsTest.cpp)
