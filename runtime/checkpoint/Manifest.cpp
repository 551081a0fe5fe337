#include "checkpoint/Manifest.h"

#include "state/Digest.h"
#include "state/Pieces.h"
#include "state/Weights.h"

#include <nlohmann/json.hpp>

#include <stdexcept>

using namespace zrt;
using Json = nlohmann::ordered_json;

static constexpr const char *kFormat = "zero-checkpoint";
static constexpr int kVersion = 1;
static constexpr const char *kKinds[] = {"none", "static", "dynamic"};

int64_t StoredTensor::elements() const {
  int64_t product = 1;
  for (const int64_t size : shape)
    product *= size;
  return product;
}

const StoredState *StoredTensor::find(const std::string &state) const {
  for (const StoredState &candidate : states)
    if (candidate.name == state)
      return &candidate;
  return nullptr;
}

uint64_t Manifest::bytes() const {
  uint64_t sum = 0;
  for (const StoredFile &file : files)
    sum += file.bytes;
  return sum;
}

//===----------------------------------------------------------------------===//
// What a program keeps
//===----------------------------------------------------------------------===//

std::vector<StoredTensor> zrt::tensorsOf(const Program &program) {
  std::vector<StoredTensor> tensors;
  for (const Parameter &parameter : program.parameters) {
    const Partition &partition = partitionOf(program, parameter);
    StoredTensor tensor;
    tensor.name = parameter.name;
    tensor.shape = parameter.shape;
    tensor.modelType =
        storedTypeOf(parameter.modelType, "parameter '" + parameter.name + "'");
    tensor.trainable = partition.trainable;
    tensor.states.push_back({kValueName, writtenType(program, parameter)});
    // The others are the parameter, or a part of it.
    for (const State &state : partition.states)
      if (state.start == StateStart::Constant)
        tensor.states.push_back(
            {state.name,
             storedTypeOf(state.type, "state '" + state.name + "'")});
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

uint64_t zrt::signatureOf(const std::vector<StoredTensor> &tensors) {
  std::string text;
  for (const StoredTensor &tensor : tensors) {
    text += tensor.name + '\0';
    for (const int64_t size : tensor.shape)
      text += std::to_string(size) + ',';
    for (const StoredState &state : tensor.states)
      text += '\0' + state.name;
    text += '\n';
  }
  return digestBytes(text.data(), text.size());
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static Json describe(const StoredTensor &tensor) {
  Json states = Json::object();
  for (const StoredState &state : tensor.states)
    states[state.name] = nameOf(state.type);
  return {{"name", tensor.name},
          {"shape", tensor.shape},
          {"dtype", nameOf(tensor.modelType)},
          {"trainable", tensor.trainable},
          {"states", states}};
}

static Json describe(const Manifest &manifest) {
  Json text;
  text["format"] = kFormat;
  text["version"] = kVersion;
  text["program"] = manifest.program;
  text["update"] = manifest.update;
  text["steps"] = manifest.steps;
  text["skipped"] = manifest.skipped;
  text["stage"] = manifest.stage;
  text["ranks"] = manifest.ranks;
  text["mesh"] = manifest.mesh;
  text["loss_scale"] = {{"kind", kKinds[int(manifest.scalerKind)]},
                        {"scale", manifest.scaler.scale},
                        {"iteration", manifest.scaler.iteration},
                        {"last_overflow", manifest.scaler.lastOverflow},
                        {"hysteresis", manifest.scaler.hysteresis}};
  text["data"] = {{"seed", manifest.data.seed},
                  {"global_batch", manifest.data.globalBatch},
                  {"consumed", manifest.data.consumed},
                  {"samples", manifest.data.samples},
                  {"digest", hexadecimal(manifest.data.digest)}};
  text["signature"] = hexadecimal(signatureOf(manifest.tensors));
  text["tensors"] = Json::array();
  for (const StoredTensor &tensor : manifest.tensors)
    text["tensors"].push_back(describe(tensor));
  text["files"] = Json::array();
  for (const StoredFile &file : manifest.files)
    text["files"].push_back({{"name", file.name},
                             {"bytes", file.bytes},
                             {"digest", hexadecimal(file.digest)}});
  return text;
}

std::string zrt::writeManifest(const Manifest &manifest) {
  Json text = describe(manifest);
  const std::string bytes = text.dump();
  text["checksum"] = hexadecimal(digestBytes(bytes.data(), bytes.size()));
  return text.dump(1) + "\n";
}

static uint64_t digestAt(const Json &value) {
  uint64_t digest = 0;
  if (!readHexadecimal(value.get<std::string>(), digest))
    throw std::runtime_error("'" + value.get<std::string>() +
                             "' is no digest of 16 hexadecimal digits");
  return digest;
}

static TensorDataType typeAt(const Json &value) {
  TensorDataType type;
  if (!findType(value.get<std::string>(), type) || !isFloatType(type))
    throw std::runtime_error("found the type " + value.dump() +
                             ", wanted F32, F16 or BF16");
  return type;
}

static StoredTensor readTensor(const Json &value) {
  StoredTensor tensor;
  tensor.name = value.at("name");
  tensor.shape = value.at("shape").get<std::vector<int64_t>>();
  tensor.modelType = typeAt(value.at("dtype"));
  tensor.trainable = value.at("trainable");
  for (const auto &[name, type] : value.at("states").items())
    tensor.states.push_back({name, typeAt(type)});
  return tensor;
}

static LossScaleKind kindAt(const Json &value) {
  for (int i = 0; i < int(std::size(kKinds)); ++i)
    if (value == kKinds[i])
      return LossScaleKind(i);
  throw std::runtime_error("found the loss scaler " + value.dump() +
                           ", wanted none, static or dynamic");
}

static Manifest readManifest(const Json &text) {
  Manifest manifest;
  manifest.program = text.at("program");
  manifest.update = text.at("update");
  manifest.steps = text.at("steps");
  manifest.skipped = text.at("skipped");
  manifest.stage = text.at("stage");
  manifest.ranks = text.at("ranks");
  manifest.mesh = text.at("mesh");
  const Json &scaler = text.at("loss_scale");
  manifest.scalerKind = kindAt(scaler.at("kind"));
  manifest.scaler.scale = scaler.at("scale");
  manifest.scaler.iteration = scaler.at("iteration");
  manifest.scaler.lastOverflow = scaler.at("last_overflow");
  manifest.scaler.hysteresis = scaler.at("hysteresis");
  const Json &data = text.at("data");
  manifest.data.seed = data.at("seed");
  manifest.data.globalBatch = data.at("global_batch");
  manifest.data.consumed = data.at("consumed");
  manifest.data.samples = data.at("samples");
  manifest.data.digest = digestAt(data.at("digest"));
  for (const Json &tensor : text.at("tensors"))
    manifest.tensors.push_back(readTensor(tensor));
  for (const Json &file : text.at("files"))
    manifest.files.push_back(
        {file.at("name"), file.at("bytes"), digestAt(file.at("digest"))});
  return manifest;
}

Manifest zrt::parseManifest(const std::string &text, const std::string &path) {
  try {
    Json json = Json::parse(text);
    if (json.at("format") != kFormat)
      throw std::runtime_error("it is no manifest of a checkpoint");
    if (json.at("version") != kVersion)
      throw std::runtime_error("its version is " + json.at("version").dump() +
                               ", and this program reads version " +
                               std::to_string(kVersion));
    const uint64_t checksum = digestAt(json.at("checksum"));
    json.erase("checksum");
    const std::string bytes = json.dump();
    if (digestBytes(bytes.data(), bytes.size()) != checksum)
      throw std::runtime_error("its checksum is wrong");
    return readManifest(json);
  } catch (const std::exception &error) {
    throw std::runtime_error(path + ": cannot be read: " + error.what());
  }
}
