//===- ValueStates.cpp - what the ranks of an axis have of a value --------===//

#include "ValueStates.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

bool State::isCutBy(const Layout &layout, bool orEqual) const {
  if (!orEqual || kind != Same)
    return kind == Cut && llvm::is_contained(layouts, layout);
  auto holds = [&](const std::pair<unsigned, Repeat> &repeat) {
    return repeat.first == layout.dim && repeat.second.holdsFor(layout.blocks);
  };
  // A sum over some of what repeats is another value where it is a term.
  return !isOfAll && (isUniform(layout.dim) ||
                      (!mayBeTerm && llvm::any_of(repeats, holds)));
}

std::string verify::describe(const Layout &layout) {
  std::string text =
      "cut in dimension " + std::to_string(layout.dim) + " into parts of [";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(layout.blocks.sizes, stream);
  stream << ']';
  if (layout.blocks.begin)
    stream << " from " << layout.blocks.begin;
  return text;
}

/// All layouts: a rank that has one index of several dimensions may have its
/// part in any of them.
static std::string describeAll(ArrayRef<Layout> layouts) {
  return llvm::join(
      llvm::map_range(layouts,
                      [](const Layout &layout) { return describe(layout); }),
      ", or ");
}

std::string verify::describe(const State &state) {
  switch (state.kind) {
  case State::None:
    return "no value of the model";
  case State::Same:
    return "the same on all ranks";
  case State::Cut:
    if (state.layouts.empty())
      return "another on each rank";
    if (state.samples || state.sumsSamples)
      return (state.samples ? "of the samples of all ranks, "
                            : "a sum over the samples of all ranks, ") +
             describeAll(state.layouts);
    return describeAll(state.layouts);
  case State::Term:
    return "the term of a sum on each rank";
  case State::Gathered:
    return "the parts of all ranks in their order";
  case State::Own:
    return "of each rank's own samples";
  case State::Sorted:
    return "rows in the order of each rank's experts";
  case State::Placed:
    return "places of such rows";
  case State::Terms:
    return "what all ranks have of each one's part";
  }
  llvm_unreachable("all kinds are covered");
}
