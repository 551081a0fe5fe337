// A product with gelu, or its gradient and sums over its rows, behind it: in
// the epilogue of cuBLASLt's product, or by kernels after it, whichever is
// faster.
#include "kernels/cuda/Kernels.h"
#include "kernels/cuda/ProductForms.h"
#include "kernels/shapes/LinearGelu.h"

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

/// From the most fused one on. In f32 an epilogue's gelu is an approximation.
std::vector<Epilogue> epiloguesOf(const KernelSpec &spec) {
  if (spec.results[0].type == DataType::F32)
    return {Epilogue::Nothing};
  if (linearGeluParts(spec).hasSums)
    return {Epilogue::All, Epilogue::Gelu, Epilogue::Nothing};
  return {Epilogue::All, Epilogue::Nothing};
}

/// Makes the forms of one kernel.
class Forms {
public:
  Forms(const KernelSpec &spec, const KernelContext &context)
      : context(context), parts(linearGeluParts(spec)), whole(spec.results[0]),
        results(int(spec.results.size())), result(int(spec.operands.size())) {}

  std::unique_ptr<ProductForm> make(Epilogue epilogue) const {
    auto form = std::make_unique<ProductForm>(nameOf(epilogue), context,
                                              productOf(epilogue));
    if (epilogue == Epilogue::Nothing)
      form->then(launchGelu());
    if (hasSumsAfter(epilogue))
      form->then(makeCudaKernel(parts.sums, context), {result, result + 1});
    return form;
  }

private:
  bool hasSumsAfter(Epilogue epilogue) const {
    return parts.hasSums && epilogue != Epilogue::All;
  }

  Product productOf(Epilogue epilogue) const {
    Product product;
    product.shape = linearShape(parts.product);
    product.result = result;
    product.buffers = result + (hasSumsAfter(epilogue) ? 1 : results);
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

  std::function<void(void *const *)> launchGelu() const {
    return [isGradient = parts.isGradient, type = whole.type,
            elements = whole.elements(), h = operandOfGelu(), result = result,
            stream = context.cuda->stream](void *const *buffers) {
      if (isGradient)
        geluGrad(type, elements, buffers[h], buffers[result], stream);
      else
        gelu(type, elements, buffers[h], buffers[result], stream);
    };
  }

  const KernelContext &context;
  const LinearGeluParts parts;
  const TensorType whole;
  const int results, result; ///< sums are the buffer after it
};

std::unique_ptr<Kernel> makeLinearGelu(const KernelSpec &spec,
                                       const KernelContext &context) {
  const MatrixShape shape = linearShape(linearGeluParts(spec).product);
  if (shape.m * shape.n * shape.k == 0)
    refuse(spec, "is a product of nothing: compile with "
                 "--pipeline=fuse-epilogues=false");
  const Forms forms(spec, context);
  auto kernel = std::make_unique<ProductForms>(
      context, spec.operands.size() + spec.results.size());
  for (Epilogue epilogue : epiloguesOf(spec))
    if (!kernel->add(forms.make(epilogue)))
      break;
  if (!kernel->isThere())
    refuse(spec, "cuBLASLt has no algorithm for its product");
  return kernel;
}

} // namespace

void registerLinearGeluKernels(Registry &registry) {
  registry.add("nn.linear_gelu", makeLinearGelu);
  registry.add("nn.linear_gelu_grad", makeLinearGelu);
}

} // namespace zrt::cuda
