// A product with gelu, or its gradient and sums over its rows, behind it: in
// the epilogue of cuBLASLt's product, or by kernels after it, whichever is
// faster.
#include "kernels/cuda/Kernels.h"
#include "kernels/cuda/ProductKernel.h"
#include "kernels/host/LinearGelu.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace zrt::cuda {

namespace {

/// What of it the epilogue of the product does.
enum class Epilogue { All, Gelu, Nothing };

const char *nameOf(Epilogue epilogue) {
  switch (epilogue) {
  case Epilogue::All:
    return "fused";
  case Epilogue::Gelu:
    return "sums separate";
  case Epilogue::Nothing:
    return "separate";
  }
  return "";
}

/// One way to compute all of it: a product and the kernels after it.
class Form {
public:
  Form(const KernelSpec &spec, const KernelContext &context, Epilogue epilogue)
      : epilogue(epilogue), parts(host::linearGeluParts(spec)),
        stream(context.cuda->stream), type(spec.results[0].type),
        elements(spec.results[0].elements()), result(int(spec.operands.size())),
        product(context, productOf(spec)) {
    if (parts.hasSums && epilogue != Epilogue::All)
      sums = makeCudaKernel(parts.sums, context);
  }

  const char *name() const { return nameOf(epilogue); }
  int numberOf(void *const *buffers) const { return product.numberOf(buffers); }
  /// Whether there is an algorithm for such addresses.
  bool isThere(void *const *buffers) const {
    return product.isThere(product.numberOf(buffers));
  }
  size_t workspaceBytes() const {
    return std::max(product.workspaceBytes(),
                    sums ? sums->workspaceBytes() : 0);
  }

  void run(void *const *buffers, void *workspace) {
    product.run(buffers, workspace);
    if (epilogue == Epilogue::Nothing)
      runGelu(buffers);
    if (sums)
      sums->run(buffers + result, workspace);
  }

private:
  Product productOf(const KernelSpec &spec) const {
    Product product;
    product.shape = host::linearShape(parts.product);
    product.result = result;
    const bool sumsApart = parts.hasSums && epilogue != Epilogue::All;
    product.buffers = result + (sumsApart ? 1 : int(spec.results.size()));
    if (product.shape.bias)
      product.bias = 2;
    if (epilogue == Epilogue::Nothing) {
      if (!parts.isGradient)
        product.result = operandOfGelu();
      return product;
    }
    product.after = parts.isGradient ? After::GeluGrad : After::Gelu;
    product.h = parts.h;
    if (parts.hasSums && epilogue == Epilogue::All)
      product.bias = result + 1;
    return product;
  }

  /// Where nobody reads it, it lies where the result goes.
  int operandOfGelu() const { return parts.h < 0 ? result : parts.h; }

  void runGelu(void *const *buffers) {
    const void *h = buffers[operandOfGelu()];
    if (parts.isGradient)
      geluGrad(type, elements, h, buffers[result], stream);
    else
      gelu(type, elements, h, buffers[result], stream);
  }

  const Epilogue epilogue;
  const host::LinearGeluParts parts;
  const cudaStream_t stream;
  const DataType type;
  const int64_t elements;
  const int result; ///< sums are the buffer after it

public:
  ProductKernel product;

private:
  std::unique_ptr<Kernel> sums; ///< null: the epilogue adds them, or nobody
};

/// The first form that there is, or with choices the fastest one.
class LinearGeluKernel final : public Kernel {
public:
  LinearGeluKernel(const KernelSpec &spec, const KernelContext &context)
      : products(context.cuda->products),
        buffers(spec.operands.size() + spec.results.size()) {
    for (Epilogue epilogue : formsOf(spec)) {
      auto form = std::make_unique<Form>(spec, context, epilogue);
      const bool isEverywhere = form->product.isEverywhere();
      if (form->product.isThere())
        forms.push_back(std::move(form));
      // Others are not asked.
      if (isEverywhere && !products)
        break;
    }
    if (forms.empty())
      refuse(spec, "cuBLASLt has no algorithm for its product");
  }

  size_t workspaceBytes() const override {
    size_t bytes = 0;
    for (const auto &form : forms)
      bytes = std::max(bytes, form->workspaceBytes());
    return bytes;
  }

  /// Products come first, so that forms are compared with the algorithms that
  /// were chosen for them.
  void admit(void *const *addresses, void *workspace) override {
    std::vector<Form *> there;
    for (const auto &form : forms)
      if (form->isThere(addresses))
        there.push_back(form.get());
    if (there.empty()) // says what there is none of
      return forms.back()->product.admit(addresses, workspace);
    for (Form *form : there)
      form->product.admit(addresses, workspace);
    Form *&form = chosen[numberOf(addresses)];
    if (form)
      return;
    form = there.front();
    if (products && there.size() > 1)
      compare(form, there, {addresses, addresses + buffers}, workspace);
  }

  void run(void *const *addresses, void *workspace) override {
    const auto found = chosen.find(numberOf(addresses));
    Form &form = found == chosen.end() ? firstOf(addresses) : *found->second;
    form.run(addresses, workspace);
  }

private:
  /// From the most fused one on. In f32 an epilogue's gelu is an approximation.
  static std::vector<Epilogue> formsOf(const KernelSpec &spec) {
    if (spec.results[0].type == DataType::F32)
      return {Epilogue::Nothing};
    if (host::linearGeluParts(spec).hasSums)
      return {Epilogue::All, Epilogue::Gelu, Epilogue::Nothing};
    return {Epilogue::All, Epilogue::Nothing};
  }

  /// The first form that there is for the addresses.
  Form &firstOf(void *const *addresses) {
    for (const auto &form : forms)
      if (form->isThere(addresses))
        return *form;
    return *forms.back();
  }

  /// Of what the addresses are aligned to, as each form sees it.
  int numberOf(void *const *addresses) const {
    int number = 0;
    for (const auto &form : forms)
      number = number * ProductKernel::kCases + form->numberOf(addresses);
    return number;
  }

  void compare(Form *&chosen, const std::vector<Form *> &there,
               const std::vector<void *> &addresses, void *workspace) {
    std::vector<ProductCandidate> candidates;
    std::string names;
    for (Form *form : there) {
      candidates.push_back({form->name(), [form, addresses, workspace] {
                              form->run(addresses.data(), workspace);
                            }});
      names += (names.empty() ? "'" : ", '") + std::string(form->name()) + "'";
    }
    const std::string what =
        "epilogue of " + there.front()->product.describe(addresses.data());
    products->want(
        what, std::move(candidates),
        [this, &chosen, there, what, names](const std::string &name) {
          for (Form *form : there)
            if (name == form->name()) {
              chosen = form;
              return;
            }
          products->refuse(what, "'" + name + "' is none of " + names);
        });
  }

  std::vector<std::unique_ptr<Form>> forms;
  ProductChoices *products; ///< null: nothing is compared
  const size_t buffers;
  /// By the number of what the addresses are aligned to; a map's values stay
  /// where they are.
  std::map<int, Form *> chosen;
};

std::unique_ptr<Kernel> makeLinearGelu(const KernelSpec &spec,
                                       const KernelContext &context) {
  const host::MatrixShape shape =
      host::linearShape(host::linearGeluParts(spec).product);
  if (shape.m * shape.n * shape.k == 0)
    refuse(spec, "is a product of nothing: compile with "
                 "--pipeline=fuse-epilogues=false");
  return std::make_unique<LinearGeluKernel>(spec, context);
}

} // namespace

void registerLinearGeluKernels(Registry &registry) {
  registry.add("nn.linear_gelu", makeLinearGelu);
  registry.add("nn.linear_gelu_grad", makeLinearGelu);
}

} // namespace zrt::cuda
