// RUN: not zero-opt %s 2>&1 | FileCheck %s

// The operation before the region names a value of it, and is left when the text of
// the region turns out to have a fault.
// CHECK: :[[@LINE+7]]:{{[0-9]+}}: error: expected non-function type

zero.step @train(%x: tensor<2xf32>) training #zero.training<stage = 0, ranks = 1> {
  %b = arith.addf %a, %x : tensor<2xf32>
  zero.micro {
    %a = arith.addf %x, %x : tensor<2xf32>
    zero.yield %a : tensor<2xf32>
    %c = arith.addf %a, %x : tensorfault
  }
}
