// cuDNN's attention. The only file that includes its headers, which take long
// to compile.
//
// Tensors stay where the program has them: [B, T, H, D] in memory is
// [B, H, T, D] with other strides, and `lse`, [B, H, T], is cuDNN's statistics
// tensor, the natural logarithm of the sum of e^score, with one more dimension.
#include "kernels/cuda/CudnnAttention.h"

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <stdexcept>
#include <unordered_map>

namespace zrt::cuda {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using TensorPtr = std::shared_ptr<Tensor_attributes>;

CudnnAttention::~CudnnAttention() = default;

namespace {

/// Numbers of the tensors in a graph.
enum Uid : int64_t { Q = 1, K, V, Out, Lse, Mask, DOut, DQ, DK, DV };

/// Earlier versions want masks for lengths that are not whole tiles.
constexpr size_t kOldest = 91600;

std::string versionText(size_t version) {
  return "cuDNN " + std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// Throws cuDNN's text, on one line.
void want(fe::error_t status) {
  const std::string text = status.get_message();
  if (status.is_bad())
    throw std::runtime_error("cuDNN: " + text.substr(0, text.find('\n')));
}

/// [B, count, heads, D] as cuDNN's [B, heads, count, D].
Tensor_attributes rows(Uid uid, const char *name, const AttentionArguments &a,
                       int64_t count, int64_t heads) {
  return Tensor_attributes()
      .set_uid(uid)
      .set_name(name)
      .set_dim({a.batch, heads, count, a.features})
      .set_stride(
          {count * heads * a.features, a.features, heads * a.features, 1});
}

Tensor_attributes statistics(const AttentionArguments &a) {
  return Tensor_attributes()
      .set_uid(Lse)
      .set_name("lse")
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim({a.batch, a.heads, a.queries, 1})
      .set_stride({a.heads * a.queries, a.queries, 1, 1});
}

/// What is added to the scores; a stride of 0 repeats.
Tensor_attributes maskOf(const AttentionArguments &a) {
  const int64_t sizes[] = {a.batch, a.heads, a.queries, a.keys};
  std::vector<int64_t> dims(4), strides(4);
  int64_t elements = 1;
  for (int i = 3; i >= 0; --i) {
    dims[i] = a.maskStride[i] ? sizes[i] : 1;
    strides[i] = elements;
    elements *= dims[i];
  }
  return Tensor_attributes()
      .set_uid(Mask)
      .set_name("mask")
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim(dims)
      .set_stride(strides);
}

/// Makes a result what `wanted` says.
void leave(const TensorPtr &result, const Tensor_attributes &wanted) {
  result->set_output(true)
      .set_uid(wanted.get_uid())
      .set_name(wanted.get_name())
      .set_dim(wanted.get_dim())
      .set_stride(wanted.get_stride())
      .set_data_type(wanted.get_data_type());
}

class Graph final : public CudnnAttention {
public:
  /// For the device that is current, or for `device`, which need not be here.
  explicit Graph(const AttentionProblem &problem,
                 std::shared_ptr<fe::DeviceProperties> device = nullptr,
                 int architecture = 0)
      : shape(problem.shape), gradient(problem.gradient),
        masked(problem.masked), deterministic(problem.deterministic) {
    // Operations copy it when they are added.
    if (device)
      graph.set_device_properties(device).set_sm_version(architecture);
    graph
        .set_io_data_type(shape.type == DataType::BF16
                              ? fe::DataType_t::BFLOAT16
                              : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    if (gradient)
      describeGradient();
    else
      describeForward();
  }

  /// Looks for kernels, with no handle where the device is not here. Throws
  /// where there are none.
  void find(cudnnHandle_t made) {
    handle = made;
    want(graph.validate());
    want(handle ? graph.build_operation_graph(handle)
                : graph.build_operation_graph());
    want(graph.create_execution_plans(
        {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
    if (deterministic)
      graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
    want(graph.check_support());
  }

  /// Makes the best of them that was found.
  void build() {
    want(graph.build_plans());
    want(graph.get_workspace_size(bytes));
  }

  size_t workspaceBytes() const override { return size_t(bytes); }

  void run(const AttentionArguments &a, void *workspace) override {
    addresses[Q] = const_cast<void *>(a.q);
    addresses[K] = const_cast<void *>(a.k);
    addresses[V] = const_cast<void *>(a.v);
    addresses[Out] = a.out;
    addresses[Lse] = a.lse;
    if (masked)
      addresses[Mask] = const_cast<float *>(a.mask);
    if (gradient) {
      addresses[DOut] = const_cast<void *>(a.dout);
      addresses[DQ] = a.dq;
      addresses[DK] = a.dk;
      addresses[DV] = a.dv;
    }
    want(graph.execute(handle, addresses, workspace));
  }

private:
  Tensor_attributes query(Uid uid, const char *name) const {
    return rows(uid, name, shape, shape.queries, shape.heads);
  }
  Tensor_attributes key(Uid uid, const char *name) const {
    return rows(uid, name, shape, shape.keys, shape.groups);
  }

  void describeForward() {
    auto attributes = fe::graph::SDPA_attributes()
                          .set_name("nn.attention")
                          .set_generate_stats(true)
                          .set_causal_mask(shape.causal)
                          .set_attn_scale(shape.scale);
    if (masked)
      attributes.set_bias(graph.tensor(maskOf(shape)));
    auto [out, lse] =
        graph.sdpa(graph.tensor(query(Q, "q")), graph.tensor(key(K, "k")),
                   graph.tensor(key(V, "v")), attributes);
    leave(out, query(Out, "out"));
    leave(lse, statistics(shape));
  }

  void describeGradient() {
    auto attributes = fe::graph::SDPA_backward_attributes()
                          .set_name("nn.attention_grad")
                          .set_causal_mask(shape.causal)
                          .set_attn_scale(shape.scale)
                          .set_deterministic_algorithm(deterministic);
    if (masked)
      attributes.set_bias(graph.tensor(maskOf(shape)));
    auto [dq, dk, dv] = graph.sdpa_backward(
        graph.tensor(query(Q, "q")), graph.tensor(key(K, "k")),
        graph.tensor(key(V, "v")), graph.tensor(query(Out, "out")),
        graph.tensor(query(DOut, "dout")), graph.tensor(statistics(shape)),
        attributes);
    leave(dq, query(DQ, "dq"));
    leave(dk, key(DK, "dk"));
    leave(dv, key(DV, "dv"));
  }

  fe::graph::Graph graph;
  AttentionArguments shape;
  bool gradient, masked, deterministic;
  cudnnHandle_t handle = nullptr;
  int64_t bytes = 0;
  std::unordered_map<int64_t, void *> addresses; ///< by Uid
};

/// Whether the type and the library are of the right kind at all.
bool mayTake(const AttentionProblem &problem, std::string &reason) {
  if (cudnnGetVersion() < kOldest)
    reason = versionText(cudnnGetVersion()) + " is older than " +
             versionText(kOldest);
  else if (problem.shape.type == DataType::F32)
    reason = "cuDNN would round f32 products";
  else if (problem.masked &&
           !(problem.shape.maskStride[2] && problem.shape.maskStride[3]))
    reason = "the mask is not [.., queries, keys]";
  return reason.empty();
}

/// The context's handle, made when it is first asked for; null where that
/// fails.
cudnnHandle_t handleOf(CudaContext &context, std::string &reason) {
  if (!context.dnn) {
    cudnnHandle_t handle = nullptr;
    cudnnStatus_t status = cudnnCreate(&handle);
    if (status == CUDNN_STATUS_SUCCESS) {
      context.dnn = std::shared_ptr<void>(handle, [](void *made) {
        cudnnDestroy(static_cast<cudnnHandle_t>(made));
      });
      status = cudnnSetStream(handle, context.stream);
    }
    if (status != CUDNN_STATUS_SUCCESS) {
      reason =
          std::string("cuDNN does not start: ") + cudnnGetErrorString(status);
      context.dnn.reset();
    }
  }
  return static_cast<cudnnHandle_t>(context.dnn.get());
}

} // namespace

std::unique_ptr<CudnnAttention>
planCudnnAttention(const AttentionProblem &problem, CudaContext &context,
                   std::string &reason) {
  if (!mayTake(problem, reason))
    return nullptr;
  const cudnnHandle_t handle = handleOf(context, reason);
  if (!handle)
    return nullptr;
  try {
    auto graph = std::make_unique<Graph>(problem);
    graph->find(handle);
    graph->build();
    return graph;
  } catch (const std::exception &error) {
    reason = error.what();
    cudaGetLastError(); // what it tried must not fail the next launch
    return nullptr;
  }
}

bool cudnnHasAttention(const AttentionProblem &problem, int architecture,
                       const std::string &properties, std::string &reason,
                       size_t *workspaceBytes) {
  if (!mayTake(problem, reason))
    return false;
  try {
    auto device = std::make_shared<fe::DeviceProperties>();
    want(device->deserialize({properties.begin(), properties.end()}));
    Graph graph(problem, device, architecture);
    graph.find(nullptr);
    if (workspaceBytes) {
      graph.build();
      *workspaceBytes = graph.workspaceBytes();
    }
    return true;
  } catch (const std::exception &error) {
    reason = error.what();
    return false;
  }
}

std::string cudnnVersion() { return versionText(cudnnGetVersion()); }

} // namespace zrt::cuda
