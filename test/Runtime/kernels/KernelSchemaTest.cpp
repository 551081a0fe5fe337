// What a kernel's row of the table accepts, refuses and counts.
#include "kernels/Registry.h"
#include "program/KernelKey.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace zrt::test {
namespace {

const DataType F32 = DataType::F32, BF16 = DataType::BF16;

/// A kernel that is not ours, as another file would add it.
const KernelSchemas added({{"test.scale_rows",
                            "x:T[r..,n] s:f32[r..] -> y:T[r..,n]", "times:int",
                            [](const KernelShapes &s) -> uint64_t {
                              return 3 * s.product("r") * s.size("n");
                            }}});

class Nothing final : public Kernel {
public:
  Nothing(const KernelSpec &, const KernelContext &) {}
  void run(void *const *, void *) override {}
};
const KernelRegistration registered(Processor::Host, "test.scale_rows",
                                    makeKernel<Nothing>);

KernelSpec spec(const std::string &name, std::vector<TensorType> operands,
                std::vector<TensorType> results) {
  KernelSpec made;
  made.name = name;
  made.operands = std::move(operands);
  made.results = std::move(results);
  return made;
}

std::string wrongWith(const KernelSpec &spec) {
  KernelShapes shapes(spec);
  return checkKernel(spec, shapes);
}

KernelSpec norm() {
  KernelSpec made = spec("nn.rms_norm", {{BF16, {2, 3, 8}}, {BF16, {8}}},
                         {{BF16, {2, 3, 8}}, {F32, {2, 3}}});
  made.floats["eps"] = 1e-5;
  return made;
}

TEST(KernelSchema, BindsNamesAndGroups) {
  const KernelSpec made = norm();
  KernelShapes shapes(made);
  EXPECT_EQ(checkKernel(made, shapes), "");
  EXPECT_EQ(shapes.size("n"), 8);
  EXPECT_EQ(shapes.product("r"), 6);
  EXPECT_EQ(shapes.elements("y"), 48);
}

TEST(KernelSchema, SaysWhichTensorDoesNotFit) {
  KernelSpec made = norm();
  made.results[1] = {F32, {3, 2}};
  EXPECT_EQ(wrongWith(made), "rstd is 3x2xf32, wanted 2x3xf32");
  made = norm();
  made.operands[1].type = F32;
  EXPECT_EQ(wrongWith(made), "w is 8xf32, wanted 8xbf16");
  made = norm();
  made.operands[0] = {DataType::I32, {2, 3, 8}};
  EXPECT_EQ(wrongWith(made),
            "x is 2x3x8xi32, wanted [2, 3, 8] of f32, bf16 or f16");
  made = norm();
  made.operands[0] = {BF16, {}};
  EXPECT_EQ(wrongWith(made), "x is bf16, wanted [r.., n] of bf16");
  made = norm();
  made.operands.pop_back();
  EXPECT_EQ(wrongWith(made), "found 1 operands and 2 results, wanted operands: "
                             "x, w; results: y, rstd");
}

TEST(KernelSchema, SomeTensorsMayHaveStrides) {
  const TensorType query = {F32, {2, 5, 3, 4}};
  KernelSpec made =
      spec("nn.attention", {query, query, query}, {query, {F32, {2, 3, 5}}});
  fillFlags(made);
  EXPECT_EQ(wrongWith(made), "");
  for (size_t tensor : {0, 1, 2, 3})
    EXPECT_TRUE(takesStrides(made, tensor));
  EXPECT_FALSE(takesStrides(made, 4));
  EXPECT_FALSE(takesStrides(norm(), 0));

  made.operands[1].strides = {300, 60, 20, 1};
  EXPECT_EQ(wrongWith(made), "");
  EXPECT_EQ(made.operands[1].span(), (300 + 4 * 60 + 2 * 20 + 4) * 4u);
  made.operands[0].strides = {60, 12, 4, 1};
  made.results[1].strides = {15, 5, 1};
  EXPECT_EQ(wrongWith(made),
            "lse is 2x3x5xf32 strides 15x5x1, wanted it dense");
  made.results[1].strides = {};
  for (const std::vector<int64_t> &strides :
       {std::vector<int64_t>{60, 12, 4}, // too few
        {60, 12, 4, 2},                  // rows in pieces
        {60, 12, 5, 1},                  // between multiples of 16 bytes
        {60, 8, 4, 1},                   // overlapping
        {60, 12, 0, 1}}) {
    made.operands[0].strides = strides;
    EXPECT_NE(wrongWith(made).find("wanted strides that do not overlap: 1 of "
                                   "the last dimension, others multiples of "
                                   "16 bytes"),
              std::string::npos)
        << wrongWith(made);
  }
}

/// Query heads are some for each key head, and features some for each group.
TEST(KernelSchema, ProductsOfLettersAreDivided) {
  const TensorType query = {F32, {2, 5, 6, 4}}, key = {F32, {2, 5, 4, 4}};
  KernelSpec attention =
      spec("nn.attention", {query, key, key}, {query, {F32, {2, 6, 5}}});
  fillFlags(attention);
  EXPECT_EQ(wrongWith(attention),
            "q is 2x5x6x4xf32, wanted [2, 5, 4*r, 4] of f32");
  KernelSpec conv =
      spec("nn.conv", {{F32, {2, 4, 7}}, {F32, {6, 2, 5}}}, {{F32, {2, 6, 3}}});
  conv.ints = {
      {"strides", {1}}, {"padding", {0}}, {"dilations", {1}}, {"groups", {2}}};
  EXPECT_EQ(wrongWith(conv), "");
  conv.ints["groups"] = {4};
  EXPECT_EQ(wrongWith(conv),
            "w is 6x2x5xf32, wanted [4*m, 1, 5] of f32, with groups 4");
  conv.ints["groups"] = {0};
  EXPECT_EQ(wrongWith(conv), "attribute 'groups' is 0, wanted 1 or more");
}

TEST(KernelSchema, GroupsEndWhereAnAttributeSays) {
  KernelSpec gather =
      spec("nn.gather", {{F32, {3, 9, 4}}, {DataType::I32, {3, 2}}},
           {{F32, {3, 2, 4}}});
  gather.ints["dim"] = {1};
  EXPECT_EQ(wrongWith(gather), "");
  gather.operands[1].shape = {3, 2, 4};
  EXPECT_EQ(wrongWith(gather), "");
  gather.operands[1].shape = {2, 2};
  EXPECT_EQ(wrongWith(gather), "ids is 2x2xi32, wanted 3x2x4xi32, or "
                               "without its last dimensions");
  gather.ints["dim"] = {3};
  EXPECT_EQ(wrongWith(gather),
            "attribute 'dim' is 3, wanted a dimension of x, 3x9x4xf32");
}

/// Windows have as many dimensions as images, one to three, and lists a number
/// for each.
TEST(KernelSchema, GroupsHaveAsManyDimensionsAsOthers) {
  KernelSpec conv = spec("nn.conv", {{F32, {2, 4, 7, 7}}, {F32, {6, 4, 5}}},
                         {{F32, {2, 6, 3, 3}}});
  conv.ints = {{"strides", {1, 1}},
               {"padding", {0, 0}},
               {"dilations", {1, 1}},
               {"groups", {1}}};
  EXPECT_EQ(wrongWith(conv),
            "w is 6x4x5xf32, wanted [1*m, 4, k0, k1] of f32, with groups 1");
  conv.operands[1].shape = {6, 4, 5, 5};
  EXPECT_EQ(wrongWith(conv), "");
  conv.ints["strides"] = {1, 0};
  EXPECT_EQ(wrongWith(conv), "attribute 'strides' is [1, 0], wanted 2 numbers "
                             "for the dimensions k, each 1 or more");
  conv.ints["strides"] = {1};
  EXPECT_EQ(wrongWith(conv), "attribute 'strides' is [1], wanted 2 numbers "
                             "for the dimensions k, each 1 or more");
  conv.operands[0].shape = {2, 4};
  EXPECT_EQ(wrongWith(conv), "x is 2x4xf32, wanted [n, 1*i, s..] of f32, with "
                             "1 to 3 dimensions s, with groups 1");
}

/// A slice of an extract_slice, the padding of a pad and the pieces of a
/// concat.
TEST(KernelSchema, SaysWhatMovesWant) {
  KernelSpec concat =
      spec("tensor.concat", {{F32, {2, 3}}, {F32, {2, 4}}}, {{F32, {2, 8}}});
  concat.ints["dim"] = {1};
  EXPECT_EQ(wrongWith(concat), "the pieces have 7 elements along dimension 1, "
                               "wanted those of 2x8xf32");
  concat.operands[1].shape = {3, 5};
  EXPECT_EQ(wrongWith(concat), "piece 1 is 3x5xf32, wanted 2x5xf32");
  KernelSpec pad = spec("tensor.pad", {{F32, {2, 3}}}, {{F32, {2, 5}}});
  pad.ints = {{"low", {0, 1}}, {"high", {0, 2}}};
  pad.floats["value"] = 0;
  EXPECT_EQ(wrongWith(pad), "y is 2x5xf32, wanted 2x6xf32");
  pad.ints["low"] = {0, -1};
  EXPECT_EQ(wrongWith(pad), "the padding of dimension 1 is negative; cut with "
                            "tensor.extract_slice");
  KernelSpec slice = spec("tensor.extract_slice", {{F32, {5}}}, {{F32, {3}}});
  slice.ints = {{"offsets", {1}}, {"sizes", {2}}, {"strides", {1}}};
  EXPECT_EQ(wrongWith(slice),
            "the slice has 2 elements, wanted those of 3xf32");
}

TEST(KernelSchema, NumbersAreFloatsOrI32) {
  const TensorType wide = {DataType::I64, {4}};
  KernelSpec sums = spec("nn.cumsum", {wide}, {wide});
  sums.ints = {{"dim", {0}}};
  EXPECT_EQ(wrongWith(sums), "x is 4xi64, wanted floats or i32");
}

TEST(KernelSchema, AnOperationMayBeOfF64) {
  const DataType F64 = DataType::F64;
  KernelSpec made =
      spec("nn.cross_entropy_grad",
           {{F64, {}}, {F64, {2, 8}}, {DataType::I32, {2}}, {F64, {2}}},
           {{F64, {2, 8}}});
  KernelShapes shapes(made);
  EXPECT_EQ(checkOperation(made, shapes), "");
  EXPECT_EQ(wrongWith(made), "dloss is f64, wanted f32");
  made.operands[3].type = F32;
  EXPECT_EQ(checkOperation(made, shapes), "lse is 2xf32, wanted 2xf64");
}

/// The kind and the attribute of the factor `name`.
std::string factorOf(const KernelSpec &spec, const std::string &name) {
  const std::optional<Factors> factors = findFactors(spec);
  if (factors)
    for (const Factor &factor : factors->factors)
      if (factor.name == name)
        return std::string(nameOf(factor.kind)) + " " +
               std::to_string(factor.size) + " " + factor.attribute;
  return "none";
}

TEST(KernelSchema, SaysFactors) {
  const TensorType query = {F32, {2, 5, 6, 4}}, key = {F32, {2, 5, 3, 4}};
  KernelSpec attention =
      spec("nn.attention", {query, key, key, {F32, {2, 1, 5, 5}}},
           {query, {F32, {2, 6, 5}}});
  fillFlags(attention);
  EXPECT_EQ(factorOf(attention, "g"), "parallel 3 ");
  EXPECT_EQ(factorOf(attention, "r"), "parallel 2 ");
  EXPECT_EQ(factorOf(attention, "s"), "whole 5 ");
  EXPECT_EQ(factorOf(attention, "t"), "parallel 5 ");
  const Factors factors = *findFactors(attention);
  EXPECT_EQ(factors.operands[0].dimensions[2].parts.size(), 2u);
  EXPECT_EQ(factors.operands[1].dimensions[2].parts.size(), 1u);
  EXPECT_EQ(factors.operands[3].dimensions[1].parts.size(), 0u);
  EXPECT_EQ(factors.operands[3].dimensions[0].parts[0].factor,
            factors.operands[0].dimensions[0].parts[0].factor);
  attention.ints["causal"] = {1};
  EXPECT_EQ(factorOf(attention, "t"), "whole 5 ");

  KernelSpec rotary = spec("nn.rotary", {query}, {query});
  rotary.floats["theta"] = 1e4;
  EXPECT_EQ(factorOf(rotary, "h"), "parallel 6 ");
  rotary.ints["heads"] = {1, 3};
  EXPECT_EQ(factorOf(rotary, "h"), "whole 6 ");
  rotary.ints["heads"] = {1, 7};
  EXPECT_EQ(wrongWith(rotary), "heads are [1, 7], no range of the 6 there are");

  KernelSpec conv =
      spec("nn.conv", {{F32, {2, 4, 7}}, {F32, {6, 2, 5}}}, {{F32, {2, 6, 3}}});
  conv.ints = {
      {"strides", {1}}, {"padding", {0}}, {"dilations", {1}}, {"groups", {2}}};
  EXPECT_EQ(factorOf(conv, "u"), "parallel 2 groups");

  // Experts and where the rows of each end go together; rows are in an order.
  KernelSpec grouped = spec(
      "nn.grouped_matmul",
      {{F32, {8, 4}}, {F32, {3, 4, 5}}, {DataType::I32, {3}}}, {{F32, {8, 5}}});
  EXPECT_EQ(factorOf(grouped, "e"), "combined 3 ");
  EXPECT_EQ(factorOf(grouped, "s"), "own 8 ");
  EXPECT_TRUE(findFactors(grouped)->operands[1].isLinear);
  EXPECT_FALSE(findFactors(spec("nn.linear", {}, {})).has_value());
}

TEST(KernelSchema, SaysWhichAttributeDoesNotFit) {
  KernelSpec made = norm();
  made.floats.clear();
  EXPECT_EQ(wrongWith(made), "attribute 'eps' is missing");
  made = norm();
  made.ints["causal"] = {1};
  EXPECT_EQ(wrongWith(made), "attribute 'causal' is unknown to it as an "
                             "integer");
  made = norm();
  made.ints["eps"] = {1};
  EXPECT_EQ(wrongWith(made), "attribute 'eps' is unknown to it as an integer");
  KernelSpec linear =
      spec("nn.linear", {{F32, {4, 8}}, {F32, {8, 3}}}, {{F32, {4, 3}}});
  linear.ints["transposed"] = {2};
  EXPECT_EQ(wrongWith(linear), "attribute 'transposed' is neither 0 nor 1");
  linear.ints["transposed"] = {0};
  linear.ints["bias"] = {1};
  EXPECT_NE(wrongWith(linear).find("'bias' as its attribute says"),
            std::string::npos);
}

TEST(KernelSchema, WantsARow) {
  EXPECT_EQ(wrongWith(spec("test.unknown", {}, {})).rfind("no row", 0), 0u);
}

TEST(KernelSchema, SaysWhatAStepsKernelsWant) {
  EXPECT_EQ(wrongWith(spec("zero.clear", {{BF16, {7}}}, {})), "");
  EXPECT_EQ(wrongWith(spec("zero.clear", {}, {})),
            "found 0 operands and 0 results, wanted operands: to; results: "
            "none");
  EXPECT_EQ(wrongWith(spec("zero.copy", {{BF16, {7}}, {F32, {7}}}, {})), "");
  EXPECT_EQ(wrongWith(spec("zero.copy", {{BF16, {7}}, {F32, {8}}}, {})),
            "to is 8xf32, wanted 7xf32");
  EXPECT_EQ(
      wrongWith(spec("zero.copy", {{DataType::I64, {7}}, {F32, {7}}}, {})),
      "to is 7xf32, wanted 7xi64");
  EXPECT_EQ(wrongWith(spec("zero.accumulate", {{BF16, {7}}, {F32, {7}}}, {})),
            "");
  EXPECT_EQ(wrongWith(spec("zero.accumulate",
                           {{BF16, {7}}, {DataType::I32, {7}}}, {})),
            "sum is 7xi32, wanted [7] of f32, bf16 or f16");
  EXPECT_EQ(wrongWith(spec("zero.loss_seed", {}, {{F32, {2}}})),
            "x is 2xf32, wanted a scalar");
  KernelSpec scale = spec("zero.grad_scale", {}, {});
  scale.floats = {{"clip", -1}, {"divisor", 1}};
  EXPECT_NE(wrongWith(scale).find("wanted clip >= 0"), std::string::npos);
  KernelSpec statistics = spec("zero.grad_stats", {{F32, {7}}}, {});
  EXPECT_EQ(wrongWith(statistics), "attribute 'partition' is missing");
}

TEST(KernelSchema, SaysWhatAnUpdateWants) {
  KernelSpec update = spec("zero.sgd", {{BF16, {7}}, {F32, {7}}}, {});
  update.ints["partition"] = {0};
  EXPECT_EQ(wrongWith(update), "attribute 'weight_decay' is missing");
  update.floats = {{"weight_decay", 0.0}, {"momentum", 0.0}};
  update.ints["nesterov"] = {0};
  EXPECT_EQ(wrongWith(update), "");
  update.floats["momentum"] = 0.9; // and so it has a state
  EXPECT_NE(wrongWith(update).find("found 2 buffers, wanted 3 or 4"),
            std::string::npos);
  update.operands.push_back({F32, {7}});
  EXPECT_EQ(wrongWith(update), "");
  update.operands[1].type = BF16;
  EXPECT_EQ(wrongWith(update), "the parameter is 7xbf16, wanted f32, or ui16: "
                               "the lower 16 bits of it");
  update.operands[1].type = DataType::U16;
  EXPECT_NE(wrongWith(update).find("wanted its bf16 parameter"),
            std::string::npos);
  update.operands.push_back({BF16, {7}});
  EXPECT_EQ(wrongWith(update), "");
  update.floats["beta1"] = 0.9;
  EXPECT_EQ(wrongWith(update),
            "attribute 'beta1' is unknown to it as a real number");
}

TEST(KernelSchema, FillsFlagsFromOptionalTensors) {
  KernelSpec linear = spec(
      "nn.linear", {{F32, {4, 8}}, {F32, {8, 3}}, {F32, {3}}}, {{F32, {4, 3}}});
  fillFlags(linear);
  EXPECT_EQ(linear.integer("bias", -1), 1);
  EXPECT_EQ(linear.integer("transposed", -1), 0);
  EXPECT_EQ(wrongWith(linear), "");
}

TEST(KernelSchema, CountsWork) {
  KernelSpec product =
      spec("nn.matmul", {{F32, {16, 4}}, {F32, {16, 8}}}, {{F32, {2, 8}}});
  product.ints = {{"transpose_a", {1}}, {"rows", {1, 3}}};
  fillFlags(product);
  countWork(product);
  EXPECT_EQ(product.flops, 2u * 2 * 8 * 16);
  // Two of four columns of the left operand.
  EXPECT_EQ(product.bytes, 4u * (16 * 2 + 16 * 8 + 2 * 8));
}

TEST(KernelSchema, SaysWhatKindOfOperationsAKernelDoes) {
  auto linear = arithmeticOf(
      spec("nn.linear", {{F32, {2, 3, 4}}, {F32, {4, 5}}}, {{F32, {2, 3, 5}}}));
  EXPECT_EQ(linear.kind, KernelArithmetic::Product);
  EXPECT_EQ(linear.count, 1);
  EXPECT_EQ(linear.rows, 6);
  EXPECT_EQ(linear.columns, 5);
  EXPECT_EQ(linear.depth, 4);
  KernelSpec rows =
      spec("nn.matmul", {{F32, {7, 4}}, {F32, {4, 5}}}, {{F32, {3, 5}}});
  rows.ints["rows"] = {2, 5};
  EXPECT_EQ(arithmeticOf(rows).rows, 3);
  auto batch = arithmeticOf(spec(
      "nn.matmul", {{F32, {8, 7, 4}}, {F32, {8, 4, 5}}}, {{F32, {8, 7, 5}}}));
  EXPECT_EQ(batch.count, 8);
  EXPECT_EQ(batch.rows, 7);
  auto attention = arithmeticOf(
      spec("nn.attention",
           {{F32, {2, 8, 3, 4}}, {F32, {2, 8, 3, 4}}, {F32, {2, 8, 3, 4}}},
           {{F32, {2, 8, 3, 4}}, {F32, {2, 3, 8}}}));
  EXPECT_EQ(attention.kind, KernelArithmetic::Attention);
  EXPECT_EQ(
      arithmeticOf(spec("nn.softmax", {{F32, {2, 4}}}, {{F32, {2, 4}}})).kind,
      KernelArithmetic::Elementwise);
  // One that does not fit its row, or has none.
  EXPECT_EQ(arithmeticOf(spec("nn.linear", {}, {})).kind,
            KernelArithmetic::Elementwise);
  EXPECT_EQ(arithmeticOf(spec("nn.unheard", {}, {})).kind,
            KernelArithmetic::Elementwise);
}

/// An update's bytes an element: the gradient is read, the 16-bit parameter
/// written, all else both, the halves of a split master included.
TEST(KernelSchema, CountsWhatAnUpdateReadsAndWrites) {
  const DataType U16 = DataType::U16;
  const auto bytes = [](std::initializer_list<DataType> types,
                        std::vector<int64_t> times) {
    KernelSpec update = spec("zero.adamw", {}, {});
    for (const DataType type : types)
      update.operands.push_back({type, {10}});
    update.ints = {{"partition", {0}},
                   {"bias_correction", {1}},
                   {"operations", {14}},
                   {"times", std::move(times)}};
    update.floats = {{"beta1", 0.9},
                     {"beta2", 0.999},
                     {"epsilon", 1e-8},
                     {"weight_decay", 0.0}};
    countWork(update);
    EXPECT_EQ(update.flops, 140u);
    return update.bytes / 10;
  };
  EXPECT_EQ(bytes({F32, F32, F32, F32}, {1, 2, 2, 2}), 28u);
  EXPECT_EQ(bytes({BF16, F32, F32, F32, BF16}, {1, 2, 2, 2, 1}), 28u);
  EXPECT_EQ(bytes({F32, F32, F32, F32, BF16}, {1, 2, 2, 2, 1}), 30u);
  EXPECT_EQ(bytes({BF16, U16, F32, F32, BF16}, {1, 2, 2, 2, 2}), 26u);
  EXPECT_EQ(bytes({F32, U16, F32, F32, BF16}, {1, 2, 2, 2, 2}), 28u);
}

TEST(KernelSchema, CountsProductsOfGroups) {
  KernelSpec grouped =
      spec("nn.grouped_matmul",
           {{BF16, {64, 16}}, {BF16, {4, 16, 8}}, {DataType::I32, {4}}},
           {{BF16, {64, 8}}});
  countWork(grouped);
  EXPECT_EQ(grouped.flops, 2u * 64 * 16 * 8);
  EXPECT_EQ(arithmeticOf(grouped).kind, KernelArithmetic::Product);
  EXPECT_EQ(arithmeticOf(grouped).count, 4);
  EXPECT_EQ(arithmeticOf(grouped).rows, 16);
  // Of one of two ranges of groups, half of the rows.
  grouped.ints["ranges"] = {2};
  countWork(grouped);
  EXPECT_EQ(grouped.flops, 64u * 16 * 8);
  EXPECT_EQ(arithmeticOf(grouped).rows, 8);
  grouped.ints["ranges"] = {0};
  EXPECT_EQ(wrongWith(grouped), "ranges is 0, wanted 1 or more");
}

/// By its elements, not by the statistics that come first.
TEST(KernelSchema, SaysWhatAKernelComputesIn) {
  KernelSpec loss = spec("nn.linear_partial_cross_entropy_grad",
                         {{F32, {}},
                          {F32, {4}},
                          {BF16, {4, 8}},
                          {BF16, {8, 6}},
                          {DataType::I32, {4}},
                          {DataType::I32, {}},
                          {F32, {4}}},
                         {{BF16, {4, 8}}, {BF16, {8, 6}}});
  EXPECT_EQ(computeTypeOf(loss), BF16);
  EXPECT_EQ(computeTypeOf(spec("foreign", {{F32, {}}, {BF16, {4}}}, {})), BF16);
}

TEST(KernelSchema, CountsProductsOfConvolutions) {
  // 2 samples, 6 features of 3 x 4 windows, each of 4 / 2 channels and 5 taps.
  KernelSpec conv = spec("nn.conv", {{F32, {2, 4, 7, 4}}, {F32, {6, 2, 5, 1}}},
                         {{F32, {2, 6, 3, 4}}});
  conv.ints = {{"strides", {1, 1}},
               {"padding", {0, 0}},
               {"dilations", {1, 1}},
               {"groups", {2}}};
  countWork(conv);
  EXPECT_EQ(conv.flops, 2u * 2 * 6 * 12 * 2 * 5);
  EXPECT_EQ(conv.bytes, 4u * (2 * 4 * 28 + 6 * 2 * 5 + 2 * 6 * 12));
  // Two of eight rows of a gradient of weights.
  KernelSpec rows =
      spec("nn.conv_weight_grad", {{F32, {3, 8, 6}}, {F32, {3, 4, 8}}},
           {{F32, {2, 4, 3}}});
  rows.ints = {{"strides", {1}},
               {"padding", {0}},
               {"dilations", {1}},
               {"groups", {1}},
               {"rows", {4, 6}}};
  countWork(rows);
  EXPECT_EQ(rows.flops, 2u * 3 * 2 * 6 * 4 * 3);
}

TEST(KernelSchema, CountsWhatAStepsKernelsMove) {
  KernelSpec sum = spec("zero.accumulate", {{BF16, {10}}, {F32, {10}}}, {});
  countWork(sum);
  EXPECT_EQ(sum.flops, 10u);
  EXPECT_EQ(sum.bytes, 20u + 2 * 40);
  KernelSpec statistics = spec("zero.grad_stats", {{BF16, {10}}}, {});
  statistics.ints = {{"partition", {0}}};
  countWork(statistics);
  EXPECT_EQ(statistics.flops, 30u);
  EXPECT_EQ(statistics.bytes, 20u);
}

TEST(KernelSchema, TakesKernelsOfOtherFiles) {
  KernelSpec made =
      spec("test.scale_rows", {{F32, {4, 8}}, {F32, {4}}}, {{F32, {4, 8}}});
  EXPECT_THROW(makeHostKernel(made, KernelContext()), std::invalid_argument);
  made.ints["times"] = {2};
  EXPECT_NE(makeHostKernel(made, KernelContext()), nullptr);
  countWork(made);
  EXPECT_EQ(made.flops, 3u * 4 * 8);
}

TEST(KernelSchemaDeathTest, EndsWhereARowCannotBeRead) {
  auto add = [](const char *tensors, const char *attributes) {
    KernelSchemas(std::vector<KernelSchema>{{"test.bad", tensors, attributes}});
  };
  EXPECT_EXIT(add("x:T[n]", ""), testing::ExitedWithCode(2), "no '->'");
  EXPECT_EXIT(add("x:Q[n] -> y:T[n]", ""), testing::ExitedWithCode(2),
              "element type 'Q'");
  EXPECT_EXIT(add("x:T[n] -> y:T[n]", "eps:double"), testing::ExitedWithCode(2),
              "the attribute 'eps:double', wanted key:kind with kind flag, "
              "int, ints, range or real");
  EXPECT_EXIT(add("x:T -> y:T[n]", ""), testing::ExitedWithCode(2),
              "'x:T', wanted name:type\\[dimensions\\]");
  EXPECT_EXIT(add("x:T[n]~u -> y:T[n]", ""), testing::ExitedWithCode(2),
              "swaps two dimensions of 'x:T\\[n\\]~u'");
  EXPECT_EXIT(add("x*:T[n] z:T[n] -> y:T[n]", ""), testing::ExitedWithCode(2),
              "'z:T\\[n\\]' behind any number of tensors");
  EXPECT_EXIT(add("x?:T[n] z:T[n] -> y:T[n]", ""), testing::ExitedWithCode(2),
              "'z:T\\[n\\]' behind one that may be absent");
  EXPECT_EXIT(add("x:T[n] -> y:T[n] | parallel m", ""),
              testing::ExitedWithCode(2),
              "'parallel m', wanted parallel, sum, combined or own and a "
              "letter");
  EXPECT_EXIT(add("x:T[n] -> y:T[n] | half n", ""), testing::ExitedWithCode(2),
              "'half n', wanted");
  EXPECT_EXIT(add("x:T[n] -> y:T[n] | linear y", ""),
              testing::ExitedWithCode(2), "no operand 'y'");
  EXPECT_EXIT(add("x:T[n] -> y:T[n]", "groups:int[u]"),
              testing::ExitedWithCode(2), "'groups:int\\[u\\]' of no letter");
  EXPECT_EXIT(add("x:T[r..q] -> y:T[r..]", ""), testing::ExitedWithCode(2),
              "the group 'r..q', wanted an attribute or a group's name");
  EXPECT_EXIT(KernelSchemas(
                  std::vector<KernelSchema>{{"nn.linear", "x:T[n] -> y:T[n]"}}),
              testing::ExitedWithCode(2), "is in the table twice");
}

} // namespace
} // namespace zrt::test
