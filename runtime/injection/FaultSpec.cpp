#include "injection/FaultSpec.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <stdexcept>

using namespace zrt;

namespace {

constexpr uint32_t kFiles = kFileReadOperation | kFileWriteOperation;
constexpr uint32_t kComputing =
    kKernelOperation | kMeetingOperation | kWaitOperation;
constexpr uint32_t kAny = kComputing | kFiles | kCheckpointOperation;
constexpr uint32_t kWriting = kFileWriteOperation | kCheckpointOperation;

struct KindRow {
  FaultKind kind;
  const char *name;
  uint32_t classes;
  double most = -1; ///< value that may stand behind "="; negative: none may
  double usual = 0; ///< where none does
  bool isWhole = false;
};

/// Doubles count the bits of any buffer up to here.
constexpr double kMostBit = double(uint64_t(1) << 52);

constexpr KindRow kKinds[] = {
    {FaultKind::Kill, "kill", kAny},
    {FaultKind::Stop, "stop", kAny},
    {FaultKind::Delay, "delay", kAny, /*most=*/1e6, /*usual=*/1},
    {FaultKind::Alloc, "alloc", kComputing},
    {FaultKind::Skip, "skip", kKernelOperation | kMeetingOperation},
    {FaultKind::Double, "double", kKernelOperation | kMeetingOperation},
    {FaultKind::Reorder, "reorder", kMeetingOperation},
    {FaultKind::Payload, "payload", kMeetingOperation},
    {FaultKind::Flip, "flip",
     kKernelOperation | kMeetingOperation | kWriting | kFileReadOperation |
         kStateOperation,
     kMostBit, 0, /*isWhole=*/true},
    {FaultKind::Wire, "wire", kMeetingOperation, kMostBit, 0, /*isWhole=*/true},
    {FaultKind::Eio, "eio", kFiles | kCheckpointOperation},
    {FaultKind::Enospc, "enospc", kWriting},
    {FaultKind::Short, "short", kFiles},
    {FaultKind::Torn, "torn", kWriting},
};

struct ClassRow {
  OperationClass which;
  const char *name;
};

constexpr ClassRow kClasses[] = {
    {kKernelOperation, "kernel"},
    {kMeetingOperation, "collective"},
    {kWaitOperation, "wait"},
    {kFileReadOperation, "file-read"},
    {kFileWriteOperation, "file-write"},
    {kCheckpointOperation, "checkpoint-write"},
    {kStateOperation, "state"},
};

[[noreturn]] void refuse(const std::string &text, const std::string &wanted) {
  throw std::invalid_argument("found '" + text + "', wanted " + wanted);
}

/// Takes a whole number off the front of `text`, through the character `end`.
uint64_t takeNumber(const std::string &whole, std::string &text, char end,
                    const char *what) {
  const size_t size = text.find(end);
  uint64_t number = 0;
  const char *last = text.data() + (size == std::string::npos ? 0 : size);
  const auto read = std::from_chars(text.data(), last, number);
  if (size == std::string::npos || size == 0 || read.ec != std::errc() ||
      read.ptr != last)
    refuse(whole, std::string(what) +
                      " in KIND@RANK:STEP:OP, such as kill@1:2:all-gather");
  text.erase(0, size + 1);
  return number;
}

/// Takes ".3" off the end of a name.
uint64_t takeIndex(std::string &name) {
  const size_t dot = name.rfind('.');
  uint64_t index = 0;
  if (dot == std::string::npos || dot + 1 == name.size())
    return 1;
  const char *begin = name.data() + dot + 1, *end = name.data() + name.size();
  const auto read = std::from_chars(begin, end, index);
  if (read.ec != std::errc() || read.ptr != end)
    return 1;
  name.resize(dot);
  return index;
}

/// The whole text as a value that the row takes; nothing otherwise.
std::optional<double> readValue(const KindRow &row, const std::string &text) {
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= 0 && value <= row.most) ||
      (row.isWhole && value != double(uint64_t(value))))
    return std::nullopt;
  return value;
}

void readKind(FaultSpec &spec, const std::string &text) {
  const size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  const KindRow *row =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const KindRow &one) { return name == one.name; });
  if (row == std::end(kKinds))
    refuse(spec.text, "one of the kinds " + listFaultKinds(kAny));
  spec.kind = row->kind;
  spec.value = row->usual;
  if (sign == std::string::npos)
    return;
  const std::optional<double> value = readValue(*row, text.substr(sign + 1));
  if (!value)
    refuse(spec.text, "a value only of a delay, in seconds from 0 to 1e6, and "
                      "of flip and wire, the number of a bit: "
                      "delay=0.5@1:2:all-gather");
  spec.value = *value;
}

} // namespace

FaultSpec zrt::parseFault(const std::string &text) {
  FaultSpec spec;
  spec.text = text;
  const size_t at = text.find('@');
  readKind(spec, text.substr(0, at));
  std::string rest = at == std::string::npos ? "" : text.substr(at + 1);
  const uint64_t rank = takeNumber(text, rest, ':', "a rank");
  if (rank > INT32_MAX)
    refuse(text, "a rank of the run");
  spec.rank = int(rank);
  spec.step = takeNumber(text, rest, ':', "the number of an update, or 0");
  spec.index = takeIndex(rest);
  spec.operation = rest;
  if (rest.empty() || spec.index == 0)
    refuse(text, "the name of an operation behind the last colon, and perhaps "
                 "which of the step: all-gather.2");
  const uint32_t named = classNamed(rest);
  if (named && !(named & classesOf(spec.kind)))
    refuse(text, "a fault of a " + rest + ": " + listFaultKinds(named));
  return spec;
}

uint32_t zrt::classesOf(FaultKind kind) {
  for (const KindRow &row : kKinds)
    if (row.kind == kind)
      return row.classes;
  return 0;
}

std::string zrt::listFaultKinds(uint32_t classes) {
  std::string list;
  for (const KindRow &row : kKinds)
    if (row.classes & classes)
      list += (list.empty() ? "" : ", ") + std::string(row.name);
  return list;
}

std::vector<std::string> zrt::namesOfClasses() {
  std::vector<std::string> names;
  for (const ClassRow &row : kClasses)
    names.emplace_back(row.name);
  return names;
}

uint32_t zrt::classNamed(const std::string &name) {
  for (const ClassRow &row : kClasses)
    if (name == row.name)
      return row.which;
  return 0;
}
