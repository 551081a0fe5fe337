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
          const int64_t launches = bench::countLaunches();
          queue();
          device->synchronize(reinterpret_cast<Device::Queue>(context->stream));
          ++timed;
          return bench::countLaunches() > launches
                     ? separate
                     : seconds[size_t(bench::lastAlgorithm())];
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
  double separate = 0; ///< of a product with a kernel of the project's
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

/// The gradient of gelu and of a bias.
class BiasGradients : public Products {
protected:
  void admitGradient(ProductChoices *choices) {
    const DataType type = DataType::BF16;
    KernelSpec spec = makeSpec(
        "nn.linear_gelu_grad",
        {Array(type, {4, 16}), Array(type, {16, 8}), Array(type, {4, 8})},
        {{type, {4, 8}}, {type, {8}}});
    spec.ints = {{"transposed", {0}}};
    admit(spec, choices,
          {allocate(256), allocate(512), allocate(128), allocate(128),
           allocate(64)});
  }
  bool isFused() {
    const int64_t launches = bench::countLaunches();
    EXPECT_EQ(algorithm(), 1);
    return bench::countLaunches() == launches;
  }
};

TEST_F(BiasGradients, AreInTheEpilogueOnlyWhereThatIsFaster) {
  for (bool isFaster : {false, true}) {
    separate = isFaster ? 1.1e-6 : 0.9e-6;
    const auto choices = makeChoices();
    admitGradient(choices.get());
    const std::vector<ProductRecord> records = choices->measure();
    // The algorithms of both products, and which of them it is.
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[2].product,
              "sums fused or separate of 4 x 16 times 16 x 8, bf16, gelu's "
              "gradient, sums of rows, aligned to 16, bias to 16, workspace "
              "33554432");
    EXPECT_EQ(records[2].choice, isFaster ? "fused" : "separate");
    EXPECT_EQ(isFused(), isFaster);
    // A later run reads it.
    timed = 0;
    const auto later = makeChoices();
    later->add(records);
    admitGradient(later.get());
    EXPECT_FALSE(later->isOpen());
    EXPECT_EQ(isFused(), isFaster);
    EXPECT_EQ(timed, 0);
  }
}

TEST_F(BiasGradients, AreInTheEpilogueWhereNothingIsCompared) {
  admitGradient(nullptr);
  const int64_t launches = bench::countLaunches();
  EXPECT_EQ(algorithm(), 0);
  EXPECT_EQ(bench::countLaunches(), launches);
}

TEST_F(BiasGradients, RefuseAFormThatIsNone) {
  auto choices = makeChoices();
  admitGradient(choices.get());
  std::vector<ProductRecord> records = choices->measure();
  records[2].choice = "half";
  choices = makeChoices();
  choices->add(records);
  try {
    admitGradient(choices.get());
    ADD_FAILURE();
  } catch (const std::runtime_error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("cannot be used: 'half' is neither 'fused' nor "
                        "'separate'; delete the file"),
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
