// A graph of cuDNN: for the files that describe one, which alone include its
// headers; these take long to compile.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_CUDNNGRAPH_H
#define ZERO_RUNTIME_KERNELS_CUDA_CUDNNGRAPH_H

#include "kernels/cuda/Context.h"
#include "kernels/cuda/CudnnChoice.h"
#include "program/DataType.h"

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>

namespace zrt::cuda::dnn {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using TensorPtr = std::shared_ptr<Tensor_attributes>;

/// Earlier versions want masks for lengths that are not whole tiles.
constexpr size_t kOldest = 91600;

inline std::string versionText(size_t version) {
  return "cuDNN " + std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// Throws cuDNN's text, on one line.
inline void want(fe::error_t status) {
  const std::string text = status.get_message();
  if (status.is_bad())
    throw std::runtime_error("cuDNN: " + text.substr(0, text.find('\n')));
}

/// Whether the library and the type are of the right kind at all.
inline bool mayTake(DataType type, std::string &reason) {
  if (!cudnnGetVersion())
    reason = cudnnRefusal();
  else if (cudnnGetVersion() < kOldest)
    reason = versionText(cudnnGetVersion()) + " is older than " +
             versionText(kOldest);
  else if (type == DataType::F32)
    reason = "cuDNN would round f32 products";
  return reason.empty();
}

/// Makes a result what `wanted` says.
inline void leave(const TensorPtr &result, const Tensor_attributes &wanted) {
  result->set_output(true)
      .set_uid(wanted.get_uid())
      .set_name(wanted.get_name())
      .set_dim(wanted.get_dim())
      .set_stride(wanted.get_stride())
      .set_data_type(wanted.get_data_type());
}

/// A device that need not be here: `architecture` is 90 for sm_90, `properties`
/// what cuDNN writes down of it, in JSON.
struct AbsentDevice {
  int architecture;
  std::string properties;
};

/// A graph of one operation on tensors of `type`, and the kernel for it.
class Graph {
public:
  /// For the device that is current, or for an `absent` one.
  Graph(DataType type, const AbsentDevice *absent) {
    // Operations copy it when they are added.
    if (absent) {
      auto device = std::make_shared<fe::DeviceProperties>();
      const std::string &text = absent->properties;
      want(device->deserialize({text.begin(), text.end()}));
      graph.set_device_properties(device).set_sm_version(absent->architecture);
    }
    graph
        .set_io_data_type(type == DataType::BF16 ? fe::DataType_t::BFLOAT16
                                                 : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  /// Looks for kernels with a workspace of at most `mostBytes`, where that is
  /// not 0, with no handle where the device is not here. Throws where there are
  /// none.
  void find(cudnnHandle_t made, bool deterministic, int64_t mostBytes) {
    handle = made;
    want(graph.validate());
    want(handle ? graph.build_operation_graph(handle)
                : graph.build_operation_graph());
    want(graph.create_execution_plans(
        {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
    if (deterministic)
      graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
    if (mostBytes)
      graph.deselect_workspace_greater_than(mostBytes);
    want(graph.check_support());
  }

  /// Makes the best of them that was found.
  void build() {
    want(graph.build_plans());
    want(graph.get_workspace_size(bytes));
  }

  size_t workspaceBytes() const { return size_t(bytes); }

protected:
  void execute(void *workspace) {
    want(graph.execute(handle, addresses, workspace));
  }

  fe::graph::Graph graph;
  std::unordered_map<int64_t, void *> addresses; ///< by uid

private:
  cudnnHandle_t handle = nullptr;
  int64_t bytes = 0;
};

/// The context's handle, made when it is first asked for; null where that
/// fails.
inline cudnnHandle_t handleOf(CudaContext &context, std::string &reason) {
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

/// A kernel for `problem`, a `Described` graph, which says its
/// `kMostWorkspace`; null, and why, where there is none.
template <typename Described, typename Problem>
std::unique_ptr<Described> plan(const Problem &problem, CudaContext &context,
                                std::string &reason) {
  const cudnnHandle_t handle = handleOf(context, reason);
  if (!handle)
    return nullptr;
  try {
    auto graph = std::make_unique<Described>(problem, nullptr);
    graph->find(handle, problem.deterministic, Described::kMostWorkspace);
    graph->build();
    return graph;
  } catch (const std::exception &error) {
    reason = error.what();
    cudaGetLastError(); // what it tried must not fail the next launch
    return nullptr;
  }
}

/// Whether there is one for an absent device. With `workspaceBytes` it is
/// compiled too, and loaded by the driver.
template <typename Described, typename Problem>
bool hasKernel(const Problem &problem, const AbsentDevice &device,
               std::string &reason, size_t *workspaceBytes) {
  try {
    Described graph(problem, &device);
    graph.find(nullptr, problem.deterministic, Described::kMostWorkspace);
    if (workspaceBytes) {
      graph.build();
      *workspaceBytes = static_cast<Graph &>(graph).workspaceBytes();
    }
    return true;
  } catch (const std::exception &error) {
    reason = error.what();
    return false;
  }
}

} // namespace zrt::cuda::dnn

#endif // ZERO_RUNTIME_KERNELS_CUDA_CUDNNGRAPH_H
