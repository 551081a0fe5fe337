#include "checkpoint/Manifest.h"

#include "io/Digest.h"
#include "io/ErrorText.h"
#include "program/Nesting.h"
#include "program/StoredParameters.h"
#include "state/Pieces.h"
#include "state/Weights.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <set>
#include <stdexcept>

using namespace zrt;
using Json = nlohmann::ordered_json;

static constexpr int kVersion = 2;

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

std::string zrt::shardName(int rank, int ranks) {
  char text[64];
  std::snprintf(text, sizeof(text), "rank-%05d-of-%05d.safetensors", rank,
                ranks);
  return text;
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

static StoredTensor describeTensor(const StoredParameter &stored) {
  const std::string what = "parameter '" + stored.name + "'";
  StoredTensor tensor;
  tensor.name = stored.name;
  tensor.shape = stored.shape;
  tensor.modelType = storedTypeOf(stored.modelType, what);
  tensor.trainable = stored.trainable;
  tensor.states.push_back({kValueName, storedTypeOf(stored.type, what)});
  for (const auto &[name, type] : stored.states)
    tensor.states.push_back({name, storedTypeOf(type, "state '" + name + "'")});
  return tensor;
}

std::vector<StoredTensor> zrt::tensorsOf(const Program &program) {
  std::vector<StoredTensor> tensors;
  for (const StoredParameter &stored : storedParametersOf(program))
    tensors.push_back(describeTensor(stored));
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
  text["format"] = kManifestFormat;
  text["version"] = kVersion;
  text["program"] = manifest.program;
  text["update"] = manifest.update;
  text["steps"] = manifest.steps;
  text["skipped"] = manifest.skipped;
  text["stage"] = manifest.stage;
  text["ranks"] = manifest.ranks;
  text["mesh"] = manifest.mesh;
  text["loss_scale"] = {{"kind", nameOf(manifest.scalerKind)},
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

[[noreturn]] static void refuse(const std::string &what,
                                const std::string &found,
                                const std::string &wanted) {
  throw std::runtime_error("its " + what + " is " + found + ", wanted " +
                           wanted);
}

/// Numbers of these are added to each other.
static constexpr uint64_t kMostCount = uint64_t(INT64_MAX) / 2;

/// A whole number of [low, high]. The library itself would round and wrap.
template <typename T = int64_t>
static T countAt(const Json &owner, const char *key, int64_t low = 0,
                 uint64_t high = kMostCount) {
  const Json &value = owner.at(key);
  const bool isNegative =
      value.is_number_integer() && !value.is_number_unsigned() && value < 0;
  const bool isWithin =
      value.is_number_integer() &&
      (isNegative ? value.get<int64_t>() >= low
                  : low <= 0 || value.get<uint64_t>() >= uint64_t(low)) &&
      (isNegative || value.get<uint64_t>() <= high);
  if (!isWithin)
    refuse(key, value.dump(),
           "a whole number from " + std::to_string(low) + " to " +
               std::to_string(high));
  return value.get<T>();
}

static std::string textAt(const Json &owner, const char *key) {
  const Json &value = owner.at(key);
  if (!value.is_string())
    refuse(key, value.dump(), "a text");
  return value.get<std::string>();
}

static const Json &listAt(const Json &owner, const char *key) {
  const Json &value = owner.at(key);
  if (!value.is_array())
    refuse(key, value.type_name(), "a list");
  return value;
}

static uint64_t digestAt(const Json &owner, const char *key) {
  uint64_t digest = 0;
  const std::string text = textAt(owner, key);
  if (!readHexadecimal(text, digest))
    refuse(key, "'" + text + "'", "a digest of 16 hexadecimal digits");
  return digest;
}

static TensorDataType typeOf(const Json &value) {
  TensorDataType type;
  if (!value.is_string() || !findType(value.get<std::string>(), type) ||
      !isFloatType(type))
    refuse("type of a tensor", value.dump(), "F32, F16 or BF16");
  return type;
}

static StoredTensor readTensor(const Json &value) {
  StoredTensor tensor;
  tensor.name = textAt(value, "name");
  const Json &shape = listAt(value, "shape");
  int64_t elements = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Json &size = shape[i];
    if (!size.is_number_unsigned() || size > kMostCount ||
        __builtin_mul_overflow(elements, size.get<int64_t>(), &elements))
      refuse("shape of '" + tensor.name + "'", shape.dump(),
             "sizes that 64 bits can count");
    tensor.shape.push_back(size.get<int64_t>());
  }
  tensor.modelType = typeOf(value.at("dtype"));
  tensor.trainable = value.at("trainable").get<bool>();
  const Json &states = value.at("states");
  if (!states.is_object() || !states.contains(kValueName))
    refuse("list of what is kept of '" + tensor.name + "'", states.dump(),
           std::string("an object with '") + kValueName + "'");
  for (const auto &[name, type] : states.items())
    tensor.states.push_back({name, typeOf(type)});
  return tensor;
}

static LossScaleKind kindAt(const Json &owner, const char *key) {
  const std::string text = textAt(owner, key);
  if (std::optional<LossScaleKind> kind = findByName<LossScaleKind>(text))
    return *kind;
  refuse("loss scaler", "'" + text + "'", "none, static or dynamic");
}

static ScalerState readScaler(const Json &scaler) {
  ScalerState state;
  const Json &scale = scaler.at("scale");
  state.scale = scale.is_number() ? scale.get<float>() : 0;
  if (!(state.scale > 0) || std::isinf(state.scale))
    refuse("loss scale", scale.dump(), "a number above 0");
  state.iteration = countAt(scaler, "iteration");
  state.lastOverflow = countAt(scaler, "last_overflow", -1);
  state.hysteresis = countAt<int32_t>(scaler, "hysteresis", 0, INT32_MAX);
  return state;
}

static DataPosition readPosition(const Json &data) {
  DataPosition position;
  position.seed = countAt<uint64_t>(data, "seed", 0, UINT64_MAX);
  position.globalBatch = countAt<uint64_t>(data, "global_batch");
  position.consumed = countAt<uint64_t>(data, "consumed");
  position.samples = countAt<uint64_t>(data, "samples");
  position.digest = digestAt(data, "digest");
  return position;
}

static Manifest readManifest(const Json &text) {
  Manifest manifest;
  manifest.program = textAt(text, "program");
  manifest.update = countAt(text, "update");
  manifest.steps = countAt(text, "steps");
  manifest.skipped = countAt(text, "skipped");
  manifest.stage = countAt<int32_t>(text, "stage", 0, 3);
  manifest.ranks = countAt<int32_t>(text, "ranks", 1, INT32_MAX);
  manifest.mesh = textAt(text, "mesh");
  const Json &scaler = text.at("loss_scale");
  manifest.scalerKind = kindAt(scaler, "kind");
  manifest.scaler = readScaler(scaler);
  manifest.data = readPosition(text.at("data"));
  for (const Json &tensor : listAt(text, "tensors"))
    manifest.tensors.push_back(readTensor(tensor));
  for (const Json &file : listAt(text, "files"))
    manifest.files.push_back({textAt(file, "name"),
                              countAt<uint64_t>(file, "bytes"),
                              digestAt(file, "digest")});
  return manifest;
}

/// Throws where values do not go together.
static void checkManifest(const Manifest &manifest, uint64_t signature) {
  if (manifest.steps + manifest.skipped > manifest.update)
    refuse("update", std::to_string(manifest.update),
           "at least the " + std::to_string(manifest.steps) + " done and the " +
               std::to_string(manifest.skipped) + " skipped together");
  std::set<std::string> names;
  for (const StoredTensor &tensor : manifest.tensors)
    if (!names.insert(tensor.name).second)
      throw std::runtime_error("it has the tensor '" + tensor.name + "' twice");
  if (signatureOf(manifest.tensors) != signature)
    refuse("signature", hexadecimal(signature),
           hexadecimal(signatureOf(manifest.tensors)) +
               ", that of its tensors");
  if (manifest.files.size() != size_t(manifest.ranks))
    refuse("number of files", std::to_string(manifest.files.size()),
           std::to_string(manifest.ranks) + ", one for each rank");
  uint64_t bytes = 0;
  for (int rank = 0; rank < manifest.ranks; ++rank) {
    const StoredFile &file = manifest.files[size_t(rank)];
    if (file.name != shardName(rank, manifest.ranks))
      refuse("file of rank " + std::to_string(rank), "'" + file.name + "'",
             "'" + shardName(rank, manifest.ranks) + "'");
    if (__builtin_add_overflow(bytes, file.bytes, &bytes))
      throw std::runtime_error("its files have more bytes than 64 bits count");
  }
}

/// Throws where it is none that this program reads.
static void checkVersion(const Json &json, const std::string &path) {
  if (!json.is_object() || json.at("format") != kManifestFormat)
    throw std::runtime_error("it is no manifest of a checkpoint");
  const Json &version = json.at("version");
  if (!version.is_number_integer() || version != kVersion)
    throw OtherVersion(path + ": cannot be read: its version is " +
                       version.dump() + ", and this program reads version " +
                       std::to_string(kVersion) +
                       ": go on with the executable that wrote it, or start "
                       "from weights that zero-checkpoint of its version "
                       "exports");
}

Manifest zrt::parseManifest(const std::string &text, const std::string &path) {
  try {
    checkNesting(text);
    Json json = Json::parse(text);
    checkVersion(json, path);
    const uint64_t checksum = digestAt(json, "checksum");
    json.erase("checksum");
    const std::string bytes = json.dump();
    if (digestBytes(bytes.data(), bytes.size()) != checksum)
      throw std::runtime_error("its checksum is wrong");
    const Manifest manifest = readManifest(json);
    checkManifest(manifest, digestAt(json, "signature"));
    return manifest;
  } catch (const OtherVersion &) {
    throw;
  } catch (const std::exception &error) {
    throw std::runtime_error(path + ": cannot be read: " + textOf(error));
  }
}
