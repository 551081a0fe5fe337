#include "kernels/Registry.h"

#include <stdexcept>

namespace zrt {

Kernel::~Kernel() = default;

void Registry::add(const std::string &name, KernelFactory factory) {
  if (!factories.emplace(name, factory).second)
    throw std::logic_error("kernel registry: '" + name +
                           "' is registered twice");
}

namespace {

struct LinkedKernel {
  Processor processor;
  const char *name;
  KernelFactory factory;
};

std::vector<LinkedKernel> &linkedKernels() {
  static std::vector<LinkedKernel> all;
  return all;
}

} // namespace

KernelRegistration::KernelRegistration(Processor processor, const char *name,
                                       KernelFactory factory) {
  linkedKernels().push_back({processor, name, factory});
}

void registerLinkedKernels(Processor processor, Registry &registry) {
  for (const LinkedKernel &kernel : linkedKernels())
    if (kernel.processor == processor)
      registry.add(kernel.name, kernel.factory);
}

void refuse(const KernelSpec &spec, const std::string &why) {
  throw std::invalid_argument("kernel '" + spec.name + "': " + why);
}

std::unique_ptr<Kernel> Registry::make(const KernelSpec &spec,
                                       const KernelContext &context) const {
  auto it = factories.find(spec.name);
  if (it == factories.end())
    refuse(spec, "this executable has no code for it; link the object that "
                 "registers it with zero-compile --link, or use the compiler "
                 "that made the program");
  KernelShapes shapes(spec);
  if (std::string wrong = checkKernel(spec, shapes); !wrong.empty())
    refuse(spec, wrong);
  return it->second(spec, context);
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> result;
  for (const auto &entry : factories)
    result.push_back(entry.first);
  return result;
}

} // namespace zrt
