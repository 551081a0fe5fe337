// The rules of optimizers: one struct each, and the list of them at the end.
//
// A rule is written once, for the host's vectors and for a device's threads:
// `next` computes with `Math`, which has `fma(a, b, c)`, `root(a)` and
// `sign(a)` of its values. Every fused multiply-add is written out, so that the
// bits are the same on every instruction set and device. All else is computed
// once an update, in f64, and rounded once.
//
// A rule has
// - `kName`, its kernel; `kStates`, the most states it keeps of an element;
// - `kDecaysGradient`: weight decay is added to the gradient before the rule
//   sees it; otherwise it is the rule's own matter;
// - `kTakesGradients`: what it is given are gradients, which are clipped;
// - `Hyper`, what a kernel's attributes say, read by `read`; all have a
//   `weightDecay`;
// - `states(hyper)`, how many states it keeps with these;
// - `scalars(hyper, rate, step)`: what `next` needs in update `step`, counted
//   from 1, at a learning rate;
// - `next(scalars, gradient, parameter, states)`: one element's next parameter
//   and states. The gradient is unscaled, clipped and decayed.
//
// Included by Loops.cpp, which is compiled for this machine's instruction set:
// what is not templated on `Math` must not be called there, or the linker could
// choose that copy for code that runs anywhere.
#ifndef ZERO_RUNTIME_PROGRAM_UPDATERULES_H
#define ZERO_RUNTIME_PROGRAM_UPDATERULES_H

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define ZRT_RULE __host__ __device__ inline
#define ZRT_STEP __host__ __device__ __forceinline__
#else
#define ZRT_RULE inline
#define ZRT_STEP inline __attribute__((always_inline))
#endif

namespace zrt {

/// By repeated squaring: a library's pow may differ in the last bit from one
/// machine to another. `exponent` is 1 or more.
ZRT_RULE double power(double base, int64_t exponent) {
  double result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return result;
}

namespace rules {

/// `from` moved by `part` of the way to `to`. From the nearer end, as PyTorch's
/// lerp: from the other one a small `to` would lose its digits beside a large
/// `from`.
template <typename Math, typename V>
ZRT_STEP V moved(V from, V to, float part, float rest) {
  const V way = to - from;
  return part < 0.5f ? Math::fma(part, way, from) : Math::fma(-rest, way, to);
}

/// Adam (Kingma and Ba), and with `decoupled` AdamW (Loshchilov and Hutter).
template <bool decoupled> struct AdamForm {
  static constexpr const char *kName = decoupled ? "zero.adamw" : "zero.adam";
  static constexpr int kStates = 2; // exp_avg, exp_avg_sq
  static constexpr bool kDecaysGradient = !decoupled;
  static constexpr bool kTakesGradients = true;
  struct Hyper {
    double weightDecay, beta1, beta2, epsilon;
    bool biasCorrection;
  };
  struct Scalars {
    float keep; ///< the parameter is multiplied by this: 1 - rate * decay
    float rate; ///< learning rate over bias correction 1
    float oneMinusBeta1, beta1, beta2, oneMinusBeta2;
    float inverseRootBias2; ///< 1 / sqrt(bias correction 2)
    float epsilon;
  };

  template <typename Spec> static Hyper read(const Spec &spec) {
    return {spec.real("weight_decay"), spec.real("beta1"), spec.real("beta2"),
            spec.real("epsilon"), spec.integer("bias_correction") != 0};
  }
  static int states(const Hyper &) { return kStates; }

  ZRT_RULE static Scalars scalars(const Hyper &h, double rate, int64_t step) {
    const double bias1 = h.biasCorrection ? 1 - power(h.beta1, step) : 1;
    const double bias2 = h.biasCorrection ? 1 - power(h.beta2, step) : 1;
    return {decoupled ? static_cast<float>(1 - rate * h.weightDecay) : 1,
            static_cast<float>(rate / bias1),
            static_cast<float>(1 - h.beta1),
            static_cast<float>(h.beta1),
            static_cast<float>(h.beta2),
            static_cast<float>(1 - h.beta2),
            static_cast<float>(1 / sqrt(bias2)),
            static_cast<float>(h.epsilon)};
  }

  template <typename Math, typename V>
  ZRT_STEP static void next(const Scalars &s, V gradient, V &parameter,
                            V *states) {
    V &first = states[0], &second = states[1];
    first = moved<Math>(first, gradient, s.oneMinusBeta1, s.beta1);
    second = Math::fma(gradient * s.oneMinusBeta2, gradient, second * s.beta2);
    const V denominator =
        Math::fma(Math::root(second), s.inverseRootBias2, s.epsilon);
    parameter = Math::fma(-s.rate, first / denominator, parameter * s.keep);
  }
};
using AdamW = AdamForm<true>;
using Adam = AdamForm<false>;

/// Stochastic gradient descent, with a buffer where there is momentum.
struct Sgd {
  static constexpr const char *kName = "zero.sgd";
  static constexpr int kStates = 1; // momentum_buffer
  static constexpr bool kDecaysGradient = true;
  static constexpr bool kTakesGradients = true;
  struct Hyper {
    double weightDecay, momentum;
    bool nesterov;
  };
  struct Scalars {
    float rate, momentum;
    bool nesterov;
  };

  template <typename Spec> static Hyper read(const Spec &spec) {
    return {spec.real("weight_decay"), spec.real("momentum"),
            spec.integer("nesterov") != 0};
  }
  static int states(const Hyper &h) { return h.momentum != 0; }

  ZRT_RULE static Scalars scalars(const Hyper &h, double rate, int64_t) {
    return {static_cast<float>(rate), static_cast<float>(h.momentum),
            h.nesterov};
  }

  template <typename Math, typename V>
  ZRT_STEP static void next(const Scalars &s, V gradient, V &parameter,
                            V *states) {
    V direction = gradient;
    if (s.momentum != 0) {
      V &buffer = states[0];
      buffer = Math::fma(s.momentum, buffer, gradient);
      direction = s.nesterov ? Math::fma(s.momentum, buffer, gradient) : buffer;
    }
    parameter = Math::fma(-s.rate, direction, parameter);
  }
};

/// Lion (Chen et al.): steps of the sign of an interpolated momentum.
struct Lion {
  static constexpr const char *kName = "zero.lion";
  static constexpr int kStates = 1; // exp_avg
  static constexpr bool kDecaysGradient = false;
  static constexpr bool kTakesGradients = true;
  struct Hyper {
    double weightDecay, beta1, beta2;
  };
  struct Scalars {
    float keep; ///< the parameter is multiplied by this: 1 - rate * decay
    float rate, oneMinusBeta1, beta1, oneMinusBeta2, beta2;
  };

  template <typename Spec> static Hyper read(const Spec &spec) {
    return {spec.real("weight_decay"), spec.real("beta1"), spec.real("beta2")};
  }
  static int states(const Hyper &) { return kStates; }

  ZRT_RULE static Scalars scalars(const Hyper &h, double rate, int64_t) {
    return {static_cast<float>(1 - rate * h.weightDecay),
            static_cast<float>(rate),
            static_cast<float>(1 - h.beta1),
            static_cast<float>(h.beta1),
            static_cast<float>(1 - h.beta2),
            static_cast<float>(h.beta2)};
  }

  template <typename Math, typename V>
  ZRT_STEP static void next(const Scalars &s, V gradient, V &parameter,
                            V *states) {
    V &momentum = states[0];
    const V direction =
        Math::sign(moved<Math>(momentum, gradient, s.oneMinusBeta1, s.beta1));
    momentum = moved<Math>(momentum, gradient, s.oneMinusBeta2, s.beta2);
    parameter = Math::fma(-s.rate, direction, parameter * s.keep);
  }
};

/// Adagrad (Duchi et al.): the gradient over the root of all its squares.
struct Adagrad {
  static constexpr const char *kName = "zero.adagrad";
  static constexpr int kStates = 1; // sum
  static constexpr bool kDecaysGradient = true;
  static constexpr bool kTakesGradients = true;
  struct Hyper {
    double weightDecay, epsilon;
  };
  struct Scalars {
    float rate, epsilon;
  };

  template <typename Spec> static Hyper read(const Spec &spec) {
    return {spec.real("weight_decay"), spec.real("epsilon")};
  }
  static int states(const Hyper &) { return kStates; }

  ZRT_RULE static Scalars scalars(const Hyper &h, double rate, int64_t) {
    return {static_cast<float>(rate), static_cast<float>(h.epsilon)};
  }

  template <typename Math, typename V>
  ZRT_STEP static void next(const Scalars &s, V gradient, V &parameter,
                            V *states) {
    V &sum = states[0];
    sum = Math::fma(gradient, gradient, sum);
    parameter =
        Math::fma(-s.rate, gradient / (Math::root(sum) + s.epsilon), parameter);
  }
};

/// No optimizer: a moving average of what comes in place of gradients.
struct MovingAverage {
  static constexpr const char *kName = "zero.moving_average";
  static constexpr int kStates = 0;
  static constexpr bool kDecaysGradient = false;
  static constexpr bool kTakesGradients = false;
  struct Hyper {
    double weightDecay, weight;
  };
  struct Scalars {
    float weight;
  };

  template <typename Spec> static Hyper read(const Spec &spec) {
    return {0, spec.real("weight")};
  }
  static int states(const Hyper &) { return kStates; }

  ZRT_RULE static Scalars scalars(const Hyper &h, double, int64_t) {
    return {static_cast<float>(h.weight)};
  }

  template <typename Math, typename V>
  ZRT_STEP static void next(const Scalars &s, V value, V &average, V *) {
    average = Math::fma(s.weight, value - average, average);
  }
};

} // namespace rules

/// Room for the states of an element: an array of none is not C++.
template <typename Rule>
inline constexpr int kStateRoom = Rule::kStates > 0 ? Rule::kStates : 1;

/// The most states that any rule keeps of an element.
inline constexpr int kMostStates = 2;

/// Calls the macro `apply` with each rule. Host and CUDA kernels, and their
/// tests, are made from this list.
#define ZRT_FOR_EACH_UPDATE_RULE(apply)                                        \
  apply(AdamW) apply(Adam) apply(Sgd) apply(Lion) apply(Adagrad)               \
      apply(MovingAverage)

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_UPDATERULES_H
