// Sources of kernels, numbers to feed them, and how to run them.
#ifndef ZERO_TEST_TARGET_KERNELTESTING_H
#define ZERO_TEST_TARGET_KERNELTESTING_H

#include "CompiledKernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

/// An argument of a kernel: the loop dimensions that it has ("d0, d1"), its
/// tensor's shape and type ("4x8xf32"), its element type.
struct Input {
  std::string map, tensor, element;
};

/// The function of a kernel over loops `dims` ("d0, d1") of `shape` ("4x8x").
/// `body` computes %r of type `result` from %a0, %a1, ...
inline std::string kernel(const std::string &name, const std::string &dims,
                          const std::string &shape,
                          const std::vector<Input> &inputs,
                          const std::string &result, const std::string &body) {
  std::string identity = "affine_map<(" + dims + ") -> (" + dims + ")>";
  std::string arguments, maps, names, types, blockArguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string n = std::to_string(i), comma = i ? ", " : "";
    arguments += comma + "%x" + n + ": tensor<" + inputs[i].tensor + ">";
    maps += "affine_map<(" + dims + ") -> (" + inputs[i].map + ")>, ";
    names += comma + "%x" + n;
    types += comma + "tensor<" + inputs[i].tensor + ">";
    blockArguments += "%a" + n + ": " + inputs[i].element + ", ";
  }
  size_t rank =
      dims.empty() ? 0 : 1 + std::count(dims.begin(), dims.end(), ',');
  std::string iterators;
  for (size_t i = 0; i < rank; ++i)
    iterators += i ? ", \"parallel\"" : "\"parallel\"";
  std::string type = "tensor<" + shape + result + ">";
  return "func.func private @" + name + "(" + arguments + ") -> " + type +
         " {\n  %e = tensor.empty() : " + type +
         "\n  %g = linalg.generic {indexing_maps = [" + maps + identity +
         "], iterator_types = [" + iterators + "]} ins(" + names + " : " +
         types + ") outs(%e : " + type + ") {\n  ^bb0(" + blockArguments +
         "%o: " + result + "):\n" + body + "\n    linalg.yield %r : " + result +
         "\n  } -> " + type + "\n  return %g : " + type + "\n}\n";
}

/// A kernel of one dimension and one input.
inline std::string flat(const std::string &name, int64_t size,
                        const std::string &element, const std::string &body,
                        const std::string &result = "") {
  std::string n = std::to_string(size) + "x";
  return kernel(name, "d0", n, {{"d0", n + element, element}},
                result.empty() ? element : result, body);
}

inline std::vector<float> randoms(size_t size, float low, float high) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(size);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

/// Runs all of `kernel`, in pieces that end at `cuts`, and checks that nothing
/// is written past the end.
template <typename In, typename Out>
std::vector<Out> run(const zrt::GeneratedKernel &kernel,
                     const std::vector<std::vector<In>> &inputs,
                     std::vector<int64_t> cuts = {}) {
  // Elements beyond the end must stay as they are.
  std::vector<Out> out(kernel.extent + 64, Out(7));
  std::vector<void *> buffers;
  for (const auto &input : inputs)
    buffers.push_back(const_cast<In *>(input.data()));
  buffers.push_back(out.data());
  cuts.insert(cuts.begin(), 0);
  cuts.push_back(kernel.extent);
  for (size_t i = 0; i + 1 < cuts.size(); ++i)
    kernel.run(buffers.data(), cuts[i], cuts[i + 1]);
  for (size_t i = kernel.extent; i < out.size(); ++i)
    EXPECT_EQ(out[i], Out(7)) << "written past the end, at " << i;
  out.resize(kernel.extent);
  return out;
}

#endif // ZERO_TEST_TARGET_KERNELTESTING_H
