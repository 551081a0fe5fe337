//===- SharedEnums.td - enumerations of the program format ----------------===//
//
// Those of the dialect `nn` are in NNEnums.td. The numbers are part of the program
// format: append only.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_DIALECT_ZERO_SHAREDENUMS_TD
#define ZERO_DIALECT_ZERO_SHAREDENUMS_TD

include "zero/Dialect/Zero/SharedEnum.td"

def Zero_Arena : Zero_SharedEnum<"ArenaKind", "Arena",
    "a kind of memory", [
  Zero_SharedCase<"Parameters", 0, "parameters", "compute copies; at stage 3 the owned slices">,
  Zero_SharedCase<"Gradients", 1, "gradients", "stored gradients">,
  Zero_SharedCase<"Optimizer", 2, "optimizer", "master weights and moments">,
  Zero_SharedCase<"Activations", 3, "activations", "values inside a region">,
  Zero_SharedCase<"Communication", 4, "communication", "buckets, gathered parameters">,
  Zero_SharedCase<"Inputs", 5, "inputs", "the batch of this micro-batch">,
  Zero_SharedCase<"Constants", 6, "constants", "constant tensors, filled once">,
  Zero_SharedCase<"Control", 7, "control", "the control block of the step">,
  Zero_SharedCase<"Stash", 8, "stash", "what forward passes leave for backward passes, a slot for each that is under way">]> {
  let documentation = "Kinds of memory. Each is allocated once, before the first step.";
}

def Zero_Tier : Zero_SharedEnum<"MemoryTier", "Tier",
    "where memory is", [
  Zero_SharedCase<"Device", 0, "device", "where kernels run">,
  Zero_SharedCase<"Host", 1, "host", "memory of the host, pinned where there is a device">,
  Zero_SharedCase<"File", 2, "file", "in a file">]> {
  let documentation = [{
    Where memory is. An arena has a memory of its own in each tier, so that
    offsets in two tiers have nothing to do with each other.
  }];
}

def Zero_Stream : Zero_SharedEnum<"StreamKind", "Stream",
    "a queue of operations", [
  Zero_SharedCase<"Compute", 0, "compute", "kernels">,
  Zero_SharedCase<"Gather", 1, "gather", "gathers of parameters">,
  Zero_SharedCase<"Reduce", 2, "reduce", "reductions of gradients">,
  Zero_SharedCase<"Copy", 3, "copy", "copies to host memory">,
  Zero_SharedCase<"Upload", 4, "upload", "copies from host memory">,
  Zero_SharedCase<"Host", 5, "host", "updates on the host">,
  Zero_SharedCase<"Read", 6, "read", "from a file to host memory">,
  Zero_SharedCase<"Write", 7, "write", "from host memory to a file">,
  Zero_SharedCase<"Exchange", 8, "exchange", "values of the model, between ranks">]> {
  let documentation = [{
    A queue of a device: its commands run in order, those of two queues side by
    side. A collective starts after every earlier command of Compute and of its
    own queue, and so does a kernel that is not on Compute; Wait makes Compute
    wait for it. On a device each is a stream, but for Host, the host's cores,
    and for Read and Write, which are the file system's.
  }];
}

def Zero_Schedule : Zero_SharedEnum<"ScheduleKind", "ScheduleKind",
    "a learning-rate schedule", [
  Zero_SharedCase<"Constant", 0, "constant", "the rate of the optimizer">,
  Zero_SharedCase<"WarmupLR", 1, "WarmupLR", "rises, then stays">,
  Zero_SharedCase<"WarmupDecayLR", 2, "WarmupDecayLR", "rises, then falls in a straight line">,
  Zero_SharedCase<"WarmupCosineLR", 3, "WarmupCosineLR", "rises, then falls as a cosine">]>;

def Zero_Layout : Zero_SharedEnum<"LayoutKind", "Layout",
    "how a flat group is cut", [
  Zero_SharedCase<"Whole", 0, "whole">,
  Zero_SharedCase<"Interval", 1, "interval">,
  Zero_SharedCase<"Bucketed", 2, "bucketed">,
  Zero_SharedCase<"Contiguous", 3, "contiguous">,
  Zero_SharedCase<"Parameter", 4, "parameter">]>;

def Zero_DataType : Zero_RuntimeEnum<"DataType", "An element type, as MLIR spells it.", [
  Zero_SharedCase<"F32", 0, "f32">,
  Zero_SharedCase<"F16", 1, "f16">,
  Zero_SharedCase<"BF16", 2, "bf16">,
  Zero_SharedCase<"F64", 3, "f64">,
  Zero_SharedCase<"I1", 4, "i1", "one byte an element, 0 or 1">,
  Zero_SharedCase<"I8", 5, "i8">,
  Zero_SharedCase<"I32", 6, "i32">,
  Zero_SharedCase<"I64", 7, "i64">,
  Zero_SharedCase<"U16", 8, "ui16">]>;

def Zero_Collective : Zero_RuntimeEnum<"Collective", "A kind of collective.", [
  Zero_SharedCase<"AllReduce", 0, "all-reduce">,
  Zero_SharedCase<"ReduceScatter", 1, "reduce-scatter">,
  Zero_SharedCase<"AllGather", 2, "all-gather">,
  Zero_SharedCase<"Broadcast", 3, "broadcast">,
  Zero_SharedCase<"Reduce", 4, "reduce", "to one rank, the root">,
  Zero_SharedCase<"AllToAll", 5, "all-to-all", "part s of rank r goes to rank s, as its part r">,
  Zero_SharedCase<"Send", 6, "send", "to one rank, the root, which receives">,
  Zero_SharedCase<"Receive", 7, "receive", "from one rank, the root, which sends">]>;

def Zero_Reduction : Zero_RuntimeEnum<"Reduction", "How a collective combines the elements of all ranks.", [
  Zero_SharedCase<"Sum", 0, "sum", "integers wrap around; not of i1">,
  Zero_SharedCase<"PrescaledSum", 1, "prescaled sum", "f32 sum times `prescaleOf`, rounded once; of floats only">,
  Zero_SharedCase<"Max", 2, "max", "a NaN wins">]>;

def Zero_TrafficClass : Zero_RuntimeEnum<"TrafficClass", "What a collective moves; for the traffic counters.", [
  Zero_SharedCase<"Gradient", 0, "gradient">,
  Zero_SharedCase<"Parameter", 1, "parameter">,
  Zero_SharedCase<"Control", 2, "control", "norm, loss: a few numbers">,
  Zero_SharedCase<"Activation", 3, "activation", "values of the model itself">]>;

def Zero_Opcode : Zero_RuntimeEnum<"Opcode", "What a command does.", [
  Zero_SharedCase<"Kernel", 0, "kernel", "kernels[kernel] on operands then results">,
  Zero_SharedCase<"Start", 1, "start", "the collective of kind `collective` on `parts`">,
  Zero_SharedCase<"Wait", 2, "wait", "for what was started with the same `ticket`">]>;

def Zero_InitKind : Zero_RuntimeEnum<"InitKind", [{
    How a parameter starts. Values are functions of seed, parameter and element,
    so that any rank can make any slice.
  }], [
  Zero_SharedCase<"Zeros", 0, "zeros">,
  Zero_SharedCase<"Ones", 1, "ones">,
  Zero_SharedCase<"Normal", 2, "normal">,
  Zero_SharedCase<"Uniform", 3, "uniform">,
  Zero_SharedCase<"Constant", 4, "constant">]>;

def Zero_StateStart : Zero_RuntimeEnum<"StateStart", "What an element of a state is before the first update.", [
  Zero_SharedCase<"Constant", 0, "constant", "`State::constant`">,
  Zero_SharedCase<"Parameter", 1, "parameter", "the parameter's value: a master weight">,
  Zero_SharedCase<"LowerHalf", 2, "lower half", "the lower 16 bits of that, of a split master">]>;

def Zero_LossScaleKind : Zero_RuntimeEnum<"LossScaleKind", "What changes the scale of the loss.", [
  Zero_SharedCase<"None", 0, "none", "there is none: it is 1">,
  Zero_SharedCase<"Static", 1, "static", "nothing">,
  Zero_SharedCase<"Dynamic", 2, "dynamic", "overflows, and updates without one">]>;

def Zero_PassOrder : Zero_RuntimeEnum<"PassOrder", [{
    The order in which a stage of a pipeline makes the passes of micro-batches.
  }], [
  Zero_SharedCase<"OneForwardOneBackward", 0, "1f1b", "a backward pass as soon as it can be">,
  Zero_SharedCase<"Gpipe", 1, "gpipe", "all forward passes first">,
  Zero_SharedCase<"Interleaved", 2, "interleaved", "as 1f1b, where each stage has several groups of layers">]>;

def Zero_DropOrder : Zero_RuntimeEnum<"DropOrder", [{
    Which choices of an expert find no place where there are too few.
  }], [
  Zero_SharedCase<"Position", 0, "position", "the last ones, second choices before first ones">,
  Zero_SharedCase<"Probability", 1, "probs", "those of the least weight">]>;

#endif // ZERO_DIALECT_ZERO_SHAREDENUMS_TD
