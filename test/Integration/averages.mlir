// Averages that training tracks are bitwise equal at every stage, and neither
// loss scale nor clipping nor the number of ranks touches them.

// RUN: %python %S/compare_losses.py data %t.safetensors x=32 y=4

// DEFINE: %{options} =
// DEFINE: %{name} =
// DEFINE: %{train} = zero-compile %s --pipeline='deterministic=true lr=0.02 alignment=4 %{options}' -o %t.%{name} && %t.%{name} --data %t.safetensors --steps 8 --validation-fraction 0 --metrics %t.%{name}.jsonl --save-weights %t.%{name}.weights > %t.log

// REDEFINE: %{options} = stage=0 ranks=3
// REDEFINE: %{name} = s0
// RUN: %{train}
// RUN: %python %S/check_averages.py %t.s0.weights %t.s0.jsonl 1 | FileCheck %s
// CHECK: 8 updates, 0 skipped: averages are right
// REDEFINE: %{options} = stage=1 ranks=3
// REDEFINE: %{name} = s1
// RUN: %{train}
// RUN: cmp %t.s1.weights %t.s0.weights
// REDEFINE: %{options} = stage=2 ranks=3 reduce-bucket-size=80
// REDEFINE: %{name} = s2
// RUN: %{train}
// RUN: cmp %t.s2.weights %t.s0.weights
// REDEFINE: %{options} = stage=3 ranks=3 reduce-bucket-size=80
// REDEFINE: %{name} = s3
// RUN: %{train}
// RUN: cmp %t.s3.weights %t.s0.weights
// REDEFINE: %{options} = stage=3 ranks=3 offload-optimizer=cpu param-persistence-threshold=100
// REDEFINE: %{name} = s3o
// RUN: %{train}
// RUN: cmp %t.s3o.weights %t.s0.weights

// REDEFINE: %{options} = stage=3 ranks=3 offload-optimizer=cpu offload-param=cpu
// REDEFINE: %{name} = s3p
// RUN: %{train}
// RUN: cmp %t.s3p.weights %t.s0.weights
// RUN: mkdir -p %t.files
// REDEFINE: %{options} = stage=3 ranks=3 offload-optimizer=nvme offload-param=nvme nvme-path=%t.files nvme-min-bytes=0 max-in-cpu=12
// REDEFINE: %{name} = s3f
// RUN: %{train}
// RUN: cmp %t.s3f.weights %t.s0.weights

// An optimizer without states updates parameters on the host, too.
// REDEFINE: %{options} = stage=0 ranks=3 optimizer=sgd
// REDEFINE: %{name} = sgd0
// RUN: %{train}
// REDEFINE: %{options} = stage=3 ranks=3 optimizer=sgd offload-optimizer=cpu offload-param=cpu
// REDEFINE: %{name} = sgd3
// RUN: %{train}
// RUN: cmp %t.sgd3.weights %t.sgd0.weights
// REDEFINE: %{options} = stage=3 ranks=3 optimizer=sgd offload-optimizer=nvme offload-param=nvme nvme-path=%t.files nvme-min-bytes=0
// REDEFINE: %{name} = sgdf
// RUN: %{train}
// RUN: cmp %t.sgdf.weights %t.sgd0.weights

// Two micro-batches an update, and a clip that shortens every step.
// REDEFINE: %{options} = stage=2 ranks=2 accumulation=2 clip=0.01 overlap
// REDEFINE: %{name} = clip
// RUN: %{train}
// RUN: %python %S/check_averages.py %t.clip.weights %t.clip.jsonl 2

// In 16 bits, with updates that overflow.
// REDEFINE: %{options} = stage=3 ranks=2 precision=bf16
// REDEFINE: %{name} = bf16
// RUN: %{train}
// RUN: %python %S/check_averages.py %t.bf16.weights %t.bf16.jsonl 1
// RUN: echo '{"fp16": {"enabled": true, "initial_scale_power": 24, "hysteresis": 1}, "train_micro_batch_size_per_gpu": 2}' > %t.json
// RUN: zero-compile %s --config %t.json --stage 1 --ranks 2 -o %t.fp16
// RUN: %t.fp16 --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.fp16.jsonl --save-weights %t.fp16.weights > %t.log
// RUN: %python %S/check_averages.py %t.fp16.weights %t.fp16.jsonl 1 | FileCheck %s --check-prefix=SKIPS
// SKIPS: {{[1-9]}} skipped: averages are right

zero.parameter @w : tensor<8x2x3x3xf32> = #zero.normal<std = 0.3>
zero.parameter @scale : tensor<8xf32> = #zero.ones
zero.parameter @shift : tensor<8xf32> = #zero.zeros
zero.parameter @mean : tensor<8xf32> = #zero.zeros average 0.1
zero.parameter @variance : tensor<8xf32> = #zero.ones average 0.1
zero.parameter @seen : tensor<1xf32> = #zero.zeros average 0.1
zero.parameter @head : tensor<8x4xf32> = #zero.normal<std = 0.5>

zero.step @train(%rows: tensor<2x32xf32> {zero.input = "x"}, %y: tensor<2x4xf32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<8x2x3x3xf32>
  %scale = zero.load @scale : tensor<8xf32>
  %shift = zero.load @shift : tensor<8xf32>
  %head = zero.load @head : tensor<8x4xf32>
  %x = tensor.expand_shape %rows [[0], [1, 2, 3]] output_shape [2, 2, 4, 4] : tensor<2x32xf32> into tensor<2x2x4x4xf32>
  %0 = nn.conv %x, %w strides [1, 1] padding [1, 1] dilations [1, 1] groups 1 : (tensor<2x2x4x4xf32>, tensor<8x2x3x3xf32>) -> tensor<2x8x4x4xf32>
  %1, %mean, %variance = nn.batch_norm %0, %scale, %shift eps 1.0e-5 : (tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>)
  zero.track @mean, %mean : tensor<8xf32>
  zero.track @variance, %variance : tensor<8xf32>
  %three = arith.constant dense<3.0> : tensor<1xf32>
  zero.track @seen, %three : tensor<1xf32>
  %known = zero.load @mean : tensor<8xf32>
  %centre = nn.broadcast %known dims [1] : (tensor<8xf32>) -> tensor<2x8x4x4xf32>
  %2 = arith.subf %0, %centre : tensor<2x8x4x4xf32>
  %3 = zero.select_mode %1, %2 : tensor<2x8x4x4xf32>
  %4 = nn.avg_pool %3 window [4, 4] strides [4, 4] padding [0, 0] : (tensor<2x8x4x4xf32>) -> tensor<2x8x1x1xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2, 3]] : tensor<2x8x1x1xf32> into tensor<2x8xf32>
  %p = nn.linear %5, %head : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %d = arith.subf %p, %y : tensor<2x4xf32>
  %s = arith.mulf %d, %d : tensor<2x4xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
