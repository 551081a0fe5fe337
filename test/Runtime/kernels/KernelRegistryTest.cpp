// Which kernels the host has, and what it says about others.
#include "kernels/Registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace zrt::test {
namespace {

std::unique_ptr<Kernel> none(const KernelSpec &, const KernelContext &) {
  return nullptr;
}

TEST(KernelRegistry, HasEveryKernelOfTheTable) {
  Registry registry;
  registerHostKernels(registry);
  const std::vector<std::string> names = registry.names();
  for (const std::string &name : kernelSchemaNames())
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
}

TEST(KernelRegistry, HasARowForEveryKernel) {
  Registry registry;
  registerHostKernels(registry);
  for (const std::string &name : registry.names())
    EXPECT_NE(findKernelSchema(name), nullptr) << name;
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
