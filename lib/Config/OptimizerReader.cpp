//===- OptimizerReader.cpp - The optimizer and its rate ---------*- C++ -*-===//
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

/// The key `only` of settings lists the types that have them.
static constexpr OptimizerRule kOptimizers[] = {
    {"AdamW", "adamw"},
    {"Adam", "adam"},
    {"SGD", "sgd"},
    {"Lion", "lion"},
    {"Adagrad", "adagrad", {{"lr", 0.01}, {"eps", 1e-10}}}};

/// The rule of which PyTorch's optimizer decays by default.
static constexpr StringRef kTorchDecays = "adamw";

llvm::ArrayRef<OptimizerRule> mlir::zero::getOptimizerRules() {
  return kOptimizers;
}

namespace {
class OptimizerReader {
public:
  OptimizerReader(const json::Object &root, const ConfigValues &values,
                  Reporter &reporter, TrainConfig &config)
      : root(root), values(values), reporter(reporter), config(config) {}

  void run() {
    readOptimizer();
    readScheduler();
  }

private:
  /// Every key of the block of `path` must be one that `type` has.
  void checkApplies(StringRef path, StringRef type);
  void readOptimizer();
  void readSettings(const OptimizerRule &rule);
  void readScheduler();
  /// Whether a setting of the schedule is given as null, which is not absent.
  bool isNull(StringRef name) const;
  SchedulerType readSchedulerType(StringRef type);
  void readTotalSteps(StringRef type);

  const json::Object &root;
  const ConfigValues &values;
  Reporter &reporter;
  TrainConfig &config;
};
} // namespace

void OptimizerReader::checkApplies(StringRef path, StringRef type) {
  auto [blockName, paramsName] = path.split('.');
  const json::Object *block = root.getObject(blockName);
  const json::Object *params = block ? block->getObject(paramsName) : nullptr;
  if (!params)
    return;
  const ConfigKey &parent = getConfigKey(path);
  for (const json::Object::value_type &entry : *params) {
    const ConfigKey *row = findConfigKey(&parent, StringRef(entry.first));
    if (!row || !*row->only || reporter.hasError(row->path))
      continue;
    llvm::SmallVector<StringRef> types;
    StringRef(row->only).split(types, '|');
    if (!llvm::is_contained(types, type))
      reporter.error(row->path, type + " has no such setting (" +
                                    llvm::join(types, " and ") + " " +
                                    (types.size() > 1 ? "have" : "has") +
                                    " it); leave it out");
  }
}

void OptimizerReader::readOptimizer() {
  constexpr StringRef typeKey = "optimizer.type";
  std::string type = values.text(typeKey);
  std::string lower = StringRef(type).lower();
  constexpr StringRef mode = "optimizer.params.adam_w_mode";
  if (lower == "adamw" && !values.boolean(mode))
    reporter.remark(mode, "changes nothing here: the decay of \"AdamW\" is "
                          "always decoupled, and that of \"Adam\" is not with "
                          "it");
  if (lower == "adam" && values.boolean("optimizer.params.adam_w_mode"))
    lower = "adamw";
  const OptimizerRule *rule = findOptimizerRule(lower);
  if (!rule) {
    reporter.error(typeKey, "\"" + Twine(type) +
                                "\" is not supported; use one of " +
                                listOptimizerRules() + ", in any case");
    return;
  }
  config.optimizer.type = rule->name;
  checkApplies("optimizer.params", rule->type);
  readSettings(*rule);
}

void OptimizerReader::readSettings(const OptimizerRule &rule) {
  for (const OptimizerRule::Default &own : rule.defaults) {
    std::string path = ("optimizer.params." + StringRef(own.key)).str();
    if (*own.key && !values.has(path))
      getConfigKey(path).read(own.value, config);
  }
  OptimizerConfig &optimizer = config.optimizer;
  // DeepSpeed then makes PyTorch's, with a default of its own.
  if (rule.name == kTorchDecays &&
      values.boolean("optimizer.params.torch_adam") &&
      !values.has("optimizer.params.weight_decay"))
    optimizer.weightDecay = 0.01;
  llvm::SmallVector<double> betas = values.numbers("optimizer.params.betas");
  optimizer.beta1 = betas[0];
  optimizer.beta2 = betas[1];
  if (optimizer.nesterov && optimizer.momentum == 0)
    reporter.error("optimizer.params.nesterov",
                   "needs a momentum above 0; give one or leave it out");
}

bool OptimizerReader::isNull(StringRef name) const {
  const json::Object *block = root.getObject("scheduler");
  const json::Object *params = block ? block->getObject("params") : nullptr;
  const json::Value *value = params ? params->get(name) : nullptr;
  return value && value->kind() == json::Value::Null;
}

SchedulerType OptimizerReader::readSchedulerType(StringRef type) {
  auto found = zrt::findByName<SchedulerType>({type.data(), type.size()})
                   .value_or(SchedulerType::Constant);
  if (found != SchedulerType::Constant)
    return found;
  bool known = type == "LRRangeTest" || type == "OneCycle";
  reporter.error("scheduler.type", "\"" + type + "\" is " +
                                       (known ? "not supported" : "not known") +
                                       "; use \"WarmupLR\", "
                                       "\"WarmupDecayLR\" or "
                                       "\"WarmupCosineLR\", or leave the "
                                       "block out for a constant rate");
  return found;
}

void OptimizerReader::readTotalSteps(StringRef type) {
  constexpr StringRef key = "scheduler.params.total_num_steps";
  SchedulerConfig &scheduler = config.scheduler;
  if (std::optional<int64_t> total = values.optionalInteger(key))
    scheduler.totalSteps = *total;
  else
    return reporter.error(
        key, type + " needs a number: the updates of the whole run");
  if (scheduler.totalSteps < scheduler.warmupSteps)
    reporter.error(key, "found " + Twine(scheduler.totalSteps) +
                            ", fewer updates than the warm-up of " +
                            Twine(scheduler.warmupSteps) +
                            ": the rate would fall at once behind it; give "
                            "the updates of the whole run, or a lower "
                            "warmup_num_steps");
}

void OptimizerReader::readScheduler() {
  if (!values.has("scheduler"))
    return;
  std::optional<std::string> type = values.optionalText("scheduler.type");
  if (!type) {
    if (values.has("scheduler.params"))
      reporter.error("scheduler.type",
                     "is missing; name the schedule, or leave the block out "
                     "for a constant rate");
    return;
  }
  SchedulerConfig &scheduler = config.scheduler;
  scheduler.type = readSchedulerType(*type);
  if (scheduler.type == SchedulerType::Constant)
    return;
  checkApplies("scheduler.params", *type);
  constexpr StringRef maxKey = "scheduler.params.warmup_max_lr";
  values.readFields(config, {"scheduler.params"});
  scheduler.warmupMaxLearningRate = values.optionalNumber(maxKey);
  // DeepSpeed's default differs between the two; "auto" and null follow the
  // groups.
  if (scheduler.type == SchedulerType::WarmupDecayLR && !values.has(maxKey) &&
      !values.isAuto(maxKey) && !isNull("warmup_max_lr"))
    scheduler.warmupMaxLearningRate = 0.001;
  scheduler.logWarmup = values.text("scheduler.params.warmup_type") == "log";
  if (scheduler.type != SchedulerType::WarmupLR)
    readTotalSteps(*type);
}

void mlir::zero::readOptimizer(const json::Object &root,
                               const ConfigValues &values, Reporter &reporter,
                               TrainConfig &config) {
  OptimizerReader(root, values, reporter, config).run();
}
