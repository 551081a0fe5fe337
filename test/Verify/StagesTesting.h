//===- StagesTesting.h - models of several stages -------------------------===//
#ifndef ZERO_TEST_VERIFY_STAGESTESTING_H
#define ZERO_TEST_VERIFY_STAGESTESTING_H

#include <string>

namespace mlir::zero {

/// Three layers, each a stage. The last one reads what the first has made, too.
inline constexpr const char *kThreeStages = R"mlir(
zero.parameter @c : tensor<8x8xf32> = #zero.normal<std = 0.2>
zero.parameter @a : tensor<8x8xf32> = #zero.normal<std = 0.2>
zero.parameter @b : tensor<8x8xf32> = #zero.normal<std = 0.2>
zero.step @train(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %a = zero.load @a : tensor<8x8xf32>
  %h = nn.linear %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %b = zero.load @b : tensor<8x8xf32>
  %g = nn.linear %h, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %c = zero.load @c : tensor<8x8xf32>
  %k = nn.linear %g, %c : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = arith.addf %h, %k : tensor<4x8xf32>
  %q = arith.mulf %s, %s : tensor<4x8xf32>
  %loss = nn.reduce mean %q dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
)mlir";

/// The same where the first and the last layer have one parameter.
inline std::string makeTied(std::string text) {
  const std::string load = "zero.load @c";
  return text.replace(text.find(load), load.size(), "zero.load @a");
}

/// A chain of layers, which are as many stages or chunks of stages.
inline std::string makeChain(int layers) {
  std::string parameters, body, last = "%x";
  for (int i = 0; i < layers; ++i) {
    const std::string n = std::to_string(i);
    parameters += "zero.parameter @w" + n +
                  " : tensor<8x8xf32> = #zero.normal<std = 0.2>\n";
    body += "  %w" + n + " = zero.load @w" + n + " : tensor<8x8xf32>\n  %h" +
            n + " = nn.linear " + last + ", %w" + n +
            " : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>\n";
    if (i + 1 < layers)
      body += "  zero.stage_boundary\n";
    last = "%h" + n;
  }
  return parameters +
         "zero.step @train(%x: tensor<4x8xf32> {zero.input = \"x\"}) {\n" +
         body + "  %q = arith.mulf " + last + ", " + last +
         " : tensor<4x8xf32>\n"
         "  %loss = nn.reduce mean %q dims [0, 1] : (tensor<4x8xf32>) -> "
         "tensor<f32>\n  zero.yield %loss : tensor<f32>\n}\n";
}

} // namespace mlir::zero

#endif // ZERO_TEST_VERIFY_STAGESTESTING_H
