// RUN: zero-opt %s --zero-set-precision=compute=fp8 -verify-diagnostics

// expected-error @below {{the option 'compute' of zero-set-precision is 'fp8', wanted f32, bf16 or f16}}
module {
}
