#include "data/StoredArrays.h"

#include "data/DataFile.h"
#include "data/NpyFile.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>

using namespace zrt;

namespace {

const std::string kNumpy = ".npy", kSafeTensors = ".safetensors";

/// The entries of `folder` that are not hidden, in the order of their names.
std::vector<std::string> entriesOf(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error))
    if (const std::string name = entries->path().filename().string();
        name[0] != '.')
      names.push_back(name);
  if (error)
    throw std::runtime_error("cannot read the folder '" + folder +
                             "': " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

bool isFolder(const std::string &path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::string inFolder(const std::string &folder, const std::string &name) {
  return (folder.back() == '/' ? folder : folder + "/") + name;
}

uint64_t rowsOf(const std::vector<int64_t> &shape) {
  return shape.empty() ? 1 : uint64_t(shape[0]);
}

uint64_t rowElements(const std::vector<int64_t> &shape) {
  uint64_t elements = 1;
  for (size_t i = 1; i < shape.size(); ++i)
    elements *= uint64_t(shape[i]);
  return elements;
}

} // namespace

bool zrt::isOfArrays(const std::string &path) {
  return isFolder(path) || endsWith(path, kNumpy) ||
         endsWith(path, kSafeTensors);
}

std::vector<std::string> zrt::dataFiles(const std::string &path) {
  if (!isFolder(path))
    return {path};
  std::vector<std::string> files;
  for (const std::string &name : entriesOf(path))
    if (endsWith(name, kNumpy) || endsWith(name, kSafeTensors))
      files.push_back(inFolder(path, name));
  return files;
}

const ArrayPiece &StoredArray::pieceOf(uint64_t &row) const {
  size_t i = 0;
  for (; i + 1 < pieces.size() && row >= pieces[i].rows; ++i)
    row -= pieces[i].rows;
  return pieces[i];
}

const std::string &StoredArray::pathOf(uint64_t row) const {
  return pieceOf(row).path;
}

void StoredArray::read(uint64_t first, uint64_t count, void *out) const {
  const uint64_t width = rowElements(shape);
  uint64_t row = width ? first / width : 0;
  const uint64_t offset = width ? first % width : 0;
  const ArrayPiece &piece = pieceOf(row);
  piece.read(row * width + offset, count, out);
}

StoredArrays::StoredArrays(const std::string &path,
                           const std::string &nameOfOne)
    : name(path) {
  if (!isFolder(path)) {
    if (endsWith(path, kNumpy))
      addNumpy(path, nameOfOne);
    else
      addSafeTensors(path);
    return;
  }
  for (const std::string &file : entriesOf(path))
    if (endsWith(file, kNumpy))
      addNumpy(inFolder(path, file),
               file.substr(0, file.size() - kNumpy.size()));
    else if (endsWith(file, kSafeTensors))
      addSafeTensors(inFolder(path, file));
    else
      others.push_back(file);
  if (all.empty())
    throw std::runtime_error("the folder '" + path +
                             "' has no .npy or .safetensors file: wanted an "
                             "array for each input of the step");
}

const StoredArray *StoredArrays::find(const std::string &wanted) const {
  for (const StoredArray &array : all)
    if (array.name == wanted)
      return &array;
  return nullptr;
}

void StoredArrays::add(const std::string &array, TensorDataType type,
                       const std::vector<int64_t> &shape, ArrayPiece piece) {
  piece.rows = rowsOf(shape);
  auto found =
      std::find_if(all.begin(), all.end(),
                   [&](const StoredArray &each) { return each.name == array; });
  if (found == all.end()) {
    all.push_back({array, type, shape, {}});
    all.back().pieces.push_back(std::move(piece));
    return;
  }
  const std::string before = found->pieces.back().path;
  std::vector<int64_t> wanted = found->shape;
  if (!wanted.empty() && !shape.empty())
    wanted[0] = shape[0];
  if (type != found->type || shape != wanted || shape.empty())
    throw std::runtime_error(
        "'" + piece.path + "' has the array '" + array + "' with " +
        nameOf(type) + " of shape " + shapeText(shape) + ", and '" + before +
        "' has it with " + nameOf(found->type) + " of shape " +
        shapeText(found->shape) +
        ": parts of an array must agree in all but their first dimension");
  if (endsWith(piece.path, kNumpy) || endsWith(before, kNumpy))
    throw std::runtime_error("the array '" + array + "' is both in '" + before +
                             "' and in '" + piece.path + "': remove one");
  found->shape[0] += shape[0];
  found->pieces.push_back(std::move(piece));
}

void StoredArrays::addNumpy(const std::string &path, const std::string &array) {
  const uint64_t bytes = sizeOfFile(path);
  const auto file = std::make_shared<NpyFile>(path);
  add(array, file->type(), file->shape(),
      {path, 0, [=](uint64_t first, uint64_t count, void *out) {
         readUncut(path, bytes, [&] { file->read(first, count, out); });
       }});
}

void StoredArrays::addSafeTensors(const std::string &path) {
  const uint64_t bytes = sizeOfFile(path);
  const auto file = std::make_shared<SafeTensorsFile>(path);
  for (const TensorEntry &entry : file->tensors())
    add(entry.name, entry.type, entry.shape,
        {path, 0, [=, &entry](uint64_t first, uint64_t count, void *out) {
           readUncut(path, bytes,
                     [&] { file->read(entry, first, count, out); });
         }});
}
