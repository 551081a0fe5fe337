// What the users of oneDNN share.
#ifndef ZERO_RUNTIME_KERNELS_HOST_ONEDNN_H
#define ZERO_RUNTIME_KERNELS_HOST_ONEDNN_H

#include "program/DataType.h"

#include <dnnl.hpp>

namespace zrt::host {

/// While it lives, oneDNN prepares primitives for one thread, and runs them on
/// the thread that calls.
class OneThread {
public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread &) = delete;
  OneThread &operator=(const OneThread &) = delete;

private:
  int before;
};

/// bf16, or f32 for all other types.
dnnl::memory::data_type dnnlType(DataType type);

/// Whether products are computed of operands of that type: bf16 is only worth
/// its name where the machine multiplies it; f16 never is in this oneDNN.
/// Elsewhere products run in f32, from copies.
bool computesIn(DataType type);

const dnnl::engine &dnnlEngine();

/// Throws std::runtime_error unless oneDNN did what it was asked for.
void checkDnnl(dnnl_status_t status);

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_ONEDNN_H
