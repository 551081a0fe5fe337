#include "program/StoredParameters.h"

using namespace zrt;

StoredParameter zrt::describeStored(const Program &program,
                                    const Parameter &parameter) {
  const Partition &partition = program.partitions[size_t(parameter.partition)];
  StoredParameter stored;
  stored.name = parameter.name;
  stored.shape = parameter.shape;
  stored.stage = program.pipeline.stage;
  stored.type = partition.master() ? DataType::F32 : parameter.modelType;
  stored.modelType = parameter.modelType;
  stored.trainable = partition.trainable;
  for (const State &state : partition.states)
    if (state.start == StateStart::Constant)
      stored.states.push_back({state.name, state.type});
  return stored;
}

std::vector<StoredParameter> zrt::storedParametersOf(const Program &program) {
  if (program.pipeline.isCut())
    return program.pipeline.stored;
  std::vector<StoredParameter> all;
  for (const Parameter &parameter : program.parameters)
    all.push_back(describeStored(program, parameter));
  return all;
}
