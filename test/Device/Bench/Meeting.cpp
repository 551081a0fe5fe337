#include "Meeting.h"

#include "Runtime.h"

#include "include/cuda_fp16.h"

#include "program/Float16.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

using namespace zrt::bench;

size_t zrt::bench::bytesOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclFloat32:
    return 4;
  default:
    return 8;
  }
}

namespace {

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

template <typename T> T at(const char *from, size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return value;
}

/// Element i of the ranks' sum, in rank order; 16-bit types in f32.
template <typename T, typename Sum, typename Load, typename Store>
void addAs(const std::vector<const char *> &from, size_t i, char *to, Load load,
           Store store) {
  Sum sum = load(at<T>(from[0], i));
  for (size_t rank = 1; rank < from.size(); ++rank)
    sum += load(at<T>(from[rank], i));
  const T value = store(sum);
  std::memcpy(to, &value, sizeof(T));
}

void add(const Part &part, const std::vector<const char *> &from, size_t i,
         char *to) {
  const auto same = [](auto value) { return value; };
  const float factor = part.factor;
  switch (part.type) {
  case ncclFloat32:
    return addAs<float, float>(
        from, i, to, [=](float x) { return x * factor; }, same);
  case ncclFloat16:
    return addAs<uint16_t, float>(
        from, i, to, [=](uint16_t x) { return halfToFloat(x) * factor; },
        floatToHalf);
  case ncclBfloat16:
    return addAs<uint16_t, float>(
        from, i, to, [=](uint16_t x) { return zrt::bf16ToF32(x) * factor; },
        zrt::f32ToBf16);
  case ncclFloat64:
    return addAs<double, double>(from, i, to, same, same);
  case ncclInt8:
    return addAs<int8_t, int8_t>(from, i, to, same, same);
  case ncclInt32:
    return addAs<int32_t, int32_t>(from, i, to, same, same);
  case ncclInt64:
    return addAs<int64_t, int64_t>(from, i, to, same, same);
  }
}

//===----------------------------------------------------------------------===//
// A meeting of all ranks
//===----------------------------------------------------------------------===//

using Sides = std::vector<const Part *>; ///< by rank

std::string sumOf(const Part &part, const Sides &sides, size_t first,
                  size_t count) {
  std::vector<const char *> from;
  for (const Part *side : sides)
    from.push_back(side->send);
  std::string sum(count * bytesOf(part.type), '\0');
  for (size_t i = 0; i < count; ++i)
    add(part, from, first + i, sum.data() + i * bytesOf(part.type));
  return sum;
}

void put(char *to, const std::string &bytes) {
  std::memcpy(to, bytes.data(), bytes.size());
}

/// Everything is read before anything is written: operations work in place.
void perform(const Sides &sides) {
  const Part &first = *sides[0];
  const size_t count = first.count, bytes = count * bytesOf(first.type);
  switch (first.kind) {
  case Part::AllReduce: {
    const std::string sum = sumOf(first, sides, 0, count);
    for (const Part *side : sides)
      put(side->receive, sum);
    return;
  }
  case Part::Reduce:
    return put(sides[size_t(first.root)]->receive,
               sumOf(first, sides, 0, count));
  case Part::ReduceScatter: {
    const std::string sum = sumOf(first, sides, 0, count * sides.size());
    for (size_t rank = 0; rank < sides.size(); ++rank)
      put(sides[rank]->receive, sum.substr(rank * bytes, bytes));
    return;
  }
  case Part::AllGather: {
    std::string all;
    for (const Part *side : sides)
      all.append(side->send, bytes);
    for (const Part *side : sides)
      put(side->receive, all);
    return;
  }
  case Part::Broadcast: {
    const std::string sent(sides[size_t(first.root)]->send, bytes);
    for (const Part *side : sides)
      put(side->receive, sent);
    return;
  }
  case Part::Send:
  case Part::Recv:
    return;
  }
}

/// The k-th receive from a rank gets the k-th that this one sends.
bool exchange(const std::map<int, std::vector<Part>> &calls) {
  std::map<std::pair<int, int>, std::vector<std::string>> sent; // from, to
  for (const auto &[rank, parts] : calls)
    for (const Part &part : parts)
      if (part.kind == Part::Send)
        sent[{rank, part.root}].emplace_back(part.send,
                                             part.count * bytesOf(part.type));
  std::map<std::pair<int, int>, size_t> used;
  for (const auto &[rank, parts] : calls)
    for (const Part &part : parts) {
      if (part.kind != Part::Recv)
        continue;
      const auto way = std::pair(part.root, rank);
      const size_t k = used[way]++;
      if (k >= sent[way].size() ||
          sent[way][k].size() != part.count * bytesOf(part.type))
        return false;
      put(part.receive, sent[way][k]);
    }
  return true;
}

bool isExchange(const Part &part) {
  return part.kind == Part::Send || part.kind == Part::Recv;
}

/// Whether all ranks mean the same.
bool agree(const Sides &sides) {
  return std::all_of(sides.begin(), sides.end(), [&](const Part *side) {
    return side->kind == sides[0]->kind && side->count == sides[0]->count &&
           side->type == sides[0]->type && side->root == sides[0]->root &&
           side->factor == sides[0]->factor;
  });
}

} // namespace

void zrt::bench::performAll(const std::map<int, std::vector<Part>> &calls) {
  const std::vector<Part> &first = calls.begin()->second;
  if (isExchange(first[0])) {
    if (!exchange(calls))
      noteHang("a receive that no send of the same size answers");
    return;
  }
  for (size_t i = 0; i < first.size(); ++i) {
    Sides sides;
    for (const auto &[rank, parts] : calls)
      if (parts.size() == first.size())
        sides.push_back(&parts[i]);
    if (sides.size() < calls.size() || !agree(sides))
      return noteHang("ranks that start different collectives");
    perform(sides);
  }
}
