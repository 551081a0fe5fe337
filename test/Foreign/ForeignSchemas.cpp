// The rows of the foreign kernels: for the compiler, which takes their cost
// from here, and for executables, which check what they are given.
#include "program/KernelSchema.h"

namespace {

const zrt::KernelSchemas foreignKernels(std::vector<zrt::KernelSchema>{
    {"foreign.cube", "x:T[r..] -> y:T[r..] | parallel r", "offset:real",
     [](const zrt::KernelShapes &s) -> uint64_t {
       return 3 * s.elements("x");
     }},
    {"foreign.cube_grad",
     "dy:T[r..] x:T[r..] -> dx:T[r..] | parallel r, linear dy", "offset:real",
     [](const zrt::KernelShapes &s) -> uint64_t {
       return 4 * s.elements("x");
     }}});

} // namespace
