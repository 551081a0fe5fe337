#include "device/cuda/ProductFile.h"

#include "checkpoint/FileSystem.h"
#include "io/Digest.h"
#include "io/FileHandle.h"
#include "program/Nesting.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <random>
#include <set>
#include <stdexcept>
#include <tuple>

using namespace zrt;
using cuda::ProductRecord;
using Json = nlohmann::ordered_json;

static constexpr const char *kFormat = "zero-products";
static constexpr int kVersion = 1;

std::string zrt::formatProducts(const std::vector<ProductRecord> &records) {
  std::string text = std::string("{\"format\": \"") + kFormat +
                     "\", \"version\": " + std::to_string(kVersion) +
                     ", \"products\": [";
  const char *separator = "\n";
  for (const ProductRecord &record : records) {
    const Json line = {{"gpu", record.processor.gpu},
                       {"cublaslt", record.processor.blasVersion},
                       {"product", record.product},
                       {"choice", record.choice},
                       {"microseconds", record.microseconds}};
    text += separator + line.dump();
    separator = ",\n";
  }
  return text + "\n]}\n";
}

static ProductRecord readRecord(const Json &line) {
  ProductRecord record;
  record.processor.gpu = line.at("gpu");
  record.processor.blasVersion = line.at("cublaslt");
  record.product = line.at("product");
  record.choice = line.at("choice");
  record.microseconds = line.at("microseconds");
  if (line.size() != 5)
    throw std::runtime_error("a record has a key that is not known: " +
                             line.dump());
  return record;
}

static std::vector<ProductRecord> readRecords(const Json &json) {
  if (json.at("format") != kFormat)
    throw std::runtime_error("its format is " + json.at("format").dump() +
                             ", wanted \"" + kFormat + "\"");
  if (json.at("version") != kVersion)
    throw std::runtime_error("its version is " + json.at("version").dump() +
                             ", and this program reads version " +
                             std::to_string(kVersion));
  std::vector<ProductRecord> records;
  std::set<std::tuple<std::string, uint64_t, std::string>> seen;
  for (const Json &line : json.at("products")) {
    records.push_back(readRecord(line));
    const ProductRecord &record = records.back();
    if (!seen.emplace(record.processor.gpu, record.processor.blasVersion,
                      record.product)
             .second)
      throw std::runtime_error("it has two records of '" + record.product +
                               "' on '" + record.processor.gpu + "'");
  }
  return records;
}

std::vector<ProductRecord> zrt::parseProducts(const std::string &text,
                                              const std::string &path) {
  try {
    checkNesting(text);
    return readRecords(Json::parse(text));
  } catch (const std::exception &error) {
    throw std::runtime_error(
        "--tune-products: '" + path + "' cannot be read: " + error.what() +
        "; name another file, or delete it, and products are timed again");
  }
}

std::vector<ProductRecord> zrt::readProducts(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error)
    return {};
  std::string text;
  try {
    text = readText(path);
  } catch (const std::exception &error) {
    throw std::runtime_error(std::string("--tune-products: ") + error.what());
  }
  return parseProducts(text, path);
}

void zrt::writeProducts(const std::vector<ProductRecord> &records,
                        const std::string &path) {
  FileSystem &disk = FileSystem::disk();
  std::random_device random;
  const std::string text = formatProducts(records),
                    partial = path + ".partial-" + hexadecimal(random());
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  try {
    const std::unique_ptr<OutputFile> file = disk.create(partial);
    try {
      file->append(text.data(), text.size());
      file->sync();
      disk.rename(partial, path);
    } catch (...) {
      std::filesystem::remove(partial);
      throw;
    }
    disk.syncFolder(folder);
  } catch (const std::exception &error) {
    throw std::runtime_error(std::string("--tune-products: ") + error.what());
  }
}
