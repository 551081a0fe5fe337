#include "program/Mesh.h"

#include <algorithm>
#include <set>

using namespace zrt;

int64_t Mesh::ranks() const {
  int64_t product = 1;
  for (const MeshAxis &axis : axes)
    product *= axis.size;
  return product;
}

bool Mesh::has(uint32_t group, size_t axis) const {
  const std::vector<uint32_t> &inside = groups[group].axes;
  return std::find(inside.begin(), inside.end(), axis) != inside.end();
}

int64_t Mesh::coordinate(size_t axis, int64_t rank) const {
  for (size_t inner = axes.size(); --inner > axis;)
    rank /= axes[inner].size;
  return rank % axes[axis].size;
}

int64_t Mesh::flatten(uint32_t group, int64_t rank, bool inside) const {
  int64_t flat = 0;
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (has(group, axis) == inside)
      flat = flat * axes[axis].size + coordinate(axis, rank);
  return flat;
}

int64_t Mesh::sizeOf(uint32_t group, int64_t all) const {
  if (group == kAllRanks)
    return all;
  int64_t size = 1;
  for (uint32_t axis : groups[group].axes)
    size *= axes[axis].size;
  return size;
}

int64_t Mesh::indexIn(uint32_t group, int64_t rank) const {
  return group == kAllRanks ? rank : flatten(group, rank, /*inside=*/true);
}

int64_t Mesh::numberOf(uint32_t group, int64_t rank) const {
  return group == kAllRanks ? 0 : flatten(group, rank, /*inside=*/false);
}

bool Mesh::anyHas(const std::vector<uint32_t> &of, size_t axis) const {
  return std::any_of(of.begin(), of.end(),
                     [&](uint32_t group) { return has(group, axis); });
}

int64_t Mesh::numberOf(const std::vector<uint32_t> &of, int64_t rank) const {
  int64_t flat = 0;
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (!anyHas(of, axis))
      flat = flat * axes[axis].size + coordinate(axis, rank);
  return flat;
}

int64_t Mesh::countOf(const std::vector<uint32_t> &of) const {
  int64_t count = 1;
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (!anyHas(of, axis))
      count *= axes[axis].size;
  return count;
}

bool Mesh::meet(uint32_t group, uint32_t other) const {
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (has(group, axis) && has(other, axis))
      return true;
  return false;
}

std::string Mesh::nameOf(uint32_t group) const {
  if (axes.empty())
    return "all ranks";
  std::string name;
  for (uint32_t axis : groups[group].axes)
    name += (name.empty() ? "" : " x ") + axes[axis].name;
  return name.empty() ? "one rank" : name;
}

std::string Mesh::text() const {
  std::string text;
  for (const MeshAxis &axis : axes)
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

std::string Mesh::findInvalid(int64_t wanted) const {
  if (axes.empty())
    return groups.size() > 1 ? "the mesh has groups and no axes" : "";
  std::set<std::string> names;
  int64_t product = 1;
  for (const MeshAxis &axis : axes) {
    if (axis.size < 1)
      return "axis '" + axis.name + "' of the mesh has " +
             std::to_string(axis.size) + " ranks, wanted at least 1";
    if (!names.insert(axis.name).second)
      return "the mesh has two axes '" + axis.name + "'";
    if (__builtin_mul_overflow(product, axis.size, &product))
      return "the mesh has more ranks than 64 bits count";
  }
  if (product != wanted)
    return "the mesh " + text() + " has " + std::to_string(product) +
           " ranks, and the program " + std::to_string(wanted);
  if (groups.empty() || groups.front().axes.size() != axes.size())
    return "the first group of the mesh does not have all axes";
  for (const MeshGroup &group : groups)
    for (size_t i = 0; i < group.axes.size(); ++i)
      if (group.axes[i] >= axes.size() ||
          (i > 0 && group.axes[i] <= group.axes[i - 1]))
        return "a group of the mesh does not name its axes in rising order";
  return "";
}
