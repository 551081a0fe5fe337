// Which kernels the host has, and what it says about others.
#include "UpdateRuleList.h"
#include "kernels/Registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace zrt::test {
namespace {

std::unique_ptr<Kernel> none(const KernelSpec &, const KernelContext &) {
  return nullptr;
}

TEST(KernelRegistry, HasEveryKernelThatTheCompilerNames) {
  Registry registry;
  registerHostKernels(registry);
  registerOptimizerKernels(registry);
  std::vector<std::string> names = registry.names();
  for (const char *name : {"launch",
                           "nn.attention",
                           "nn.attention_grad",
                           "nn.broadcast",
                           "nn.cross_entropy",
                           "nn.cross_entropy_grad",
                           "nn.dropout",
                           "nn.embedding",
                           "nn.embedding_grad",
                           "nn.layer_norm",
                           "nn.layer_norm_grad",
                           "nn.linear",
                           "nn.linear_gelu",
                           "nn.linear_gelu_grad",
                           "nn.matmul",
                           "nn.reduce",
                           "nn.rms_norm",
                           "nn.rms_norm_grad",
                           "nn.rotary",
                           "nn.softmax",
                           "nn.softmax_grad",
                           "nn.split",
                           "nn.transpose",
                           "tensor.concat",
                           "tensor.extract_slice",
                           "tensor.insert_slice",
                           "tensor.pad",
                           "tensor.splat",
                           "zero.accumulate",
                           "zero.copy",
                           "zero.grad_scale",
                           "zero.grad_stats",
                           "zero.loss_seed",
                           "zero.record_loss",
                           "zero.update_scale"})
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
  for (const ListedRule &rule : listUpdateRules())
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), rule.name))
        << rule.name;
}

TEST(KernelRegistry, NamesAnUnknownKernel) {
  KernelSpec spec;
  spec.name = "nn.convolution";
  try {
    makeHostKernel(spec, KernelContext());
    FAIL() << "made a kernel that there is none of";
  } catch (const std::invalid_argument &error) {
    EXPECT_EQ(std::string(error.what()).rfind("kernel 'nn.convolution': ", 0),
              0u)
        << error.what();
  }
}

TEST(KernelRegistry, RefusesANameTwice) {
  Registry registry;
  registry.add("nn.linear", none);
  EXPECT_THROW(registry.add("nn.linear", none), std::logic_error);
}

} // namespace
} // namespace zrt::test
