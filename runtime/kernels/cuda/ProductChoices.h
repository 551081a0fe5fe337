// Which of several codes computes a product: what was measured to be the
// fastest, now or in an earlier run.
//
// A kernel asks for what is known of its products when it is made, and says
// what else it wants to know when it is admitted. That is measured when all
// kernels are planned, by one rank for all others.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_PRODUCTCHOICES_H
#define ZERO_RUNTIME_KERNELS_CUDA_PRODUCTCHOICES_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace zrt::cuda {

/// Where times hold.
struct ProductProcessor {
  std::string gpu;
  uint64_t blasVersion = 0; ///< cublasLtGetVersion

  bool operator==(const ProductProcessor &other) const {
    return gpu == other.gpu && blasVersion == other.blasVersion;
  }
};

/// What was measured of a product.
struct ProductRecord {
  ProductProcessor processor;
  std::string product;     ///< shape, types and whatever else decides
  std::string choice;      ///< the name of the fastest candidate
  double microseconds = 0; ///< that it took
};

/// One of the codes of a product.
struct ProductCandidate {
  std::string name;
  std::function<void()> queue; ///< puts the product on the stream, once
};

class ProductChoices {
public:
  /// Seconds that what `queue` puts on the stream takes on the device.
  using Timer = std::function<double(const std::function<void()> &queue)>;

  /// `origin` names the file of the records, for errors.
  ProductChoices(ProductProcessor processor, std::string origin, Timer timer);

  /// Takes those of this processor; kernels that want them get them.
  void add(const std::vector<ProductRecord> &records);
  /// Products of this processor that are known.
  size_t size() const { return choices.size(); }
  /// The choice for `product`; null: not known.
  const std::string *find(const std::string &product) const;
  /// Throws std::runtime_error: what is recorded of `product` cannot be used.
  [[noreturn]] void refuse(const std::string &product,
                           const std::string &why) const;

  /// `use` is called with the choice, once, as soon as it is known.
  void want(const std::string &product,
            std::vector<ProductCandidate> candidates,
            std::function<void(const std::string &choice)> use);
  /// Whether anything is wanted that has to be measured.
  bool isOpen() const { return !wanted.empty(); }
  /// Measures it: of each product, all candidates several times, of which the
  /// shortest counts. Returns what is new.
  std::vector<ProductRecord> measure();

private:
  struct Wanted {
    std::string product;
    std::vector<ProductCandidate> candidates;
    std::function<void(const std::string &)> use;
  };
  ProductRecord measure(const Wanted &one) const;
  double shortest(const ProductCandidate &candidate) const;

  const ProductProcessor processor;
  const std::string origin;
  const Timer timer;
  std::map<std::string, std::string> choices; ///< by product
  std::vector<Wanted> wanted;                 ///< in the order of commands
};

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_PRODUCTCHOICES_H
