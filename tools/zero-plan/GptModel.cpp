//===- GptModel.cpp - a GPT of any size as text of MLIR -------------------===//

#include "GptModel.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// Parameters and body of the model, as they are written.
class GptWriter {
public:
  explicit GptWriter(const GptShape &shape) : shape(shape) {}

  std::string write();

private:
  void writeTypes(llvm::raw_ostream &os) const;
  void parameter(const Twine &name, StringRef type, StringRef initial);
  /// Loads `<layer><name>.weight` and `.bias` as `%<value>_w` and `_b`.
  void loadPair(const std::string &value, const std::string &name,
                StringRef weight, StringRef bias);
  void norm(const std::string &value, const std::string &name,
            const std::string &x);
  void linear(const std::string &value, const std::string &name,
              const std::string &x, StringRef from, StringRef weight,
              StringRef bias, StringRef to);
  std::string layer(int64_t index, const std::string &x);

  const GptShape &shape;
  std::string parameterText, bodyText;
  llvm::raw_string_ostream parameters{parameterText}, body{bodyText};
};

} // namespace

void GptWriter::writeTypes(llvm::raw_ostream &os) const {
  const int64_t b = shape.microBatch, t = shape.sequence, d = shape.width;
  auto type = [&](StringRef name, std::initializer_list<int64_t> sizes,
                  StringRef element = "f32") {
    os << "!" << name << " = tensor<";
    for (int64_t size : sizes)
      os << size << "x";
    os << element << ">\n";
  };
  type("tokens", {b, t}, "i32");
  type("rows", {b, t});
  type("residual", {b, t, d});
  type("heads", {b, t, shape.heads, d / shape.heads});
  type("lse", {b, shape.heads, t});
  type("wide", {b, t, 4 * d});
  type("qkv", {b, t, 3 * d});
  type("logits", {b, t, shape.vocabulary});
  type("table", {shape.vocabulary, d});
  type("places", {t, d});
  type("v1", {d});
  type("v3", {3 * d});
  type("v4", {4 * d});
  type("w11", {d, d});
  type("w13", {d, 3 * d});
  type("w14", {d, 4 * d});
  type("w41", {4 * d, d});
}

void GptWriter::parameter(const Twine &name, StringRef type,
                          StringRef initial) {
  parameters << "zero.parameter @" << name << " : !" << type << " = #zero."
             << initial;
  if (type.starts_with("v"))
    parameters << " group \"no_decay\"";
  parameters << "\n";
}

void GptWriter::loadPair(const std::string &value, const std::string &name,
                         StringRef weight, StringRef bias) {
  body << "%" << value << "_w = zero.load @" << name << ".weight : !" << weight
       << "\n%" << value << "_b = zero.load @" << name << ".bias : !" << bias
       << "\n";
}

void GptWriter::norm(const std::string &value, const std::string &name,
                     const std::string &x) {
  parameter(name + ".weight", "v1", "ones");
  parameter(name + ".bias", "v1", "zeros");
  loadPair(value, name, "v1", "v1");
  body << "%" << value << ", %" << value << "_mean, %" << value
       << "_rstd = nn.layer_norm " << x << ", %" << value << "_w, %" << value
       << "_b eps 1.0e-5 : (!residual, !v1, !v1) -> (!residual, !rows, "
          "!rows)\n";
}

void GptWriter::linear(const std::string &value, const std::string &name,
                       const std::string &x, StringRef from, StringRef weight,
                       StringRef bias, StringRef to) {
  parameter(name + ".weight", weight, "normal<std = 0.02>");
  parameter(name + ".bias", bias, "zeros");
  loadPair(value, name, weight, bias);
  body << "%" << value << " = nn.linear " << x << ", %" << value << "_w bias %"
       << value << "_b : (!" << from << ", !" << weight << ", !" << bias
       << ") -> !" << to << "\n";
}

std::string GptWriter::layer(int64_t index, const std::string &x) {
  const std::string p = "h" + std::to_string(index) + "_";
  const std::string at = "h." + std::to_string(index) + ".";
  const int64_t d = shape.width;
  norm(p + "n1", at + "ln_1", x);
  linear(p + "qkv", at + "attn.c_attn", "%" + p + "n1", "residual", "w13", "v3",
         "qkv");
  body << "%" << p << "q, %" << p << "k, %" << p << "v = nn.split %" << p
       << "qkv dim 2 sizes [" << d << ", " << d << ", " << d
       << "] : (!qkv) -> (!residual, !residual, !residual)\n";
  for (char each : {'q', 'k', 'v'})
    body << "%" << p << each << "h = tensor.expand_shape %" << p << each
         << " [[0], [1], [2, 3]] output_shape [" << shape.microBatch << ", "
         << shape.sequence << ", " << shape.heads << ", " << d / shape.heads
         << "] : !residual into !heads\n";
  const double scale = 1 / std::sqrt(static_cast<double>(d) / shape.heads);
  body << "%" << p << "att, %" << p << "lse = nn.attention %" << p << "qh, %"
       << p << "kh, %" << p << "vh causal scale "
       << llvm::format("%.17g", scale)
       << " : (!heads, !heads, !heads) -> (!heads, !lse)\n"
       << "%" << p << "cat = tensor.collapse_shape %" << p
       << "att [[0], [1], [2, 3]] : !heads into !residual\n";
  linear(p + "proj", at + "attn.c_proj", "%" + p + "cat", "residual", "w11",
         "v1", "residual");
  body << "%" << p << "x1 = arith.addf " << x << ", %" << p
       << "proj : !residual\n";
  norm(p + "n2", at + "ln_2", "%" + p + "x1");
  linear(p + "fc", at + "mlp.c_fc", "%" + p + "n2", "residual", "w14", "v4",
         "wide");
  body << "%" << p << "act = nn.gelu tanh %" << p << "fc : !wide\n";
  linear(p + "out", at + "mlp.c_proj", "%" + p + "act", "wide", "w41", "v1",
         "residual");
  body << "%" << p << "x2 = arith.addf %" << p << "x1, %" << p
       << "out : !residual\n";
  return "%" + p + "x2";
}

std::string GptWriter::write() {
  parameter("wte.weight", "table", "normal<std = 0.02>");
  parameter("wpe.weight", "places", "normal<std = 0.02>");
  body << "%wte = zero.load @wte.weight : !table\n"
          "%wpe = zero.load @wpe.weight : !places\n"
          "%token = nn.embedding %tokens, %wte : (!tokens, !table) -> "
          "!residual\n"
          "%place = nn.broadcast %wpe dims [1, 2] : (!places) -> !residual\n"
          "%x = arith.addf %token, %place : !residual\n";
  std::string x = "%x";
  for (int64_t index = 0; index < shape.layers; ++index)
    x = layer(index, x);
  norm("nf", "ln_f", x);
  body << "%head = zero.load @wte.weight : !table\n"
          "%logits = nn.linear %nf, %head transposed : (!residual, !table) -> "
          "!logits\n"
          "%loss, %lse = nn.cross_entropy %logits, %targets : (!logits, "
          "!tokens) -> (tensor<f32>, !rows)\n"
          "zero.yield %loss, %logits outputs [\"logits\"] : tensor<f32>, "
          "!logits\n";
  std::string text;
  llvm::raw_string_ostream os(text);
  writeTypes(os);
  os << parameterText
     << "zero.step @train(%tokens: !tokens {zero.input = \"tokens\"}, "
        "%targets: !tokens {zero.input = \"targets\"}) {\n"
     << bodyText << "}\n";
  return text;
}

std::string mlir::zero::writeGpt(const GptShape &shape) {
  return GptWriter(shape).write();
}
