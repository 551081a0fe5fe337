// Products whose algorithm is chosen by time: on the model of cuBLASLt, where
// the test says how long each one takes.
#include "../CudaTesting.h"
#include "Blas.h"
#include "Runtime.h"

#include "kernels/cuda/ProductChoices.h"

using namespace zrt;
using namespace zrt::test;
using cuda::ProductChoices;
using cuda::ProductRecord;

namespace {

const cuda::ProductProcessor kHere = {"model", 1};

/// Kernels on buffers of the device, and times that are not the clock's.
class Products : public CudaTest {
protected:
  ~Products() override {
    if (context)
      context->products = nullptr;
    kernel.reset();
    for (void *address : held)
      device->release(address);
  }

  std::unique_ptr<ProductChoices> makeChoices() {
    return std::make_unique<ProductChoices>(
        kHere, "times.json", [this](const std::function<void()> &queue) {
          queue();
          device->synchronize(reinterpret_cast<Device::Queue>(context->stream));
          ++timed;
          return seconds[size_t(bench::lastAlgorithm())];
        });
  }

  /// Makes and admits the kernel of x [4, 16] times w [16, 8] and a bias that
  /// begins `bias` bytes behind an aligned address.
  void admit(ProductChoices *choices, size_t bias = 0) {
    const DataType type = DataType::F32;
    KernelSpec spec =
        makeSpec("nn.linear",
                 {Array(type, {4, 16}), Array(type, {16, 8}), Array(type, {8})},
                 {{type, {4, 8}}});
    spec.ints = {{"transposed", {0}}, {"bias", {1}}};
    admit(spec, choices,
          {allocate(256), allocate(512), allocate(64) + bias, allocate(128)});
  }
  void admit(const KernelSpec &spec, ProductChoices *choices,
             const std::vector<void *> &addresses) {
    context->products = choices;
    KernelContext kernels;
    kernels.cuda = context.get();
    kernels.control = reinterpret_cast<Control *>(allocate(sizeof(Control)));
    kernel = makeCudaKernel(spec, kernels);
    buffers = addresses;
    workspace = allocate(std::max<size_t>(kernel->workspaceBytes(), 1));
    kernel->admit(buffers.data(), workspace);
  }
  char *allocate(size_t bytes) {
    held.push_back(device->allocate(bytes, "buffer"));
    return static_cast<char *>(held.back());
  }
  /// The algorithm that a step runs.
  int algorithm() {
    kernel->run(buffers.data(), workspace);
    device->synchronize(reinterpret_cast<Device::Queue>(context->stream));
    return bench::lastAlgorithm();
  }
  /// What an earlier run has measured.
  std::vector<ProductRecord> recorded() {
    const auto choices = makeChoices();
    admit(choices.get());
    std::vector<ProductRecord> records = choices->measure();
    timed = 0;
    return records;
  }

  std::vector<double> seconds = {3e-6, 1e-6, 2e-6}; ///< of an algorithm
  int timed = 0;
  std::unique_ptr<Kernel> kernel;
  std::vector<void *> buffers, held;
  void *workspace = nullptr;
};

TEST_F(Products, AreOfTheFirstAlgorithmWhereNothingIsCompared) {
  admit(nullptr);
  EXPECT_EQ(algorithm(), 0);
  EXPECT_EQ(kernel->workspaceBytes(), 4096u);
}

TEST_F(Products, AreOfTheFastestAlgorithm) {
  const auto choices = makeChoices();
  admit(choices.get());
  EXPECT_TRUE(choices->isOpen());
  EXPECT_EQ(timed, 0);
  // As much as any of them may want.
  EXPECT_EQ(kernel->workspaceBytes(), size_t(32) << 20);
  const std::vector<ProductRecord> records = choices->measure();
  EXPECT_FALSE(choices->isOpen());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].product,
            "4 x 16 times 16 x 8, f32, bias, aligned to 16, bias to 16, "
            "workspace 33554432");
  EXPECT_TRUE(records[0].processor == kHere);
  EXPECT_EQ(records[0].choice.size(), 128u);
  EXPECT_DOUBLE_EQ(records[0].microseconds, 1);
  EXPECT_EQ(timed, bench::kAlgorithms * 6);
  EXPECT_EQ(algorithm(), 1);
}

/// What they are added to is a matrix, too.
TEST_F(Products, ThatAreAddedAreProductsOfTheirOwn) {
  const DataType type = DataType::BF16;
  const Array x(type, {4, 16}), w(type, {16, 8}), c(type, {4, 8});
  KernelSpec spec = makeSpec("nn.linear_add", {x, w, c}, {c.type});
  spec.ints = {{"transposed", {0}}, {"bias", {0}}};
  for (size_t offset : {0, 2}) {
    const auto choices = makeChoices();
    admit(spec, choices.get(),
          {allocate(128), allocate(256), allocate(128) + offset, allocate(64)});
    const std::vector<ProductRecord> records = choices->measure();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].product,
              "4 x 16 times 16 x 8, bf16 added to a matrix, aligned to " +
                  std::to_string(offset ? 2 : 16) + ", workspace 33554432");
    EXPECT_EQ(algorithm(), 1);
  }
}

TEST_F(Products, AreComparedByTheirShortestTimes) {
  int run = 0;
  // The first run of an algorithm is short and does not count.
  const std::vector<double> first = {0, 9, 3, 9, 9, 9},
                            others = {0, 9, 9, 9, 2, 9};
  ProductChoices choices(kHere, "", [&](const std::function<void()> &queue) {
    queue();
    return (bench::lastAlgorithm() == 0 ? first : others)[size_t(run++ % 6)];
  });
  admit(&choices);
  EXPECT_DOUBLE_EQ(choices.measure().at(0).microseconds, 2e6);
  EXPECT_EQ(algorithm(), 1);
}

TEST_F(Products, OfEqualTimesKeepTheOrderOfTheLibrary) {
  seconds = {1, 1, 1};
  const auto choices = makeChoices();
  admit(choices.get());
  choices->measure();
  EXPECT_EQ(algorithm(), 0);
}

TEST_F(Products, AreNotTimedAgain) {
  const std::vector<ProductRecord> records = recorded();
  seconds = {1, 2, 3};
  const auto choices = makeChoices();
  choices->add(records);
  admit(choices.get());
  EXPECT_FALSE(choices->isOpen());
  EXPECT_EQ(algorithm(), 1);
  EXPECT_EQ(timed, 0);
}

/// As by a rank that another one measures for.
TEST_F(Products, AreChosenByAnother) {
  const std::vector<ProductRecord> records = recorded();
  const auto choices = makeChoices();
  admit(choices.get());
  EXPECT_TRUE(choices->isOpen());
  choices->add(records);
  EXPECT_FALSE(choices->isOpen());
  EXPECT_EQ(algorithm(), 1);
  EXPECT_EQ(timed, 0);
}

TEST_F(Products, OfOtherProcessorsSayNothing) {
  for (const cuda::ProductProcessor &other :
       {cuda::ProductProcessor{"another", 1}, {"model", 2}}) {
    std::vector<ProductRecord> records = recorded();
    records[0].processor = other;
    const auto choices = makeChoices();
    choices->add(records);
    admit(choices.get());
    EXPECT_TRUE(choices->isOpen());
  }
}

TEST_F(Products, OfOtherAlignmentsAreComparedBesides) {
  const auto choices = makeChoices();
  choices->add(recorded());
  admit(choices.get(), /*bias=*/4);
  EXPECT_TRUE(choices->isOpen());
  seconds = {3, 2, 1};
  const std::vector<ProductRecord> records = choices->measure();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_NE(records[0].product.find("bias to 4"), std::string::npos);
  EXPECT_EQ(algorithm(), 2);
}

TEST_F(Products, RefuseAnAlgorithmThatIsNone) {
  std::vector<ProductRecord> records = recorded();
  const std::string good = records[0].choice;
  const auto errorOf = [&](const std::string &choice) {
    records[0].choice = choice;
    const auto choices = makeChoices();
    choices->add(records);
    try {
      admit(choices.get());
    } catch (const std::exception &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(errorOf(good), "");
  const std::string begin =
                        "'times.json' has a choice for '4 x 16 times 16 x 8, "
                        "f32, bias, aligned to 16, bias to 16, workspace "
                        "33554432' that cannot be used: ",
                    end = "; delete the file, and products are timed again";
  EXPECT_EQ(errorOf("fast"),
            begin + "'fast' is not an algorithm of 128 hexadecimal digits" +
                end);
  EXPECT_EQ(errorOf(std::string(128, '7')),
            begin +
                "cuBLASLt does not take the algorithm: "
                "CUBLAS_STATUS_INVALID_VALUE" +
                end);
}

/// Products with gelu, whose time follows from how many kernels of the
/// project's run after them.
class Epilogues : public Products {
protected:
  /// [4, 16] times [16, 8]; `offset`: bytes from where the result is aligned.
  void admit(ProductChoices *choices, bool isGradient, size_t offset = 0) {
    const DataType type = DataType::BF16;
    const Array x(type, {4, 16}), w(type, {16, 8}), h(type, {4, 8}),
        b(type, {8});
    KernelSpec spec =
        isGradient
            ? makeSpec("nn.linear_gelu_grad", {x, w, h}, {h.type, b.type})
            : makeSpec("nn.linear_gelu", {x, w, b}, {h.type, h.type});
    spec.ints = {{"transposed", {0}}};
    if (!isGradient)
      spec.ints["bias"] = {1};
    Products::admit(spec, choices,
                    {allocate(256), allocate(512), allocate(128),
                     allocate(256) + offset, allocate(256)});
  }
  /// Kernels of the project's after the product.
  int64_t kernelsAfter() {
    const int64_t launches = bench::countLaunches();
    algorithm();
    return bench::countLaunches() - launches;
  }
  ProductChoices choicesOf(std::vector<double> byKernels) {
    return {kHere, "times.json",
            [this, byKernels](const std::function<void()> &queue) {
              const int64_t launches = bench::countLaunches();
              queue();
              device->synchronize(
                  reinterpret_cast<Device::Queue>(context->stream));
              ++timed;
              return byKernels.at(size_t(bench::countLaunches() - launches));
            }};
  }
};

TEST_F(Epilogues, DoWhatIsFasterThere) {
  struct Case {
    bool isGradient;
    std::vector<double> byKernels; ///< seconds, by the kernels after a product
    const char *choice;
    int64_t kernels;
  };
  for (const Case &c :
       std::vector<Case>{{false, {1, 2}, "fused", 0},
                         {false, {2, 1}, "separate", 1},
                         {true, {1, 2, 2, 2}, "fused", 0},
                         {true, {2, 1, 1, 2}, "sums separate", 2},
                         {true, {2, 2, 2, 1}, "separate", 3}}) {
    ProductChoices choices = choicesOf(c.byKernels);
    admit(&choices, c.isGradient);
    const std::vector<ProductRecord> records = choices.measure();
    // The algorithms of each form's product, and which form it is.
    ASSERT_EQ(records.size(), c.isGradient ? 4u : 3u);
    EXPECT_EQ(records.back().product,
              std::string("epilogue of 4 x 16 times 16 x 8, bf16, ") +
                  (c.isGradient ? "gelu's gradient, sums of rows"
                                : "bias, gelu that keeps its operand") +
                  ", aligned to 16, bias to 16, workspace 33554432");
    EXPECT_EQ(records.back().choice, c.choice);
    EXPECT_EQ(kernelsAfter(), c.kernels);
    // A later run reads it.
    timed = 0;
    ProductChoices later = choicesOf({});
    later.add(records);
    admit(&later, c.isGradient);
    EXPECT_FALSE(later.isOpen());
    EXPECT_EQ(kernelsAfter(), c.kernels);
    EXPECT_EQ(timed, 0);
  }
}

TEST_F(Epilogues, DoAllWhereNothingIsCompared) {
  for (bool isGradient : {false, true}) {
    admit(nullptr, isGradient);
    EXPECT_EQ(kernelsAfter(), 0);
    EXPECT_EQ(bench::lastAlgorithm(), 0);
  }
}

/// [4, 8] and [4, 16], of which are sums of the first, the right operand unless
/// `transposed`.
class WeightGradients : public Epilogues {
protected:
  void admit(ProductChoices *choices, bool transposed, size_t offset = 0) {
    const DataType type = DataType::BF16;
    const Array dy(type, {4, 8}), x(type, {4, 16}), b(type, {8});
    KernelSpec spec =
        makeSpec("nn.linear_weight_grad", {dy, x},
                 {{type, transposed ? std::vector<int64_t>{8, 16}
                                    : std::vector<int64_t>{16, 8}},
                  b.type});
    spec.ints = {{"transposed", {transposed}}};
    Products::admit(
        spec, choices,
        {allocate(256), allocate(256), allocate(512) + offset, allocate(256)});
  }
};

TEST_F(WeightGradients, AreFusedWhereThatIsFaster) {
  for (bool transposed : {false, true})
    for (int64_t kernels : {0, 2}) {
      ProductChoices choices = choicesOf({kernels ? 2.0 : 1.0, 2, 1});
      admit(&choices, transposed);
      const std::vector<ProductRecord> records = choices.measure();
      ASSERT_EQ(records.size(), 3u);
      EXPECT_EQ(records.back().product,
                std::string("epilogue of ") +
                    (transposed
                         ? "8 x 4 transposed times 4 x 16, bf16, sums of the "
                           "left operand"
                         : "16 x 4 transposed times 4 x 8, bf16, sums of the "
                           "right operand") +
                    ", aligned to 16, bias to 16, workspace 33554432");
      EXPECT_EQ(records.back().choice, kernels ? "separate" : "fused");
      EXPECT_EQ(kernelsAfter(), kernels);
    }
}

TEST_F(WeightGradients, AreSeparateWhereThereIsNoSuchAlgorithm) {
  for (bool transposed : {false, true}) {
    admit(nullptr, transposed);
    EXPECT_EQ(kernelsAfter(), 0);
    admit(nullptr, transposed, /*offset=*/2);
    EXPECT_EQ(kernelsAfter(), 2);
  }
}

/// The library has no gelu of what is not aligned.
TEST_F(Epilogues, DoNothingWhereThereIsNoSuchAlgorithm) {
  admit(nullptr, false, /*offset=*/2);
  EXPECT_EQ(kernelsAfter(), 1);
  admit(nullptr, true, /*offset=*/2);
  EXPECT_EQ(kernelsAfter(), 3);
  ProductChoices choices = choicesOf({1, 1, 1, 1});
  admit(&choices, true, /*offset=*/2);
  // The product's algorithms: there is one form.
  EXPECT_EQ(choices.measure().size(), 1u);
  EXPECT_EQ(kernelsAfter(), 3);
}

TEST_F(Epilogues, RefuseAFormThatIsNone) {
  ProductChoices choices = choicesOf({1, 2, 2, 2});
  admit(&choices, true);
  std::vector<ProductRecord> records = choices.measure();
  records.back().choice = "half";
  ProductChoices later = choicesOf({});
  later.add(records);
  try {
    admit(&later, true);
    ADD_FAILURE();
  } catch (const std::runtime_error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("cannot be used: 'half' is none of 'fused', 'sums "
                        "separate', 'separate'; delete the file"),
              std::string::npos)
        << error.what();
  }
}

/// Its products are of parts of the workspace.
TEST_F(Products, OfALossAreComparedInItsChunks) {
  const DataType type = DataType::BF16;
  const std::vector<TensorType> results = {
      {DataType::F32, {}}, {type, {6, 16}}, {type, {16, 8}}, {type, {8}}};
  KernelSpec spec = makeSpec("nn.linear_cross_entropy_grad",
                             {Array(DataType::F32, {}), Array(type, {6, 16}),
                              Array(type, {16, 8}), Array(DataType::I32, {6}),
                              Array(type, {8})},
                             results);
  spec.ints = {{"transposed", {0}}, {"bias", {1}}, {"chunk", {4}}};
  std::vector<void *> addresses;
  for (int i = 0; i < 9; ++i)
    addresses.push_back(allocate(512));
  const auto choices = makeChoices();
  admit(spec, choices.get(), addresses);
  // Of four rows and of two: logits, and sums of x, w and the bias.
  EXPECT_EQ(choices->measure().size(), 8u);
  EXPECT_EQ(algorithm(), 1);
}

} // namespace
