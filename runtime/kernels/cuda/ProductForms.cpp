#include "kernels/cuda/ProductForms.h"

#include <algorithm>

using namespace zrt;
using namespace zrt::cuda;

//===----------------------------------------------------------------------===//
// ProductForm
//===----------------------------------------------------------------------===//

ProductForm::ProductForm(const char *name, const KernelContext &context,
                         const Product &product)
    : formName(name), kernel(context, product), bytes(kernel.workspaceBytes()) {
}

void ProductForm::then(std::function<void(void *const *buffers)> launch) {
  steps.push_back([launch = std::move(launch)](void *const *buffers, void *) {
    launch(buffers);
  });
}

void ProductForm::then(std::unique_ptr<Kernel> next, std::vector<int> wanted) {
  bytes = std::max(bytes, next->workspaceBytes());
  steps.push_back([kernel = std::shared_ptr<Kernel>(std::move(next)),
                   addresses = std::vector<void *>(wanted.size()),
                   wanted](void *const *buffers, void *workspace) mutable {
    for (size_t i = 0; i < wanted.size(); ++i)
      addresses[i] = buffers[wanted[i]];
    kernel->run(addresses.data(), workspace);
  });
}

void ProductForm::run(void *const *buffers, void *workspace) {
  kernel.run(buffers, workspace);
  for (const Step &step : steps)
    step(buffers, workspace);
}

//===----------------------------------------------------------------------===//
// ProductForms
//===----------------------------------------------------------------------===//

bool ProductForms::add(std::unique_ptr<ProductForm> form) {
  const bool isEverywhere = form->product().isEverywhere();
  if (form->product().isThere())
    forms.push_back(std::move(form));
  return products || !isEverywhere;
}

size_t ProductForms::workspaceBytes() const {
  size_t bytes = 0;
  for (const auto &form : forms)
    bytes = std::max(bytes, form->workspaceBytes());
  return bytes;
}

void ProductForms::admit(void *const *addresses, void *workspace) {
  std::vector<ProductForm *> there;
  for (const auto &form : forms)
    if (form->isThere(addresses))
      there.push_back(form.get());
  if (there.empty()) // says what there is none of
    return forms.back()->product().admit(addresses, workspace);
  for (ProductForm *form : there)
    form->product().admit(addresses, workspace);
  ProductForm *&form = chosen[numberOf(addresses)];
  if (form)
    return;
  form = there.front();
  if (products && there.size() > 1)
    compare(form, there, {addresses, addresses + buffers}, workspace);
}

void ProductForms::run(void *const *addresses, void *workspace) {
  const auto found = chosen.find(numberOf(addresses));
  ProductForm &form =
      found == chosen.end() ? firstOf(addresses) : *found->second;
  form.run(addresses, workspace);
}

/// The first form that there is for the addresses.
ProductForm &ProductForms::firstOf(void *const *addresses) {
  for (const auto &form : forms)
    if (form->isThere(addresses))
      return *form;
  return *forms.back();
}

/// Of what the addresses are aligned to, as each form sees it.
int ProductForms::numberOf(void *const *addresses) const {
  int number = 0;
  for (const auto &form : forms)
    number =
        number * ProductKernel::kCases + form->product().numberOf(addresses);
  return number;
}

void ProductForms::compare(ProductForm *&chosen,
                           const std::vector<ProductForm *> &there,
                           const std::vector<void *> &addresses,
                           void *workspace) {
  std::vector<ProductCandidate> candidates;
  std::string names;
  for (ProductForm *form : there) {
    candidates.push_back({form->name(), [form, addresses, workspace] {
                            form->run(addresses.data(), workspace);
                          }});
    names += (names.empty() ? "'" : ", '") + std::string(form->name()) + "'";
  }
  const std::string what =
      "epilogue of " + there.front()->product().describe(addresses.data());
  products->want(what, std::move(candidates),
                 [this, &chosen, there, what, names](const std::string &name) {
                   for (ProductForm *form : there)
                     if (name == form->name()) {
                       chosen = form;
                       return;
                     }
                   products->refuse(what, "'" + name + "' is none of " + names);
                 });
}
