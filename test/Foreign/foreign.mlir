// A dialect that zero does not know, with kernels that it does not have: the
// whole way from a model to an executable that trains.

// The plan has the operation and the gradient that it built, between what ZeRO
// brings and takes.
// RUN: zero-opt %s --load-dialect-plugin=%foreign_dialect.so --zero-pipeline='stage=3 ranks=2' | FileCheck %s
// CHECK: zero.micro
// CHECK: zero.all_gather
// CHECK: %[[H:.*]] = nn.linear
// CHECK: foreign.cube %[[H]] offset 5.000000e-01 {zero.at = {{.*}}} : tensor<2x4xf32>
// CHECK: foreign.cube_grad %{{.*}}, %[[H]] offset 5.000000e-01 {zero.at = {{.*}}} : tensor<2x4xf32>
// CHECK: zero.reduce_scatter

// It trains as the same model in upstream's operations does, and at stage 3 on
// two ranks as at stage 0 on one, bit by bit.
// RUN: %python %S/../Integration/compare_losses.py data %t.safetensors x=3 y=4
// RUN: zero-compile %s --load-dialect-plugin=%foreign_dialect.so --link=%foreign_kernels.a --pipeline='stage=3 ranks=2 lr=0.05 deterministic=true' -o %t.three
// RUN: zero-compile %s --load-dialect-plugin=%foreign_dialect.so --link=%foreign_kernels.a --pipeline='lr=0.05 deterministic=true accumulation=2' -o %t.zero
// RUN: zero-compile %S/Inputs/arith.mlir --pipeline='lr=0.05 deterministic=true accumulation=2' -o %t.arith
// RUN: %t.three --data %t.safetensors --steps 20 --validation-fraction 0 --metrics %t.three.jsonl > %t.log
// RUN: %t.zero --data %t.safetensors --steps 20 --validation-fraction 0 --metrics %t.zero.jsonl > %t.log
// RUN: %t.arith --data %t.safetensors --steps 20 --validation-fraction 0 --metrics %t.arith.jsonl > %t.log
// RUN: %python %S/../Integration/compare_losses.py close %t.zero.jsonl %t.arith.jsonl
// RUN: %python %S/../Integration/compare_losses.py equal %t.three.jsonl %t.zero.jsonl

// Its row says which dimensions go together, by which an axis of the mesh cuts it: it
// trains on parts as on the whole.
// RUN: echo '{"zero": {"mesh": {"data": 1, "tensor": 2}, "sharding": {"w": 1}}, "optimizer": {"type": "Adam", "params": {"lr": 0.05}}}' > %t.json
// RUN: zero-compile %s --load-dialect-plugin=%foreign_dialect.so --config %t.json --pipeline=accumulation=2 --emit=mlir | FileCheck %s --check-prefix=CUT
// CUT: zero.parameter @w : tensor<3x2xf32> {{.*}} cut <dim 1 of [4] over <tensor = 2>>
// CUT: zero.micro
// CUT: foreign.cube {{.*}} : tensor<2x2xf32>
// CUT: foreign.cube_grad {{.*}} : tensor<2x2xf32>
// RUN: zero-compile %s --load-dialect-plugin=%foreign_dialect.so --link=%foreign_kernels.a --config %t.json --pipeline=accumulation=2 -o %t.cut
// RUN: %t.cut --data %t.safetensors --steps 20 --validation-fraction 0 --metrics %t.cut.jsonl > %t.log
// RUN: %python %S/../Integration/compare_losses.py close %t.cut.jsonl %t.zero.jsonl

// Blocks of 16 bits are another instance of its kernels.
// RUN: zero-compile %s --load-dialect-plugin=%foreign_dialect.so --link=%foreign_kernels.a --pipeline='lr=0.05 precision=bf16' -o %t.half
// RUN: %t.half --data %t.safetensors --steps 2 --validation-fraction 0 > %t.log

// What is missing is named.
// RUN: not zero-opt %s 2>&1 | FileCheck %s --check-prefix=DIALECT
// DIALECT: error: Dialect `foreign' not found for custom op 'foreign.cube'
// RUN: zero-compile %s --load-dialect-plugin=%foreign_dialect.so -o %t.bare
// RUN: not %t.bare --data %t.safetensors --steps 1 2>&1 | FileCheck %s --check-prefix=KERNEL
// KERNEL: kernel 'foreign.cube': this executable has no code for it; link the object that registers it with zero-compile --link
// RUN: not zero-compile %s --load-dialect-plugin=%t.none -o %t.bare 2>&1 | FileCheck %s --check-prefix=PLUGIN
// PLUGIN: error: cannot load the dialect plugin '{{.*}}.none'
// RUN: not zero-compile %s --load-dialect-plugin=%foreign_dialect.so --link=%t.none -o %t.bare 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: cannot link '{{.*}}.none': there is no such file
// RUN: not zero-compile %s --load-dialect-plugin=%foreign_dialect.so --link=%foreign_kernels.a --emit=obj -o %t.o 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: error: --link is for what has a runtime, executables and shared libraries; the output is to be of another kind

zero.parameter @w : tensor<3x4xf32> = #zero.normal<std = 0.5>

zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"}, %y: tensor<2x4xf32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<3x4xf32>
  %h = nn.linear %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %c = foreign.cube %h offset 0.5 : tensor<2x4xf32>
  %d = arith.subf %c, %y : tensor<2x4xf32>
  %s = arith.mulf %d, %d : tensor<2x4xf32>
  %loss = nn.reduce sum %s dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
