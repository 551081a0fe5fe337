//===- Dimensions.cpp - which dimensions of a program go together ---------===//

#include "zero/Analysis/Dimensions.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

DimensionId Dimensions::make(Kind kind, int64_t size,
                             ArrayRef<DimensionId> children) {
  nodes.push_back({kind, size, llvm::to_vector(children), std::nullopt});
  return static_cast<DimensionId>(nodes.size() - 1);
}

DimensionId Dimensions::find(DimensionId id) const {
  while (nodes[id].parent)
    id = *nodes[id].parent;
  return id;
}

DimensionId Dimensions::multiply(ArrayRef<DimensionId> parts) {
  SmallVector<DimensionId> children;
  int64_t size = 1;
  for (DimensionId part : parts) {
    size *= sizeOf(part);
    if (sizeOf(part) != 1)
      children.push_back(part);
  }
  if (children.empty())
    return make(Kind::Atom, size);
  return children.size() == 1 ? children.front()
                              : make(Kind::Product, size, children);
}

DimensionId Dimensions::concatenate(ArrayRef<DimensionId> segments) {
  SmallVector<DimensionId> children;
  int64_t size = 0;
  for (DimensionId segment : segments) {
    size += sizeOf(segment);
    if (sizeOf(segment) != 0)
      children.push_back(segment);
  }
  return children.size() == 1 ? children.front()
                              : make(Kind::Concatenation, size, children);
}

DimensionId Dimensions::convert(const zrt::FactoredDim &dim,
                                ArrayRef<DimensionId> factors) {
  SmallVector<DimensionId> parts;
  for (const zrt::DimPart &part : dim.parts) {
    if (part.segments.empty()) {
      parts.push_back(factors[part.factor]);
      continue;
    }
    SmallVector<DimensionId> segments;
    for (const zrt::FactoredDim &segment : part.segments)
      segments.push_back(convert(segment, factors));
    parts.push_back(concatenate(segments));
  }
  return multiply(parts);
}

//===----------------------------------------------------------------------===//
// Refinement
//===----------------------------------------------------------------------===//

/// The parts of `id`, where nested ones of the same kind are taken apart.
void Dimensions::flatten(DimensionId id, Kind kind,
                         std::deque<DimensionId> &children) const {
  const Node &node = nodes[find(id)];
  if (node.kind != kind) {
    children.push_back(find(id));
    return;
  }
  for (DimensionId child : node.children)
    flatten(child, kind, children);
}

/// Whether ranks that divide `whole` divide each of its segments.
bool Dimensions::dividesSegments(DimensionId whole,
                                 ArrayRef<DimensionId> segments) const {
  return sizeOf(whole) % ranks != 0 ||
         llvm::all_of(segments, [&](DimensionId segment) {
           return sizeOf(segment) % ranks == 0;
         });
}

/// Makes the atom `larger` begin with `smaller`; what is left of it is put in
/// front of `rest`.
bool Dimensions::refine(DimensionId larger, DimensionId smaller, Kind kind,
                        std::deque<DimensionId> &rest) {
  int64_t size = sizeOf(larger), begin = sizeOf(smaller);
  if (nodes[larger].kind != Kind::Atom || begin == 0 ||
      (kind == Kind::Product ? size % begin != 0
                             : !dividesSegments(larger, {smaller})))
    return false;
  DimensionId left =
      make(Kind::Atom, kind == Kind::Product ? size / begin : size - begin);
  nodes[larger].parent = make(kind, size, {smaller, left});
  rest.push_front(left);
  return true;
}

/// Makes two dimensions one; whether that was possible.
bool Dimensions::unify(DimensionId a, DimensionId b) {
  a = find(a);
  b = find(b);
  if (a == b || (nodes[a].size == 1 && nodes[b].size == 1))
    return true;
  if (nodes[a].size != nodes[b].size)
    return false;
  if (nodes[a].kind == Kind::Atom) {
    // A dimension is no part of itself.
    if (llvm::is_contained(atomsOf(b), a) ||
        (nodes[b].kind == Kind::Concatenation &&
         !dividesSegments(b, nodes[b].children)))
      return false;
    nodes[a].parent = b;
    return true;
  }
  if (nodes[b].kind == Kind::Atom)
    return unify(b, a);
  Kind kind = nodes[a].kind;
  if (kind != nodes[b].kind)
    return false;
  std::deque<DimensionId> left, right;
  flatten(a, kind, left);
  flatten(b, kind, right);
  while (!left.empty() && !right.empty()) {
    DimensionId x = find(left.front()), y = find(right.front());
    left.pop_front();
    right.pop_front();
    int64_t sizeX = sizeOf(x), sizeY = sizeOf(y);
    bool fits = sizeX == sizeY  ? unify(x, y)
                : sizeX > sizeY ? refine(x, y, kind, left)
                                : refine(y, x, kind, right);
    if (!fits)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// A model
//===----------------------------------------------------------------------===//

SmallVector<DimensionId> Dimensions::makeAtoms(Type type) {
  SmallVector<DimensionId> atoms;
  if (auto ranked = dyn_cast<RankedTensorType>(type))
    for (int64_t size : ranked.getShape())
      atoms.push_back(make(Kind::Atom, size));
  return atoms;
}

/// Makes the dimensions of `values` what `tensors` says of the factors.
void Dimensions::addTensors(ValueRange tensors,
                            ArrayRef<zrt::FactoredTensor> factoredTensors,
                            Factored &factored) {
  for (auto [value, tensor] : llvm::zip_equal(tensors, factoredTensors)) {
    auto [known, isNew] = values.try_emplace(value);
    if (isNew)
      known->second = makeAtoms(value.getType());
    SmallVector<DimensionId> dims = known->second;
    factored.agrees &= dims.size() == tensor.dimensions.size();
    for (auto [dim, of] : llvm::zip(dims, tensor.dimensions)) {
      DimensionId said = convert(of, factored.dimensions);
      if (!unify(dim, said))
        factored.apart.append({dim, said});
    }
  }
}

void Dimensions::add(Operation *op) {
  Factored factored;
  factored.factors = getFactors(op);
  for (const zrt::Factor &factor : factored.factors.factors)
    factored.dimensions.push_back(make(Kind::Atom, factor.size));
  addTensors(op->getOperands(), factored.factors.operands, factored);
  addTensors(op->getResults(), factored.factors.results, factored);
  if (auto load = dyn_cast<LoadOp>(op)) {
    auto [known, isNew] =
        parameters.try_emplace(load.getParameterAttr().getAttr());
    if (isNew)
      known->second = makeAtoms(load.getType());
    for (auto [dim, stored] :
         llvm::zip_equal(of(load.getResult()), known->second))
      if (!unify(dim, stored))
        factored.apart.append({dim, stored});
  }
  operations[op] = std::move(factored);
}

Dimensions::Dimensions(StepOp model, int64_t ranks) : ranks(ranks) {
  Block &body = model.getBody().front();
  for (Value argument : body.getArguments())
    values[argument] = makeAtoms(argument.getType());
  for (Operation &op : body)
    add(&op);
  // A class of all layers is a chain as long as the model; from here on it is
  // looked up in one step.
  for (Node &node : nodes)
    if (node.parent)
      node.parent = find(*node.parent);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

ArrayRef<DimensionId> Dimensions::of(Value value) const {
  auto found = values.find(value);
  return found == values.end() ? ArrayRef<DimensionId>() : found->second;
}

ArrayRef<DimensionId> Dimensions::of(StringAttr parameter) const {
  auto found = parameters.find(parameter);
  return found == parameters.end() ? ArrayRef<DimensionId>() : found->second;
}

SmallVector<DimensionId> Dimensions::atomsOf(DimensionId id) const {
  llvm::SetVector<DimensionId> atoms;
  SmallVector<DimensionId> open = {find(id)};
  while (!open.empty()) {
    DimensionId next = open.pop_back_val();
    if (nodes[next].kind == Kind::Atom)
      atoms.insert(next);
    for (DimensionId child : llvm::reverse(nodes[next].children))
      open.push_back(find(child));
  }
  return atoms.takeVector();
}

bool Dimensions::contains(DimensionId id, DimensionId atom) const {
  const Node &node = nodes[find(id)];
  if (node.kind == Kind::Atom)
    return find(id) == find(atom);
  return llvm::any_of(node.children,
                      [&](DimensionId child) { return contains(child, atom); });
}

bool Dimensions::isCutBy(DimensionId id, DimensionId atom) const {
  const Node &node = nodes[find(id)];
  auto isCut = [&](DimensionId child) { return isCutBy(child, atom); };
  switch (node.kind) {
  case Kind::Atom:
    return find(id) == find(atom);
  case Kind::Product:
    return llvm::count_if(
               node.children,
               [&](DimensionId child) { return contains(child, atom); }) == 1 &&
           llvm::any_of(node.children, isCut);
  case Kind::Concatenation:
    return llvm::all_of(node.children, isCut);
  }
  llvm_unreachable("all kinds are covered");
}

Dimensions::Pieces Dimensions::piecesOf(DimensionId id,
                                        DimensionId atom) const {
  const Node &node = nodes[find(id)];
  if (node.kind == Kind::Atom)
    return {1, {node.size}};
  Pieces pieces;
  if (node.kind == Kind::Concatenation) {
    for (DimensionId child : node.children) {
      Pieces segment = piecesOf(child, atom);
      for (int64_t i = 0; i < segment.repeats; ++i)
        pieces.sizes.append(segment.sizes);
    }
    return pieces;
  }
  int64_t outer = 1, inner = 1;
  for (DimensionId child : node.children) {
    if (contains(child, atom))
      pieces = piecesOf(child, atom);
    else
      (pieces.sizes.empty() ? outer : inner) *= sizeOf(child);
  }
  pieces.repeats *= outer;
  for (int64_t &size : pieces.sizes)
    size *= inner;
  return pieces;
}
