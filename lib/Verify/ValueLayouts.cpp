//===- ValueLayouts.cpp - which part of a dimension a rank has ------------===//

#include "ValueLayouts.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;
using zrt::DimPart;
using zrt::FactoredDim;
using zrt::Factors;

/// More blocks than any program has one behind the other.
static constexpr size_t kMostBlocks = 1 << 14;

static int64_t sumOf(ArrayRef<int64_t> sizes) {
  return llvm::sum_of(sizes, int64_t(0));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The fewest blocks that give `sizes` over and over.
static void dropRepeats(SmallVectorImpl<int64_t> &sizes) {
  for (size_t period = 1; period <= sizes.size() / 2; ++period) {
    if (sizes.size() % period != 0)
      continue;
    ArrayRef<int64_t> all = sizes;
    if (all.drop_front(period) != all.drop_back(period))
      continue;
    sizes.truncate(period);
    return;
  }
}

bool Blocks::fills(int64_t extent) const {
  int64_t period = sumOf(sizes);
  return begin == 0 && period != 0 && extent % period == 0;
}

std::optional<Blocks> Blocks::normalized(int64_t extent) const {
  Blocks result = *this;
  int64_t period = sumOf(sizes);
  if (period == 0)
    return std::nullopt;
  result.begin %= period;
  while (result.begin >= result.sizes.front()) {
    result.begin -= result.sizes.front();
    std::rotate(result.sizes.begin(), result.sizes.begin() + 1,
                result.sizes.end());
  }
  if (!result.fills(extent)) {
    SmallVector<int64_t, 2> covered;
    int64_t end = result.begin + extent, at = 0;
    for (size_t i = 0; at < end; ++i) {
      if (i == kMostBlocks)
        return std::nullopt;
      covered.push_back(result.sizes[i % result.sizes.size()]);
      at += covered.back();
    }
    result.sizes = covered;
    if (result.begin != 0 || at != end)
      return result;
  }
  dropRepeats(result.sizes);
  return result;
}

std::optional<Blocks> Blocks::window(int64_t offset, int64_t extent) const {
  Blocks result = *this;
  result.begin += offset;
  result.parts.clear();
  return result.normalized(extent);
}

bool Blocks::isOneByOne() const {
  return llvm::all_of(sizes, [](int64_t size) { return size == 1; });
}

std::optional<Blocks> Blocks::within(int64_t stride) const {
  Blocks part;
  for (int64_t block : sizes) {
    if (block % stride != 0)
      return std::nullopt;
    part.sizes.push_back(block / stride);
  }
  if (begin % stride != 0)
    return std::nullopt;
  part.begin = begin / stride;
  part.isOneIndex = isOneIndex;
  return part;
}

Blocks verify::blocksOf(CutAttr cut) {
  Blocks blocks;
  for (int64_t piece : cut.getPieces())
    blocks.sizes.push_back(piece / cut.getOver().getSize());
  dropRepeats(blocks.sizes);
  return blocks;
}

//===----------------------------------------------------------------------===//
// From dimensions to factors
//===----------------------------------------------------------------------===//

int64_t verify::sizeOf(const Factors &factors, const DimPart &part) {
  if (part.segments.empty())
    return factors.factors[part.factor].size;
  int64_t size = 0;
  for (const FactoredDim &segment : part.segments)
    size += sizeOf(factors, segment);
  return size;
}

int64_t verify::sizeOf(const Factors &factors, const FactoredDim &dim) {
  int64_t size = 1;
  for (const DimPart &part : dim.parts)
    size *= sizeOf(factors, part);
  return size;
}

/// Blocks of the dimension as those of a part of it of `size` indices, `stride`
/// apart, which stands in it `outer` times; nothing where they are no such.
static std::optional<Blocks> divide(const Blocks &blocks, int64_t stride,
                                    int64_t size, int64_t outer) {
  std::optional<Blocks> part = blocks.within(stride);
  if (part && !part->fills(size) && outer != 1)
    return std::nullopt;
  return part;
}

/// All combinations of one way from each list.
static SmallVector<CutFactors, 1>
combine(ArrayRef<SmallVector<CutFactors, 1>> lists) {
  SmallVector<CutFactors, 1> all(1);
  for (const SmallVector<CutFactors, 1> &ways : lists) {
    SmallVector<CutFactors, 1> longer;
    for (const CutFactors &known : all)
      for (const CutFactors &way : ways) {
        longer.push_back(known);
        for (const auto &[factor, blocks] : way)
          longer.back().insert({factor, blocks});
      }
    all = std::move(longer);
  }
  return all;
}

/// A part that is segments is cut where each of them is.
static SmallVector<CutFactors, 1>
cutPart(const Factors &factors, const DimPart &part, const Blocks &blocks) {
  if (part.segments.empty()) {
    SmallVector<CutFactors, 1> way(1);
    way.front().insert({part.factor, blocks});
    return way;
  }
  SmallVector<SmallVector<CutFactors, 1>> ways;
  int64_t offset = 0;
  for (const FactoredDim &segment : part.segments) {
    int64_t size = sizeOf(factors, segment);
    std::optional<Blocks> within = blocks.window(offset, size);
    if (size != 0 && (!within || !within->fills(size)))
      return {};
    if (size != 0)
      ways.push_back(findCutFactors(factors, segment, *within));
    offset += size;
  }
  return combine(ways);
}

/// The cut part of a product is the innermost one that fits. A part further
/// out, of which a rank has one index, fits as well, unless `blocks` knows
/// which parts have been multiplied. If blocks are the inside of one index,
/// that index may be of one of several parts further out.
SmallVector<CutFactors, 1> verify::findCutFactors(const Factors &factors,
                                                  const FactoredDim &dim,
                                                  const Blocks &blocks) {
  SmallVector<int64_t, 2> sizes;
  for (const DimPart &part : dim.parts)
    sizes.push_back(sizeOf(factors, part));
  // Sizes of 1 do not tell one part from another: the groups of a convolution
  // without any from those of a norm of which a rank has one.
  bool isKnown =
      llvm::count_if(sizes, [](int64_t size) { return size != 1; }) > 1 &&
      blocks.parts == sizes;
  SmallVector<CutFactors, 1> found, others;
  int64_t stride = 1, all = sizeOf(factors, dim);
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) {
    int64_t size = sizes[i];
    bool isOther = isKnown && i != blocks.part;
    if (size == 0 || (isOther && size != 1))
      continue;
    std::optional<Blocks> part =
        divide(blocks, stride, size, all / (stride * size));
    bool isNext =
        size == 1 || (part && blocks.isOneIndex && part->isOneByOne());
    if (!part || (!isKnown && !found.empty() && !isNext))
      continue;
    if (sizes.size() == 1) {
      part->parts = blocks.parts;
      part->part = blocks.part;
    }
    llvm::append_range(isOther ? others : found,
                       cutPart(factors, dim.parts[i], *part));
  }
  llvm::append_range(found, others);
  return found;
}

//===----------------------------------------------------------------------===//
// From factors to dimensions
//===----------------------------------------------------------------------===//

bool verify::hasFactor(const FactoredDim &dim,
                       llvm::function_ref<bool(size_t factor)> isWanted) {
  return llvm::any_of(dim.parts, [&](const DimPart &part) {
    if (part.segments.empty())
      return isWanted(part.factor);
    return llvm::any_of(part.segments, [&](const FactoredDim &segment) {
      return hasFactor(segment, isWanted);
    });
  });
}

static std::pair<Composed, Blocks> composeSegments(const Factors &factors,
                                                   const DimPart &part,
                                                   const CutFactors &cut) {
  Blocks all;
  bool hasWhole = false;
  for (const FactoredDim &segment : part.segments) {
    int64_t size = sizeOf(factors, segment);
    if (size == 0)
      continue;
    auto [composed, blocks] = composeBlocks(factors, segment, cut);
    hasWhole |= composed == Composed::Whole;
    if (composed == Composed::Whole)
      continue;
    if (composed == Composed::Error || !blocks.fills(size))
      return {Composed::Error, {}};
    for (int64_t at = 0; at < size; at += sumOf(blocks.sizes)) {
      if (all.sizes.size() > kMostBlocks)
        return {Composed::Error, {}};
      all.sizes.append(blocks.sizes);
    }
  }
  if (all.sizes.empty())
    return {Composed::Whole, {}};
  dropRepeats(all.sizes);
  return {hasWhole ? Composed::Error : Composed::Cut, all};
}

static std::pair<Composed, Blocks> composePart(const Factors &factors,
                                               const DimPart &part,
                                               const CutFactors &cut) {
  if (!part.segments.empty())
    return composeSegments(factors, part, cut);
  auto *found = cut.find(part.factor);
  if (found == cut.end())
    return {Composed::Whole, {}};
  return {Composed::Cut, found->second};
}

std::pair<Composed, Blocks> verify::composeBlocks(const Factors &factors,
                                                  const FactoredDim &dim,
                                                  const CutFactors &cut) {
  Blocks result;
  int64_t inner = 1, outer = 1;
  SmallVector<int64_t, 2> sizes;
  for (const DimPart &part : dim.parts)
    sizes.push_back(sizeOf(factors, part));
  for (size_t i = sizes.size(); i-- > 0; inner *= sizes[i]) {
    auto [composed, blocks] = composePart(factors, dim.parts[i], cut);
    if (composed == Composed::Whole)
      continue;
    if (composed == Composed::Error || !result.sizes.empty())
      return {Composed::Error, {}};
    result = blocks;
    for (int64_t &size : result.sizes)
      size *= inner;
    result.begin *= inner;
    outer = llvm::product_of(ArrayRef(sizes).take_front(i));
    if (sizes.size() > 1) {
      result.parts = sizes;
      result.part = i;
      result.isOneIndex |= sizes[i] == 1;
    }
  }
  if (result.sizes.empty())
    return {Composed::Whole, {}};
  // A window is one of the outermost part only.
  if (outer != 1 && !result.fills(sizeOf(factors, dim)))
    return {Composed::Error, {}};
  return {Composed::Cut, result};
}
