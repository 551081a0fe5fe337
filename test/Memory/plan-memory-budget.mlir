// DEFINE: %{options} =
// DEFINE: %{run} = zero-opt %S/../Transforms/Inputs/mlp.mlir --zero-pipeline="alignment=4 ranks=2 %{options}"

// REDEFINE: %{options} = stage=2 memory-budget=1KiB
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=OVER
// REDEFINE: %{options} = stage=3 reduce-bucket-size=8 memory-budget=1KiB
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=STAGE3
// REDEFINE: %{options} = stage=2 memory-budget=1MiB
// RUN: %{run} | FileCheck %s --check-prefix=FITS
// REDEFINE: %{options} = stage=2 memory-budget=lots
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=NUMBER
// REDEFINE: %{options} = stage=2
// RUN: %{run} --zero-plan-memory="report" 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: not zero-compile %S/../Transforms/Inputs/mlp.mlir --ranks=2 --stage=2 --memory-budget=1KiB --emit=mlir 2>&1 | FileCheck %s --check-prefix=COMPILE

// RUN: not zero-compile %S/../Transforms/Inputs/mlp.mlir --ranks=2 --stage=2 --pipeline=offload-optimizer=cpu --host-memory-budget=100B --emit=mlir 2>&1 | FileCheck %s --check-prefix=HOST
// REDEFINE: %{options} = stage=2 offload-optimizer=cpu host-memory-budget=1KiB
// RUN: %{run} | FileCheck %s --check-prefix=FITS
// REDEFINE: %{options} = stage=2 host-memory-budget=0
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=HOSTNUMBER

// OVER: mlp.mlir:{{.*}}: error: 'zero.step' op needs [[TOTAL:[0-9]+]] bytes ({{.*}} KiB) on each rank, which exceeds the memory budget of 1024 bytes (1.00 KiB) by {{[0-9]+}} bytes
// OVER: note: activations: {{[0-9]+}} bytes{{.*}}, fullest in micro, {{[a-z._]+}} at {{.*}}mlp.mlir:{{[0-9]+:[0-9]+}}
// OVER-NEXT: {{^ +}}96 bytes nn.linear at {{.*}}mlp.mlir:{{[0-9]+:[0-9]+}}
// OVER: note: parameters: 352 bytes
// OVER-NEXT: 192 bytes @fc1.w
// OVER: note: communication: 288 bytes, fullest in micro
// OVER-NEXT: 288 bytes bucket of @p0[0 to 72]

// STAGE3: error: 'zero.step' op needs
// STAGE3: note: communication: {{.*}}, fullest in micro
// STAGE3: bytes gathered @fc

// FITS: zero.at

// NUMBER: error: memory-budget 'lots' is no number of bytes above 0, such as 512MiB; units are B, KiB, MiB, GiB and TiB

// Planning a plan again changes nothing.
// REPORT: remark: memory of each rank: {{[0-9]+}} bytes
// REPORT: {{^ +}}parameters: 352 bytes
// REPORT: {{^ +}}activations: [[BYTES:[0-9]+]] bytes, lower bound [[BYTES]], ratio 1.0000, fullest in
// REPORT: {{^ +}}communication: 288 bytes, lower bound 288, ratio 1.0000, fullest in

// HOST: mlp.mlir:{{.*}}: error: 'zero.step' op needs {{[0-9]+}} bytes ({{.*}}) of host memory on each rank, which exceeds the host memory budget of 100 bytes by {{[0-9]+}} bytes ({{.*}}); more ranks, a smaller offload_optimizer.ratio or sub_group_size need less
// HOST: note: optimizer on host: {{[0-9]+}} bytes
// HOST: note: communication on host: 1024 bytes (1.00 KiB), fullest in apply, zero.copy_to_host at
// HOST-NEXT: 512 bytes gradients to host of p0[0 to 256]
// HOST-NOT: note: activations
// HOSTNUMBER: error: host-memory-budget '0' is no number of bytes above 0

// COMPILE: error: 'zero.step' op needs {{.*}} exceeds the memory budget of 1024 bytes
