// zero.adamw, zero.adam and zero.sgd.
#include "kernels/optimizer/Loops.h"
#include "kernels/optimizer/Specs.h"

#include <cmath>

using namespace zrt;

namespace {

enum class Rule { AdamW, Adam, Sgd };

class UpdateKernel : public Kernel {
public:
  UpdateKernel(const KernelSpec &spec, const KernelContext &context, Rule rule)
      : context(context), rule(rule), partition(partitionOf(spec)),
        beta1(spec.real("beta1", 0.9)), beta2(spec.real("beta2", 0.999)),
        epsilon(spec.real("epsilon", 1e-8)),
        weightDecay(spec.real("weight_decay")), momentum(spec.real("momentum")),
        biasCorrection(spec.integer("bias_correction", 1) != 0),
        nesterov(spec.integer("nesterov") != 0) {
    moments = rule != Rule::Sgd ? 2 : momentum != 0 ? 1 : 0;
    std::vector<TensorType> types = bufferTypes(spec);
    size_t least = 2 + moments;
    if (types.size() != least)
      expectBuffers(spec, types.size(), least + 1,
                    "gradient, f32 parameter (or the lower 16 bits of it), "
                    "moments, and the 16-bit parameter where there is one");
    expectLane(spec, types[0].type);
    gradientType = types[0].type;
    elements = types[0].elements();
    for (size_t i = 1; i < types.size(); ++i)
      expectElements(spec, types[i], elements);
    isSplit = types[1].type == DataType::U16;
    for (size_t i = isSplit ? 2 : 1; i < least; ++i)
      expectType(spec, types[i], DataType::F32,
                 "a parameter that is updated or its moment");
    hasCompute = types.size() > least;
    if (hasCompute) {
      computeType = types[least].type;
      expectLane(spec, computeType);
    }
    if (isSplit && computeType != DataType::BF16)
      refuse(spec, "found the lower 16 bits of a master, wanted its bf16 "
                   "parameter as the last buffer");
  }

  void run(void *const *buffers, void *) override {
    if (!context.control->finite)
      return;
    UpdateArguments arguments = prepare();
    arguments.gradient = buffers[0];
    if (isSplit)
      arguments.remainder = static_cast<uint16_t *>(buffers[1]);
    else
      arguments.parameter = static_cast<float *>(buffers[1]);
    if (moments > 0)
      arguments.moment1 = static_cast<float *>(buffers[2]);
    if (moments > 1)
      arguments.moment2 = static_cast<float *>(buffers[3]);
    if (hasCompute)
      arguments.compute = buffers[2 + moments];
    context.pool->parallelFor(elements, kElementsPerThread,
                              [&](int64_t begin, int64_t end) {
                                if (rule == Rule::Sgd)
                                  loops::sgd(arguments, begin, end);
                                else
                                  loops::adam(arguments, begin, end);
                              });
  }

private:
  /// The scalars of this update: computed in f64, rounded once.
  UpdateArguments prepare() const {
    const Control &control = *context.control;
    double rate = control.learningRate[partition];
    double bias1 = 1, bias2 = 1;
    if (biasCorrection && rule != Rule::Sgd) {
      double step = static_cast<double>(control.steps + 1);
      bias1 = 1 - std::pow(beta1, step);
      bias2 = 1 - std::pow(beta2, step);
    }
    UpdateArguments u = {};
    u.gradientType = gradientType;
    u.computeType = computeType;
    u.factor = control.factor;
    u.l2 = rule == Rule::AdamW ? 0 : static_cast<float>(weightDecay);
    u.keep =
        rule == Rule::AdamW ? static_cast<float>(1 - rate * weightDecay) : 1;
    u.rate = static_cast<float>(rate / bias1);
    u.beta1 = static_cast<float>(beta1);
    u.oneMinusBeta1 = static_cast<float>(1 - beta1);
    u.beta2 = static_cast<float>(beta2);
    u.oneMinusBeta2 = static_cast<float>(1 - beta2);
    u.inverseRootBias2 = static_cast<float>(1 / std::sqrt(bias2));
    u.epsilon = static_cast<float>(epsilon);
    u.momentum = static_cast<float>(momentum);
    u.nesterov = nesterov;
    return u;
  }

  KernelContext context;
  Rule rule;
  int partition;
  double beta1, beta2, epsilon, weightDecay, momentum;
  bool biasCorrection, nesterov;
  int moments;
  DataType gradientType;
  DataType computeType = DataType::F32;
  bool hasCompute, isSplit;
  int64_t elements;
};

} // namespace

template <Rule rule>
static std::unique_ptr<Kernel> make(const KernelSpec &spec,
                                    const KernelContext &context) {
  return std::make_unique<UpdateKernel>(spec, context, rule);
}

void zrt::registerUpdateKernels(Registry &registry) {
  registry.add("zero.adamw", make<Rule::AdamW>);
  registry.add("zero.adam", make<Rule::Adam>);
  registry.add("zero.sgd", make<Rule::Sgd>);
}
