// What a checkpoint holds: the file that is written last.
#ifndef ZERO_RUNTIME_CHECKPOINT_MANIFEST_H
#define ZERO_RUNTIME_CHECKPOINT_MANIFEST_H

#include "io/SafeTensors.h"
#include "program/Program.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace zrt {

inline constexpr const char *kManifestName = "manifest.json";
/// The name of the format, in every manifest.
inline constexpr const char *kManifestFormat = "zero-checkpoint";

/// The name, among states, of a parameter's own value.
inline constexpr const char *kValueName = "parameter";

/// A state of a parameter, as an optimizer names it, and its type in files.
struct StoredState {
  std::string name;
  TensorDataType type = TensorDataType::F32;
  bool operator==(const StoredState &other) const {
    return name == other.name && type == other.type;
  }
};

/// A parameter; its own value is the first of its states.
struct StoredTensor {
  std::string name;
  std::vector<int64_t> shape;
  TensorDataType modelType = TensorDataType::F32;
  bool trainable = true;
  std::vector<StoredState> states;
  int64_t elements() const;
  const StoredState *find(const std::string &state) const;
};

/// "rank-00000-of-00004.safetensors"
std::string shardName(int rank, int ranks);

/// The file of a rank.
struct StoredFile {
  std::string name;
  uint64_t bytes = 0;
  uint64_t digest = 0; ///< as `digestPart`
};

/// Which samples the next update sees.
struct DataPosition {
  uint64_t seed = 0;
  uint64_t globalBatch = 0; ///< samples in an update
  uint64_t consumed = 0;    ///< samples before the next update
  /// The samples and the digest of the training data; 0 if there was none.
  uint64_t samples = 0;
  uint64_t digest = 0;
};

/// The dynamic loss scaler between two updates; `Control` says what they are.
struct ScalerState {
  float scale = 1;
  int64_t iteration = 0, lastOverflow = -1;
  int32_t hysteresis = 0;
};

struct Manifest {
  std::string program; ///< its name
  int64_t update = 0;  ///< updates begun, skipped ones included
  int64_t steps = 0;   ///< updates done
  int64_t skipped = 0;
  int32_t stage = 0, ranks = 1;
  std::string mesh; ///< `Mesh::text`, "" without axes
  LossScaleKind scalerKind = LossScaleKind::None;
  ScalerState scaler;
  DataPosition data;
  std::vector<StoredTensor> tensors; ///< in declaration order
  std::vector<StoredFile> files;

  uint64_t bytes() const; ///< of all files
};

/// The tensors of a program: names, shapes, types and states.
std::vector<StoredTensor> tensorsOf(const Program &program);

/// A hash of names, shapes and states: equal where a checkpoint of one model
/// and optimizer is one of another.
uint64_t signatureOf(const std::vector<StoredTensor> &tensors);

/// The error of a manifest of another version: nothing tells whether the
/// checkpoint is whole.
class OtherVersion : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The file's text, which ends with a checksum of itself, and back. Throws
/// OtherVersion or std::runtime_error, naming `path` and what is wrong: the
/// checksum, or a value that no run has.
std::string writeManifest(const Manifest &manifest);
Manifest parseManifest(const std::string &text, const std::string &path);

} // namespace zrt

#endif // ZERO_RUNTIME_CHECKPOINT_MANIFEST_H
