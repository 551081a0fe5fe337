// cuDNN's attention.
//
// Tensors stay where the program has them, with its strides: [B, T, H, D] is
// [B, H, T, D] with other ones, and `lse`, [B, H, T], is cuDNN's statistics
// tensor, the natural logarithm of the sum of e^score, with one more dimension.
#include "kernels/cuda/CudnnAttention.h"

#include "kernels/cuda/CudnnGraph.h"

namespace zrt::cuda {

using namespace dnn;

CudnnAttention::~CudnnAttention() = default;

namespace {

/// Numbers of the tensors in a graph.
enum Uid : int64_t { Q = 1, K, V, Out, Lse, Mask, DOut, DQ, DK, DV };

/// [B, count, heads, D] as cuDNN's [B, heads, count, D].
Tensor_attributes rows(Uid uid, const char *name, const AttentionArguments &a,
                       int64_t count, int64_t heads,
                       const RowStrides &strides) {
  return Tensor_attributes()
      .set_uid(uid)
      .set_name(name)
      .set_dim({a.batch, heads, count, a.features})
      .set_stride({strides.batch, strides.head, strides.token, 1});
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

class Attention final : public CudnnAttention, public Graph {
public:
  Attention(const AttentionProblem &problem, const AbsentDevice *device)
      : Graph(problem.shape.type, device), shape(problem.shape),
        gradient(problem.gradient), masked(problem.masked),
        deterministic(problem.deterministic) {
    if (gradient)
      describeGradient();
    else
      describeForward();
  }

  static constexpr int64_t kMostWorkspace = 0;
  size_t workspaceBytes() const override { return Graph::workspaceBytes(); }

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
    execute(workspace);
  }

private:
  Tensor_attributes query(Uid uid, const char *name,
                          const RowStrides &strides) const {
    return rows(uid, name, shape, shape.queries, shape.heads, strides);
  }
  Tensor_attributes key(Uid uid, const char *name,
                        const RowStrides &strides) const {
    return rows(uid, name, shape, shape.keys, shape.groups, strides);
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
        graph.sdpa(graph.tensor(query(Q, "q", shape.qRows)),
                   graph.tensor(key(K, "k", shape.kRows)),
                   graph.tensor(key(V, "v", shape.vRows)), attributes);
    leave(out, query(Out, "out", shape.outRows));
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
    auto [dq, dk, dv] =
        graph.sdpa_backward(graph.tensor(query(Q, "q", shape.qRows)),
                            graph.tensor(key(K, "k", shape.kRows)),
                            graph.tensor(key(V, "v", shape.vRows)),
                            graph.tensor(query(Out, "out", shape.outRows)),
                            graph.tensor(query(DOut, "dout", shape.doutRows)),
                            graph.tensor(statistics(shape)), attributes);
    leave(dq, query(DQ, "dq", shape.dqRows));
    leave(dk, key(DK, "dk", shape.dkRows));
    leave(dv, key(DV, "dv", shape.dvRows));
  }

  AttentionArguments shape;
  bool gradient, masked, deterministic;
};

/// Whether it is of the right kind at all.
bool mayTake(const AttentionProblem &problem, std::string &reason) {
  if (!dnn::mayTake(problem.shape.type, reason))
    return false;
  if (problem.masked &&
      !(problem.shape.maskStride[2] && problem.shape.maskStride[3]))
    reason = "the mask is not [.., queries, keys]";
  else if (problem.shape.drops)
    reason = "dropout of weights";
  return reason.empty();
}

} // namespace

std::unique_ptr<CudnnAttention>
planCudnnAttention(const AttentionProblem &problem, CudaContext &context,
                   std::string &reason) {
  if (!mayTake(problem, reason))
    return nullptr;
  return plan<Attention>(problem, context, reason);
}

bool cudnnHasAttention(const AttentionProblem &problem, int architecture,
                       const std::string &properties, std::string &reason,
                       size_t *workspaceBytes) {
  return mayTake(problem, reason) &&
         hasKernel<Attention>(problem, {architecture, properties}, reason,
                              workspaceBytes);
}

std::string cudnnVersion() {
  const size_t version = cudnnGetVersion();
  return version ? versionText(version) : "";
}

} // namespace zrt::cuda
