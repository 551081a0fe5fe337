// The functions of zero.h: what the compiler embeds, and a session.
#include "capi/zero.h"

#include "capi/Session.h"
#include "engine/HostBackend.h"
#include "kernels/host/BuiltFor.h"
#include "program/CpuFeatures.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <unistd.h>

extern "C" const unsigned char zero_program[];
extern "C" const int64_t zero_program_size;
extern "C" const zrt::GeneratedKernel zero_generated_kernels[];
extern "C" const int64_t zero_generated_kernel_count;
extern "C" const char zero_cpu_features[];

using namespace zrt;

/// What a handle points to.
struct zero_run {
  explicit zero_run(const Compiled &compiled, const Options &options)
      : session(compiled, options) {}
  std::mutex mutex;
  const ::pid_t process = ::getpid();
  Session session;
  std::string notices; ///< what was told last
};

namespace {

thread_local std::string lastError;

zero_status refuse(zero_status status, const char *message) noexcept {
  try {
    lastError = message;
  } catch (...) {
    lastError.clear(); // no memory for the message
  }
  return status;
}

/// Runs `body` and turns what it throws into a status.
template <typename Body> zero_status guarded(Body body) noexcept {
  try {
    body();
    return ZERO_OK;
  } catch (const ArgumentError &error) {
    return refuse(ZERO_INVALID_ARGUMENT, error.what());
  } catch (const StateError &error) {
    return refuse(ZERO_WRONG_STATE, error.what());
  } catch (const std::bad_alloc &) {
    return refuse(ZERO_OUT_OF_MEMORY, "there is not enough memory");
  } catch (const std::exception &error) {
    return refuse(ZERO_FAILED, error.what());
  } catch (...) {
    return refuse(ZERO_FAILED, "an unknown error");
  }
}

/// The same for a run, which one call at a time uses.
template <typename Body> zero_status withRun(zero_run *run, Body body) {
  return guarded([&] {
    if (!run)
      throw ArgumentError("the run is null");
    if (run->process != ::getpid())
      throw StateError("the run belongs to the process that made it, and this "
                       "one was forked from it: make the run after the fork");
    std::lock_guard<std::mutex> lock(run->mutex);
    body(run->session);
  });
}

template <typename T> T &required(T *pointer, const char *name) {
  if (!pointer)
    throw ArgumentError(std::string(name) + " is null");
  return *pointer;
}

/// Writes the part of `value` that the caller's structure has room for.
template <typename T> void give(T *out, T value) {
  const size_t size = required(out, "the structure").struct_size;
  if (size < sizeof(size_t))
    throw ArgumentError("struct_size is not set: set it to the size of the "
                        "structure");
  value.struct_size = size;
  std::memcpy(out, &value, std::min(size, sizeof(T)));
}

void requireFeatures(const char *wanted, const char *what) {
  char missing[512];
  if (findMissingFeatures(wanted, missing, sizeof(missing)))
    throw std::runtime_error(
        std::string(what) + " of this library was compiled for a CPU with " +
        missing +
        ", which this one lacks; compile the model on this machine, "
        "or name its CPU with zero-compile --cpu");
}

/// Parsed once. Throws where it cannot run here.
const Compiled &compiled() {
  static const Compiled once = [] {
    requireFeatures(kHostKernelFeatures, "the runtime");
    requireFeatures(zero_cpu_features, "the code");
    static Program program;
    std::string reason;
    if (!parse(zero_program, size_t(zero_program_size), program, reason))
      throw std::runtime_error("the program in this library: " + reason);
    Compiled result;
    result.program = &program;
    result.kernels = zero_generated_kernels;
    result.kernelCount = zero_generated_kernel_count;
    result.makeBackend = hostBackends(makeHostKernel);
    result.measureWorkspace = hostWorkspaces(makeHostKernel);
    return result;
  }();
  return once;
}

const Program &program() { return *compiled().program; }

template <typename T>
const T &element(const std::vector<T> &list, int32_t index, const char *what) {
  if (index < 0 || size_t(index) >= list.size())
    throw ArgumentError("there is no " + std::string(what) + " " +
                        std::to_string(index) + ": there are " +
                        std::to_string(list.size()));
  return list[size_t(index)];
}

zero_tensor tensorOf(const std::string &name, DataType type,
                     const std::vector<int64_t> &shape) {
  zero_tensor tensor = {};
  tensor.name = name.c_str();
  tensor.type = int32_t(type);
  tensor.dimensions = int32_t(shape.size());
  tensor.shape = shape.data();
  tensor.elements = TensorType{type, shape}.elements();
  return tensor;
}

/// Zeros where the caller's structure ends.
zero_options complete(const zero_options *given) {
  zero_options options = {};
  if (!given)
    return options;
  if (given->struct_size < sizeof(size_t))
    throw ArgumentError("struct_size is not set: set it to the size of the "
                        "structure");
  if (given->struct_size > sizeof(options))
    throw ArgumentError("the options are those of a later version than this "
                        "library's, " +
                        std::to_string(ZERO_API_VERSION));
  std::memcpy(&options, given, given->struct_size);
  return options;
}

Options optionsOf(const zero_options &given) {
  if (given.threads < 0 || given.threads > mostThreads())
    throw ArgumentError("threads is " + std::to_string(given.threads) +
                        ", wanted 1 to " + std::to_string(mostThreads()) +
                        ", or 0 for an equal share");
  if (given.loss_scale != 0 && !(given.loss_scale >= kSmallestLossScale &&
                                 given.loss_scale <= kLargestLossScale))
    throw ArgumentError("loss_scale is " + std::to_string(given.loss_scale) +
                        ", wanted 2^-64 to 2^64, or 0 for the compiled one");
  if (std::isnan(given.timeout))
    throw ArgumentError("timeout is not a number");
  if (given.self_check < 0)
    throw ArgumentError("self_check is " + std::to_string(given.self_check) +
                        ", wanted the updates from one check to the next, or 0 "
                        "for none");
  Options options;
  options.seed = given.seed;
  options.selfCheck = given.self_check;
  options.threads = given.threads;
  options.overcommit = given.overcommit != 0;
  options.lossScale = given.loss_scale;
  if (given.timeout != 0)
    options.timeout = given.timeout < 0 ? 0 : given.timeout;
  if (given.weights)
    options.weights = given.weights;
  if (given.nvme_path && bytesOfTier(program(), Tier::File) == 0)
    throw ArgumentError("nvme_path is given, and this program keeps no states "
                        "in files: compile it with offload_optimizer's device "
                        "nvme");
  if (given.nvme_path && !*given.nvme_path)
    throw ArgumentError("nvme_path is empty: name a folder, or give NULL for "
                        "the compiled one");
  if (given.nvme_path)
    options.nvmePath = given.nvme_path;
  return options;
}

static_assert(
    ZERO_F32 == int(DataType::F32) && ZERO_F16 == int(DataType::F16) &&
        ZERO_BF16 == int(DataType::BF16) && ZERO_F64 == int(DataType::F64) &&
        ZERO_BOOL == int(DataType::I1) && ZERO_I8 == int(DataType::I8) &&
        ZERO_I32 == int(DataType::I32) && ZERO_I64 == int(DataType::I64) &&
        ZERO_U16 == int(DataType::U16) && kCountOf<DataType> == ZERO_U16 + 1,
    "zero_type has the numbers of DataType");

/// The type and the shape of a `zero_array` or `zero_gradient`.
template <typename From, typename To>
void describeAs(const From &array, const std::string &who, To &named) {
  if (array.type < 0 || array.type >= kCountOf<DataType>)
    throw ArgumentError("the type of " + who + " is " +
                        std::to_string(array.type) + ", which is no zero_type");
  named.type = kCasesOf<DataType>[array.type];
  if (array.dimensions < 0)
    throw ArgumentError(who + " has " + std::to_string(array.dimensions) +
                        " dimensions");
  if (array.dimensions > 0)
    named.shape.assign(&required(array.shape, "the shape of an array"),
                       array.shape + array.dimensions);
}

std::vector<NamedGradient> gradientsOf(const zero_gradient *gradients,
                                       size_t count) {
  std::vector<NamedGradient> result;
  for (size_t i = 0; i < count; ++i) {
    const zero_gradient &gradient =
        (&required(gradients, "the list of gradients"))[i];
    NamedGradient named;
    named.name = &required(gradient.name, "the name of a gradient");
    named.micro = gradient.micro_batch;
    named.data = gradient.data;
    describeAs(gradient, "the gradient of '" + named.name + "'", named);
    result.push_back(std::move(named));
  }
  return result;
}

std::vector<NamedArray> arraysOf(const zero_array *arrays, size_t count) {
  std::vector<NamedArray> result;
  for (size_t i = 0; i < count; ++i) {
    const zero_array &array = (&required(arrays, "the list of arrays"))[i];
    NamedArray named;
    named.name = &required(array.name, "the name of an array");
    named.data = array.data;
    describeAs(array, "the array '" + named.name + "'", named);
    result.push_back(std::move(named));
  }
  return result;
}

void giveReport(zero_update *out, const UpdateReport &report) {
  if (!out)
    return;
  zero_update update = {};
  update.update = report.update;
  update.loss = report.loss;
  update.gradient_norm = report.gradientNorm;
  update.learning_rate = report.learningRate;
  update.loss_scale = report.lossScale;
  update.next_loss_scale = report.nextLossScale;
  update.skipped = report.skipped;
  update.seconds = report.seconds;
  give(out, update);
}

/// Fails before an update that could not be reported.
void checkRoom(const zero_update *out) {
  if (out && out->struct_size < sizeof(size_t))
    throw ArgumentError("struct_size of the update is not set: set it to the "
                        "size of the structure");
}

} // namespace

int32_t zero_api_version(void) { return ZERO_API_VERSION; }

const char *zero_last_error(void) { return lastError.c_str(); }

zero_status zero_model_describe(zero_model *model) {
  return guarded([&] {
    const Training &training = program().training;
    zero_model found = {};
    found.name = program().name.c_str();
    found.stage = training.stage;
    found.ranks = training.ranks;
    found.accumulation = training.accumulation;
    found.micro_batch = microBatchOf(program().inputs);
    found.update_samples =
        found.micro_batch * program().sampleRanks() * training.accumulation;
    found.inputs = int32_t(program().inputs.size());
    found.parameters = int32_t(program().parameters.size());
    found.deterministic = training.deterministic;
    found.outputs = int32_t(program().evaluate.outputs.size());
    found.given_gradients = program().given.empty()       ? ZERO_GIVEN_NONE
                            : program().replacesGradients ? ZERO_GIVEN_INSTEAD
                                                          : ZERO_GIVEN_ADDED;
    give(model, found);
  });
}

zero_status zero_model_input(int32_t index, zero_tensor *input) {
  return guarded([&] {
    const Input &found = element(program().inputs, index, "input");
    give(input, tensorOf(found.name, found.type.type, found.type.shape));
  });
}

zero_status zero_model_parameter(int32_t index, zero_tensor *parameter) {
  return guarded([&] {
    const Parameter &found = element(program().parameters, index, "parameter");
    zero_tensor tensor = tensorOf(found.name, found.modelType, found.shape);
    tensor.trainable = found.trainable;
    tensor.states = int32_t(optimizerStatesOf(program(), found).size());
    give(parameter, tensor);
  });
}

zero_status zero_model_output(int32_t index, zero_tensor *output) {
  return guarded([&] {
    const Output &found = element(program().evaluate.outputs, index, "output");
    give(output, tensorOf(found.name, found.type.type, found.type.shape));
  });
}

zero_status zero_model_state(int32_t parameter, int32_t state,
                             const char **name) {
  return guarded([&] {
    const Parameter &found =
        element(program().parameters, parameter, "parameter");
    required(name, "name") =
        element(optimizerStatesOf(program(), found), state, "state")
            ->name.c_str();
  });
}

zero_status zero_run_create(const zero_options *options, zero_run **run) {
  return guarded([&] {
    required(run, "run") = nullptr;
    *run = new zero_run(compiled(), optionsOf(complete(options)));
  });
}

void zero_run_destroy(zero_run *run) {
  // The threads of a forked process's parent are not here to be ended.
  if (!run || run->process != ::getpid())
    return;
  // A call that another thread is in ends first.
  {
    const std::lock_guard<std::mutex> lock(run->mutex);
  }
  delete run;
}

zero_status zero_run_open_data(zero_run *run, const char *path) {
  return withRun(run, [&](Session &session) {
    session.openData(&required(path, "path"));
  });
}

zero_status zero_run_order(zero_run *run, int64_t samples, int64_t first,
                           int64_t count, int64_t *numbers) {
  return withRun(run, [&](Session &session) {
    if (samples <= 0 || first < 0 || count < 0)
      throw ArgumentError("wanted at least one sample, and a position and a "
                          "count that are not negative");
    for (int64_t i = 0; i < count; ++i)
      (&required(numbers, "numbers"))[i] = session.sampleAt(samples, first + i);
  });
}

zero_status zero_run_describe_data(zero_run *run, const zero_array *arrays,
                                   size_t count, int64_t samples) {
  return withRun(run, [&](Session &session) {
    session.describeData(arraysOf(arrays, count), samples);
  });
}

zero_status zero_run_step(zero_run *run, const zero_array *arrays, size_t count,
                          zero_update *update) {
  return withRun(run, [&](Session &session) {
    checkRoom(update);
    giveReport(update, session.step(arraysOf(arrays, count)));
  });
}

zero_status zero_run_backward(zero_run *run, const zero_array *arrays,
                              size_t count) {
  return withRun(run, [&](Session &session) {
    session.backward(arraysOf(arrays, count));
  });
}

zero_status zero_run_step_gradients(zero_run *run, const zero_array *arrays,
                                    size_t count,
                                    const zero_gradient *gradients,
                                    size_t gradient_count,
                                    zero_update *update) {
  return withRun(run, [&](Session &session) {
    checkRoom(update);
    giveReport(update, session.step(arraysOf(arrays, count),
                                    gradientsOf(gradients, gradient_count)));
  });
}

zero_status zero_run_backward_gradients(zero_run *run, const zero_array *arrays,
                                        size_t count,
                                        const zero_gradient *gradients,
                                        size_t gradient_count) {
  return withRun(run, [&](Session &session) {
    session.backward(arraysOf(arrays, count),
                     gradientsOf(gradients, gradient_count));
  });
}

zero_status zero_run_update(zero_run *run, zero_update *update) {
  return withRun(run, [&](Session &session) {
    checkRoom(update);
    giveReport(update, session.update());
  });
}

/// What `rate` says; below 0, the schedule's. Updates take it as f32.
static std::optional<double> rateOf(double rate) {
  if (!std::isfinite(float(rate)))
    throw ArgumentError("the learning rate is " + std::to_string(rate) +
                        ", wanted a number of 0 or more that f32 holds, or "
                        "one below 0 for the schedule's");
  return rate < 0 ? std::nullopt : std::optional(rate);
}

zero_status zero_run_set_learning_rate(zero_run *run, double rate) {
  return withRun(
      run, [&](Session &session) { session.setLearningRate(rateOf(rate)); });
}

zero_status zero_run_set_learning_rates(zero_run *run,
                                        const zero_group_rate *rates,
                                        size_t count) {
  return withRun(run, [&](Session &session) {
    std::map<std::string, std::optional<double>> byGroup;
    for (size_t i = 0; i < count; ++i) {
      const zero_group_rate &each = (&required(rates, "the list of rates"))[i];
      byGroup[&required(each.group, "the name of a group")] = rateOf(each.rate);
    }
    session.setLearningRates(byGroup);
  });
}

zero_status zero_run_notices(zero_run *run, const char **notices) {
  return withRun(run, [&](Session &session) {
    const char *&told = required(notices, "notices");
    run->notices = session.takeNotices();
    told = run->notices.c_str();
  });
}

zero_status zero_run_position(zero_run *run, int64_t *updates,
                              int64_t *samples) {
  return withRun(run, [&](Session &session) {
    required(updates, "updates") = session.updates();
    required(samples, "samples") = session.samplesBefore();
  });
}

zero_status zero_run_evaluate(zero_run *run, const zero_array *arrays,
                              size_t count, double *loss) {
  return withRun(run, [&](Session &session) {
    required(loss, "loss") = session.evaluate(arraysOf(arrays, count));
  });
}

zero_status zero_run_evaluate_outputs(zero_run *run, const zero_array *arrays,
                                      size_t count, const zero_result *results,
                                      size_t result_count, double *loss) {
  return withRun(run, [&](Session &session) {
    std::vector<NamedResult> rooms;
    for (size_t i = 0; i < result_count; ++i) {
      const zero_result &room = (&required(results, "the list of results"))[i];
      rooms.push_back(
          {&required(room.name, "the name of a result"),
           &required(static_cast<char *>(room.data), "the data of a result"),
           room.bytes});
    }
    const double mean = session.evaluate(arraysOf(arrays, count), rooms);
    if (loss)
      *loss = mean;
  });
}

zero_status zero_run_get_parameter(zero_run *run, const char *name,
                                   float *values, int64_t elements) {
  return withRun(run, [&](Session &session) {
    session.getParameter(&required(name, "name"), &required(values, "values"),
                         elements);
  });
}

zero_status zero_run_set_parameter(zero_run *run, const char *name,
                                   const float *values, int64_t elements) {
  return withRun(run, [&](Session &session) {
    session.setParameter(&required(name, "name"), &required(values, "values"),
                         elements);
  });
}

zero_status zero_run_get_state(zero_run *run, const char *name,
                               const char *state, float *values,
                               int64_t elements) {
  return withRun(run, [&](Session &session) {
    session.getState(&required(name, "name"), &required(state, "state"),
                     &required(values, "values"), elements);
  });
}

zero_status zero_run_set_state(zero_run *run, const char *name,
                               const char *state, const float *values,
                               int64_t elements) {
  return withRun(run, [&](Session &session) {
    session.setState(&required(name, "name"), &required(state, "state"),
                     &required(values, "values"), elements);
  });
}

zero_status zero_run_get_gradient(zero_run *run, const char *name,
                                  float *values, int64_t elements) {
  return withRun(run, [&](Session &session) {
    session.getGradient(&required(name, "name"), &required(values, "values"),
                        elements);
  });
}

zero_status zero_run_set_gradient(zero_run *run, const char *name,
                                  const float *values, int64_t elements) {
  return withRun(run, [&](Session &session) {
    session.setGradient(&required(name, "name"), &required(values, "values"),
                        elements);
  });
}

zero_status zero_run_local_pieces(zero_run *run, int32_t rank, const char *name,
                                  const char *what, zero_piece *pieces,
                                  int64_t room, int64_t *count) {
  return withRun(run, [&](Session &session) {
    const std::vector<Piece> found = session.localPieces(
        rank, &required(name, "name"), &required(what, "what"));
    for (int64_t i = 0; i < std::min(room, int64_t(found.size())); ++i)
      (&required(pieces, "pieces"))[i] = {int64_t(found[size_t(i)].element),
                                          int64_t(found[size_t(i)].count)};
    required(count, "count") = int64_t(found.size());
  });
}

zero_status zero_run_get_local(zero_run *run, int32_t rank, const char *name,
                               const char *what, float *values,
                               int64_t elements) {
  return withRun(run, [&](Session &session) {
    session.getLocal(rank, &required(name, "name"), &required(what, "what"),
                     elements ? &required(values, "values") : values, elements);
  });
}

zero_status zero_run_set_local(zero_run *run, int32_t rank, const char *name,
                               const char *what, const float *values,
                               int64_t elements) {
  return withRun(run, [&](Session &session) {
    session.setLocal(rank, &required(name, "name"), &required(what, "what"),
                     elements ? &required(values, "values") : values, elements);
  });
}

zero_status zero_run_save_checkpoint(zero_run *run, const char *folder,
                                     int64_t keep) {
  return withRun(run, [&](Session &session) {
    session.saveCheckpoint(&required(folder, "folder"), keep);
  });
}

zero_status zero_run_load_checkpoint(zero_run *run, const char *folder) {
  return withRun(run, [&](Session &session) {
    session.loadCheckpoint(&required(folder, "folder"));
  });
}

zero_status zero_run_save_weights(zero_run *run, const char *path) {
  return withRun(run, [&](Session &session) {
    session.saveWeights(&required(path, "path"));
  });
}
