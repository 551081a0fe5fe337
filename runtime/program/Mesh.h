// Ranks as a mesh: axes, and the groups that collectives run in.
//
// Ranks are numbered in row-major order of the axes. A group is a set of axes:
// the ranks that differ in these only are in one group, so that a set of axes
// stands for as many groups of one size as the other axes have places.
#ifndef ZERO_RUNTIME_PROGRAM_MESH_H
#define ZERO_RUNTIME_PROGRAM_MESH_H

#include <cstdint>
#include <string>
#include <vector>

namespace zrt {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

/// Names of the axes that cut a model, those that send most last: their ranks
/// are best neighbours.
inline constexpr const char *kExpertAxis = "expert";
inline constexpr const char *kSequenceAxis = "sequence";
inline constexpr const char *kTensorAxis = "tensor";
inline constexpr const char *kModelAxes[] = {kExpertAxis, kSequenceAxis,
                                             kTensorAxis};

/// The name of the axis of a pipeline: rank s of it is stage s.
inline constexpr const char *kPipeAxis = "pipe";

/// Whether the ranks of an axis have different layers of one model.
inline bool holdsStages(const std::string &name) { return name == kPipeAxis; }

/// Whether the ranks of an axis have parts of the positions of their samples.
inline bool cutsPositions(const std::string &name) {
  return name == kSequenceAxis;
}

/// Whether the ranks of an axis have parts of the parameters.
inline bool cutsParameters(const std::string &name) {
  return name == kTensorAxis;
}

/// Whether the ranks of an axis have some of the experts each, and samples of
/// their own.
inline bool cutsExperts(const std::string &name) { return name == kExpertAxis; }

/// Whether a rank of an axis has parameters that no other rank of it has: parts
/// of them, or other layers.
inline bool dividesParameters(const std::string &name) {
  return cutsParameters(name) || holdsStages(name);
}

/// Whether the ranks of an axis compute parts of a model on the same samples.
/// Names of axes are roles; those of any other axis have samples of their own.
inline bool isModelAxis(const std::string &name) {
  return dividesParameters(name) || cutsPositions(name);
}

/// Whether a rank of an axis computes parts of the operations of a model, of
/// whichever samples.
inline bool cutsModel(const std::string &name) {
  return cutsParameters(name) || cutsPositions(name) || cutsExperts(name);
}

/// Whether a model can be cut over both of two axes that cut it.
inline bool cutTogether(const std::string &axis, const std::string &other) {
  return cutsParameters(axis) != cutsParameters(other);
}

/// Indices into `Mesh::axes`, rising.
struct MeshGroup {
  std::vector<uint32_t> axes;
};

/// The group of all ranks: entry 0 of every mesh.
inline constexpr uint32_t kAllRanks = 0;

/// A mesh of ranks. Without axes, the ranks form one line and the only group is
/// `kAllRanks`.
struct Mesh {
  std::vector<MeshAxis> axes;
  std::vector<MeshGroup> groups; ///< the first has all axes
  /// The group whose ranks have samples of their own; the others of a rank's
  /// axes compute parts of one model.
  uint32_t samples = kAllRanks;

  /// Ranks of the mesh: the product of its axes.
  int64_t ranks() const;
  /// Ranks of a group; `all` of `kAllRanks`.
  int64_t sizeOf(uint32_t group, int64_t all) const;
  /// The place of `rank` within its group: row-major in the group's axes.
  int64_t indexIn(uint32_t group, int64_t rank) const;
  /// Which of the equal groups `rank` is in: row-major in the other axes.
  int64_t numberOf(uint32_t group, int64_t rank) const;
  /// The number of `rank`'s group among the equal groups of the axes that all
  /// of `groups` have together.
  int64_t numberOf(const std::vector<uint32_t> &groups, int64_t rank) const;
  /// The number of such groups.
  int64_t countOf(const std::vector<uint32_t> &groups) const;
  /// Whether an axis is in both groups.
  bool meet(uint32_t group, uint32_t other) const;
  /// "shard", "replica x shard", or "all ranks" where there are no axes.
  std::string nameOf(uint32_t group) const;
  /// "replica=2,shard=3"
  std::string text() const;
  /// Why this is no mesh of `ranks` ranks, or an empty string.
  std::string findInvalid(int64_t ranks) const;

  /// The place of `rank` along an axis.
  int64_t coordinate(size_t axis, int64_t rank) const;

private:
  bool has(uint32_t group, size_t axis) const;
  bool anyHas(const std::vector<uint32_t> &groups, size_t axis) const;
  /// Row-major in the axes that are in `group`, or in those that are not.
  int64_t flatten(uint32_t group, int64_t rank, bool inside) const;
};

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_MESH_H
