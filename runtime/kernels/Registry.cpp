#include "kernels/Registry.h"

#include <stdexcept>

namespace zrt {

Kernel::~Kernel() = default;

void Registry::add(const std::string &name, KernelFactory factory) {
  if (!factories.emplace(name, factory).second)
    throw std::logic_error("kernel registry: '" + name +
                           "' is registered twice");
}

std::unique_ptr<Kernel> Registry::make(const KernelSpec &spec,
                                       const KernelContext &context) const {
  auto it = factories.find(spec.name);
  if (it == factories.end())
    throw std::invalid_argument("kernel '" + spec.name +
                                "': this runtime has no code for it; was the "
                                "program made by a newer compiler?");
  return it->second(spec, context);
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> result;
  for (const auto &entry : factories)
    result.push_back(entry.first);
  return result;
}

} // namespace zrt
