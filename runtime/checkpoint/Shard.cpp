#include "checkpoint/Shard.h"

#include "checkpoint/Folder.h"
#include "io/Digest.h"
#include "state/Pieces.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>

using namespace zrt;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {

/// Writes a file in blocks and digests them on the way.
class DigestedFile {
public:
  DigestedFile(FileSystem &files, const std::string &path)
      : file(files.create(path)), block(kDigestBlock) {}

  void append(const void *data, uint64_t bytes) {
    const char *from = static_cast<const char *>(data);
    while (bytes) {
      const uint64_t part = std::min(bytes, kDigestBlock - used);
      std::memcpy(block.data() + used, from, part);
      used += part;
      from += part;
      bytes -= part;
      if (used == kDigestBlock)
        flush();
    }
  }

  /// The file's size and digest, once all is synchronised.
  StoredFile finish() {
    if (used)
      flush();
    file->sync();
    return stored;
  }

private:
  void flush() {
    file->append(block.data(), used);
    stored.digest +=
        digestBlock(stored.bytes / kDigestBlock, block.data(), used);
    stored.bytes += used;
    used = 0;
  }

  std::unique_ptr<OutputFile> file;
  std::vector<char> block;
  uint64_t used = 0; ///< bytes of the block
  StoredFile stored;
};

std::string pieceName(const std::string &tensor, const std::string &state,
                      uint64_t element) {
  return tensor + "/" + state + "/" + std::to_string(element);
}

/// Calls `body(parameter, state, type)` for each of what a parameter keeps, in
/// the order of files; `state` is null for its value.
template <typename Body> void forEachKept(const Program &program, Body body) {
  for (const Parameter &parameter : program.parameters) {
    body(parameter, nullptr, writtenType(program, parameter));
    for (const State &state : partitionOf(program, parameter).states)
      if (state.start == StateStart::Constant)
        body(parameter, &state,
             storedTypeOf(state.type, "state '" + state.name + "'"));
  }
}

/// The tensors of a file: one a piece, or where a parameter is cut one for
/// pieces of one size that are equally far apart, of which it has very many.
class EntryMaker {
public:
  EntryMaker(std::vector<TensorEntry> &entries, const Parameter &parameter,
             std::string state, TensorDataType type)
      : entries(entries), parameter(parameter), state(std::move(state)),
        type(type) {}
  ~EntryMaker() { flush(); }

  void add(const Piece &piece) {
    const bool goesOn = rows > 0 && !parameter.cuts.empty() &&
                        piece.count == count &&
                        (rows == 1 || piece.element - last == stride);
    if (!goesOn) {
      flush();
      first = piece.element;
      count = piece.count;
    } else {
      stride = piece.element - last;
    }
    last = piece.element;
    ++rows;
  }

private:
  void flush() {
    if (rows == 0)
      return;
    TensorEntry &entry = entries.emplace_back();
    entry.name = pieceName(parameter.name, state, first);
    entry.type = type;
    entry.shape = {int64_t(count)};
    if (rows > 1) {
      entry.name += "+" + std::to_string(stride);
      entry.shape.insert(entry.shape.begin(), int64_t(rows));
    }
    rows = 0;
  }

  std::vector<TensorEntry> &entries;
  const Parameter &parameter;
  const std::string state;
  const TensorDataType type;
  uint64_t first = 0, count = 0, stride = 0, last = 0, rows = 0;
};

std::vector<TensorEntry> entriesOf(const Program &program, int rank) {
  std::vector<TensorEntry> entries;
  forEachKept(program, [&](const Parameter &parameter, const State *state,
                           TensorDataType type) {
    const Partition &partition = partitionOf(program, parameter);
    const bool sharded =
        state ? partition.shardedOptimizer : isValueSharded(partition);
    EntryMaker maker(entries, parameter, state ? state->name : kValueName,
                     type);
    forEachShare(program, parameter, sharded, rank,
                 [&](const Piece &piece) { maker.add(piece); });
  });
  return entries;
}

std::string headerOf(const Program &program, int rank) {
  std::vector<TensorEntry> entries = entriesOf(program, rank);
  return makeSafeTensorsHeader(entries, {{"format", "pt"}});
}

/// Calls `body(data, bytes)` with what follows the header, in portions.
template <typename Body>
void forEachPortion(const Program &program, const Arenas &arenas, int rank,
                    const StartingValues &start, Body body) {
  std::vector<char> bytes;
  forEachKept(program, [&](const Parameter &parameter, const State *state,
                           TensorDataType type) {
    const auto pass = [&](uint64_t, uint64_t count, const float *values) {
      bytes.resize(count * sizeOf(type));
      storeElements(floatTypeOf(type), false, values, bytes.data(), count);
      body(bytes.data(), bytes.size());
    };
    if (state)
      readState(program, arenas, rank, parameter, *state, pass);
    else
      readModelValues(program, arenas, rank, parameter, start, pass);
  });
}

} // namespace

StoredFile zrt::writeShard(FileSystem &files, const std::string &folder,
                           const Program &program, const Arenas &arenas,
                           int rank, const StartingValues &start) {
  const std::string name = shardName(rank, program.training.ranks);
  DigestedFile file(files, inFolder(folder, name));
  const std::string header = headerOf(program, rank);
  file.append(header.data(), header.size());
  forEachPortion(
      program, arenas, rank, start,
      [&](const char *data, uint64_t bytes) { file.append(data, bytes); });
  StoredFile stored = file.finish();
  stored.name = name;
  return stored;
}

//===----------------------------------------------------------------------===//
// Copying
//===----------------------------------------------------------------------===//

/// Bytes of a rank's file after its header.
static uint64_t valueBytes(const Program &program, int rank) {
  std::vector<TensorEntry> entries = entriesOf(program, rank);
  if (entries.empty())
    return 0;
  makeSafeTensorsHeader(entries, {}); // says where they are
  return entries.back().end;
}

uint64_t ShardCopy::bytesOf(const Program &program) {
  uint64_t most = 0;
  for (int rank = 0; rank < program.training.ranks; ++rank)
    most = std::max(most, valueBytes(program, rank));
  return most;
}

void ShardCopy::take(const Program &program, const Arenas &arenas, int rank,
                     const StartingValues &start) {
  name = shardName(rank, program.training.ranks);
  header = headerOf(program, rank);
  if (!values.data())
    values = Mapping(valueBytes(program, rank), /*hugePages=*/false,
                     "the copy of the state that a checkpoint is written from");
  used = 0;
  char *to = static_cast<char *>(values.data());
  forEachPortion(program, arenas, rank, start,
                 [&](const char *data, uint64_t bytes) {
                   if (bytes > values.size() - used)
                     throw std::logic_error("a rank's share of the state is "
                                            "larger than its copy");
                   std::memcpy(to + used, data, bytes);
                   used += bytes;
                 });
}

StoredFile ShardCopy::write(FileSystem &files, const std::string &folder,
                            const std::atomic<bool> &stop) const {
  DigestedFile file(files, inFolder(folder, name));
  file.append(header.data(), header.size());
  const char *from = static_cast<const char *>(values.data());
  for (uint64_t done = 0; done < used; done += kDigestBlock) {
    if (stop)
      throw std::runtime_error(inFolder(folder, name) +
                               ": not written, as the run ends");
    file.append(from + done, std::min(kDigestBlock, used - done));
  }
  StoredFile stored = file.finish();
  stored.name = name;
  return stored;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Files that are open at once besides those that are held.
static constexpr size_t kMostOpen = 8;

ShardReader::ShardReader(std::string folder, const Manifest &manifest) {
  for (const StoredFile &file : manifest.files)
    paths.push_back(inFolder(folder, file.name));
  for (size_t file = 0; file < paths.size(); ++file)
    addFile(file);
  checkCover(manifest);
}

/// Reads "128", or "128+4096": the first element, and how far apart runs are.
static bool readPlace(const std::string &text, uint64_t &element,
                      uint64_t &stride) {
  const char *end = text.data() + text.size();
  const char *at = std::from_chars(text.data(), end, element).ptr;
  if (at == end)
    return at != text.data();
  return at != text.data() && *at == '+' &&
         std::from_chars(at + 1, end, stride).ptr == end && stride > 0;
}

void ShardReader::addFile(size_t file) {
  const SafeTensorsFile tensors(paths[file]);
  for (const TensorEntry &entry : tensors.tensors()) {
    const size_t last = entry.name.rfind('/');
    const size_t middle = last == std::string::npos || last == 0
                              ? last
                              : entry.name.rfind('/', last - 1);
    Run run;
    uint64_t stride = 0;
    const bool valid =
        last != std::string::npos && middle != std::string::npos &&
        middle < last && isFloatType(entry.type) &&
        readPlace(entry.name.substr(last + 1), run.element, stride) &&
        entry.shape.size() == (stride ? 2 : 1) &&
        (!stride || entry.shape[1] > 0);
    if (!valid)
      throw std::runtime_error(paths[file] + ": the tensor '" + entry.name +
                               "' is no part of a checkpoint");
    run.count = uint64_t(entry.shape.back());
    run.file = file;
    run.place = tensors.placeOf(entry);
    run.type = entry.type;
    std::vector<Run> &parts =
        runs[{entry.name.substr(0, middle),
              entry.name.substr(middle + 1, last - middle - 1)}];
    for (int64_t row = 0, rows = stride ? entry.shape[0] : 1; row < rows;
         ++row) {
      parts.push_back(run);
      run.element += stride;
      run.place += run.count * sizeOf(run.type);
    }
  }
}

/// Every element once: what is missing would stay what it is by chance.
void ShardReader::checkCover(const Manifest &manifest) {
  for (const StoredTensor &tensor : manifest.tensors)
    for (const StoredState &state : tensor.states) {
      std::vector<Run> &parts = runs[{tensor.name, state.name}];
      std::sort(parts.begin(), parts.end(), [](const Run &a, const Run &b) {
        return a.element < b.element;
      });
      uint64_t end = 0;
      for (const Run &run : parts) {
        if (run.element != end)
          throw std::runtime_error(paths[run.file] + ": found element " +
                                   std::to_string(run.element) + " of " +
                                   state.name + " of '" + tensor.name +
                                   "', wanted element " + std::to_string(end));
        end += run.count;
      }
      if (end != uint64_t(tensor.elements()))
        throw std::runtime_error(
            "the files of the checkpoint have " + std::to_string(end) +
            " elements of " + state.name + " of '" + tensor.name +
            "', wanted " + std::to_string(tensor.elements()));
    }
}

const std::vector<ShardReader::Run> &
ShardReader::runsOf(const std::string &tensor, const std::string &state) const {
  const auto found = runs.find({tensor, state});
  if (found == runs.end())
    throw std::runtime_error("the checkpoint has no " + state + " of '" +
                             tensor + "'");
  return found->second;
}

const FileHandle &ShardReader::open(size_t file) const {
  if (const auto found = held.find(file); found != held.end())
    return found->second;
  const auto found = recent.find(file);
  if (found != recent.end())
    return found->second;
  if (recent.size() == kMostOpen)
    recent.erase(recent.begin());
  return recent.emplace(file, FileHandle(paths[file], O_RDONLY)).first->second;
}

void ShardReader::hold(const std::string &tensor) const {
  for (const Run &run : runsOf(tensor, kValueName))
    if (!held.count(run.file))
      held.emplace(run.file, FileHandle(paths[run.file], O_RDONLY));
}

void ShardReader::read(const std::string &tensor, const std::string &state,
                       uint64_t first, uint64_t count, float *out) const {
  const std::vector<Run> &parts = runsOf(tensor, state);
  auto part = std::upper_bound(
      parts.begin(), parts.end(), first,
      [](uint64_t element, const Run &run) { return element < run.element; });
  part -= part != parts.begin();
  std::vector<char> bytes;
  for (const uint64_t end = first + count; first < end; ++part) {
    if (part == parts.end())
      throw std::out_of_range("the checkpoint has fewer elements of " + state +
                              " of '" + tensor + "' than are wanted");
    const uint64_t inside = first - part->element;
    const uint64_t taken = std::min(end - first, part->count - inside);
    const uint64_t width = sizeOf(part->type);
    bytes.resize(taken * width);
    open(part->file)
        .read(part->place + inside * width, bytes.data(), bytes.size());
    loadElements(floatTypeOf(part->type), bytes.data(), out, taken);
    out += taken;
    first += taken;
  }
}
