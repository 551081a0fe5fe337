#include "kernels/host/OneDnn.h"

#include <stdexcept>
#include <string>

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int);
}

namespace zrt::host {

OneThread::OneThread() : before(omp_get_max_threads()) {
  omp_set_num_threads(1);
}

OneThread::~OneThread() { omp_set_num_threads(before); }

dnnl::memory::data_type dnnlType(DataType type) {
  return type == DataType::BF16 ? dnnl::memory::data_type::bf16
                                : dnnl::memory::data_type::f32;
}

bool computesIn(DataType type) {
  if (type == DataType::F32)
    return true;
  if (type != DataType::BF16)
    return false;
  dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx512_core_bf16 ||
         isa == dnnl::cpu_isa::avx512_core_amx;
}

const dnnl::engine &dnnlEngine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

void checkDnnl(dnnl_status_t status) {
  if (status != dnnl_success)
    throw std::runtime_error("matrix product: oneDNN reports status " +
                             std::to_string(status));
}

} // namespace zrt::host
