#include "program/KernelSchema.h"

#include "program/KernelPattern.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace zrt;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

int64_t KernelShapes::size(const std::string &dimension) const {
  auto found = dimensions.find(dimension);
  return found == dimensions.end() ? 0 : found->second;
}

const std::vector<int64_t> &
KernelShapes::sizes(const std::string &group) const {
  static const std::vector<int64_t> none;
  auto found = groups.find(group);
  return found == groups.end() ? none : found->second;
}

int64_t KernelShapes::product(const std::string &group) const {
  int64_t result = 1;
  for (int64_t size : sizes(group))
    result *= size;
  return result;
}

const TensorType *KernelShapes::tensor(const std::string &name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : found->second;
}

int64_t KernelShapes::elements(const std::string &name) const {
  const TensorType *found = tensor(name);
  return found ? found->elements() : 0;
}

std::string zrt::describe(const TensorType &type) {
  std::string text;
  for (int64_t size : type.shape)
    text += std::to_string(size) + "x";
  text += nameOf(type.type);
  for (size_t i = 0; i < type.strides.size(); ++i)
    text += (i ? "x" : " strides ") + std::to_string(type.strides[i]);
  return text;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

struct Row {
  KernelSchema schema;
  KernelPattern pattern;
};

/// The rows by name. Our own are there before anybody looks.
struct Table {
  Table() {
    add(builtInKernelSchemas());
    add(expertKernelSchemas());
    add(indexKernelSchemas());
    add(productKernelSchemas());
    add(shapeKernelSchemas());
    add(windowKernelSchemas());
    add(stepKernelSchemas());
    add(updateKernelSchemas());
  }

  void add(const std::vector<KernelSchema> &schemas) {
    for (const KernelSchema &schema : schemas)
      if (!rows.emplace(schema.name, Row{schema, KernelPattern(schema)}).second)
        refuseSchema(schema.name, "is in the table twice");
  }

  std::map<std::string, Row> rows;
};

Table &table() {
  static Table all;
  return all;
}

const Row *findRow(const std::string &name) {
  auto found = table().rows.find(name);
  return found == table().rows.end() ? nullptr : &found->second;
}

} // namespace

void zrt::refuseSchema(const std::string &name, const std::string &why) {
  std::fprintf(stderr, "zero: the schema of kernel '%s' %s\n", name.c_str(),
               why.c_str());
  std::exit(2);
}

KernelSchemas::KernelSchemas(std::vector<KernelSchema> rows) {
  table().add(rows);
}

const KernelSchema *zrt::findKernelSchema(const std::string &name) {
  const Row *row = findRow(name);
  return row ? &row->schema : nullptr;
}

std::vector<std::string> zrt::kernelSchemaNames() {
  std::vector<std::string> names;
  for (const auto &entry : table().rows)
    names.push_back(entry.first);
  return names;
}

static std::string check(const KernelSpec &spec, KernelShapes &shapes,
                         bool isOperation) {
  const Row *row = findRow(spec.name);
  if (!row)
    return "no row of the kernels' table has its name; what brings the kernel "
           "adds its row with a static KernelSchemas";
  std::string wrong = row->pattern.match(spec, shapes, isOperation);
  if (wrong.empty() && row->schema.check)
    wrong = row->schema.check(shapes);
  return wrong;
}

std::string zrt::checkKernel(const KernelSpec &spec, KernelShapes &shapes) {
  return check(spec, shapes, /*isOperation=*/false);
}

std::string zrt::checkOperation(const KernelSpec &spec, KernelShapes &shapes) {
  return check(spec, shapes, /*isOperation=*/true);
}

std::optional<Factors> zrt::findFactors(const KernelSpec &spec) {
  const Row *row = findRow(spec.name);
  return row ? row->pattern.findFactors(spec) : std::nullopt;
}

bool zrt::takesStrides(const KernelSpec &spec, size_t index) {
  const Row *row = findRow(spec.name);
  return row && row->pattern.takesStrides(spec, index);
}

bool zrt::isStatistic(const KernelSpec &spec, size_t index) {
  const Row *row = findRow(spec.name);
  return row && row->pattern.isStatistic(spec, index);
}

KernelArithmetic zrt::arithmeticOf(const KernelSpec &spec) {
  const Row *row = findRow(spec.name);
  if (!row || !row->schema.arithmetic)
    return {};
  KernelShapes shapes(spec);
  if (!row->pattern.match(spec, shapes).empty())
    return {};
  return row->schema.arithmetic(shapes);
}

uint64_t zrt::workspaceOf(const KernelSpec &spec, bool deterministic) {
  const Row *row = findRow(spec.name);
  if (!row || !row->schema.workspace)
    return 0;
  KernelShapes shapes(spec);
  if (!row->pattern.match(spec, shapes).empty())
    return 0;
  return row->schema.workspace(shapes, deterministic);
}

uint64_t zrt::workspaceOf(const Program &program) {
  uint64_t most = 0;
  for (const KernelSpec &spec : program.kernels)
    most = std::max(most, workspaceOf(spec, program.training.deterministic));
  return most;
}

std::vector<std::string> zrt::factorMarks(const std::string &kernel) {
  const Row *row = findRow(kernel);
  return row ? row->pattern.factorMarks() : std::vector<std::string>();
}

void zrt::fillFlags(KernelSpec &spec) {
  if (const Row *row = findRow(spec.name))
    row->pattern.fillFlags(spec);
}

void zrt::countWork(KernelSpec &spec) {
  spec.flops = spec.bytes = 0;
  for (const auto *types : {&spec.operands, &spec.results})
    for (const TensorType &type : *types)
      spec.bytes += type.bytes();
  const Row *row = findRow(spec.name);
  KernelShapes shapes(spec);
  if (!row || !row->pattern.match(spec, shapes).empty())
    return;
  if (row->schema.flops)
    spec.flops = row->schema.flops(shapes);
  if (row->schema.bytes)
    spec.bytes = row->schema.bytes(shapes);
}

std::string zrt::checkCount(const KernelShapes &s, const char *attribute,
                            int64_t least, int64_t most) {
  const int64_t count = s.spec->integer(attribute, most);
  if (!s.spec->has(attribute) || (count >= least && count <= most))
    return {};
  return std::string("attribute '") + attribute + "' is " +
         std::to_string(count) + ", wanted " + std::to_string(least) + " to " +
         std::to_string(most);
}
