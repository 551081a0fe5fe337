// RUN: zero-opt %s --split-input-file --verify-diagnostics | zero-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @copies
func.func @copies(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  // CHECK: %[[P:.*]] = zero.offload %{{.*}} id 7 : tensor<4x8xbf16> -> <tensor<4x8xbf16>>
  %p = zero.offload %x id 7 : tensor<4x8xbf16> -> <tensor<4x8xbf16>>
  %h = zero.wait %p : <tensor<4x8xbf16>>
  // CHECK: zero.fetch %{{.*}} id 7 on compute : tensor<4x8xbf16> -> <tensor<4x8xbf16>>
  %q = zero.fetch %h id 7 on compute : tensor<4x8xbf16> -> <tensor<4x8xbf16>>
  %y = zero.wait %q : <tensor<4x8xbf16>>
  return %y : tensor<4x8xbf16>
}
