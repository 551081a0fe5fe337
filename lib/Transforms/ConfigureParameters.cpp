//===- ConfigureParameters.cpp - what a configuration says by name --------===//

#include "ConfigureParameters.h"

#include "zero/Dialect/Zero/Zero.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace mlir::zero;

namespace {
/// The patterns of one key, and what each parameter that they name is given.
class Patterns {
public:
  Patterns(ModuleOp module, std::string key, bool takesAverages)
      : module(module), key(std::move(key)), takesAverages(takesAverages) {}

  /// Gives `name` to each parameter whose name matches `pattern`. `what` says
  /// in an error what is given.
  LogicalResult give(StringRef pattern, StringAttr name, Attribute value);

private:
  ModuleOp module;
  std::string key;
  bool takesAverages;
  DenseMap<ParameterOp, StringRef> said;
};
} // namespace

LogicalResult Patterns::give(StringRef pattern, StringAttr name,
                             Attribute value) {
  llvm::Expected<llvm::GlobPattern> names = llvm::GlobPattern::create(pattern);
  if (!names)
    return emitError(module.getLoc()) << key << " has the pattern '" << pattern
                                      << "': " << toString(names.takeError());
  bool isKnown = false;
  for (ParameterOp parameter : module.getOps<ParameterOp>()) {
    if (!names->match(parameter.getSymName()) ||
        (parameter.getAverage() && !takesAverages))
      continue;
    isKnown = true;
    auto [other, isNew] = said.try_emplace(parameter, pattern);
    if (!isNew && parameter->getAttr(name) != value)
      return parameter.emitError()
             << key << " says of @" << parameter.getSymName()
             << " one thing by '" << other->second << "' and another by '"
             << pattern << "'; leave one of them out";
    parameter->setAttr(name, value);
  }
  if (!isKnown)
    return emitError(module.getLoc())
           << key << " names '" << pattern
           << "', and no parameter of the model has such a name";
  return success();
}

LogicalResult mlir::zero::writeSharding(ModuleOp module,
                                        const TrainConfig &config) {
  Builder builder(module.getContext());
  const auto name = builder.getStringAttr(ParameterOp::getShardingName());
  Patterns patterns(module, "zero.sharding", /*takesAverages=*/true);
  for (const auto &[pattern, dim] : config.sharding)
    if (failed(patterns.give(pattern, name, builder.getI64IntegerAttr(dim))))
      return failure();
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    if (const auto dim = parameter.getSharding();
        dim && *dim >= parameter.getTensorType().getRank())
      return parameter.emitError()
             << "zero.sharding cuts dimension " << *dim << " of @"
             << parameter.getSymName() << ", which has "
             << parameter.getTensorType().getRank();
  return success();
}

LogicalResult mlir::zero::writeGroups(ModuleOp module,
                                      const TrainConfig &config) {
  Builder builder(module.getContext());
  const OperationName operation(ParameterOp::getOperationName(),
                                module.getContext());
  Patterns patterns(module, "zero.parameter_groups", /*takesAverages=*/false);
  for (const ParameterGroupConfig &group : config.parameterGroups)
    for (const std::string &pattern : group.parameters)
      if (failed(patterns.give(pattern,
                               ParameterOp::getGroupAttrName(operation),
                               builder.getStringAttr(group.name))))
        return failure();
  return success();
}
