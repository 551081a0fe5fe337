#include "report/TensorBoard.h"

#include "io/FileHandle.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

using namespace zrt;

namespace {

//===----------------------------------------------------------------------===//
// Protocol buffers, as far as events need them
//===----------------------------------------------------------------------===//

enum Wire { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void addVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += char(value | 0x80);
  out += char(value);
}

void addKey(std::string &out, int field, Wire wire) {
  addVarint(out, uint64_t(field) << 3 | wire);
}

void addInteger(std::string &out, int field, int64_t value) {
  addKey(out, field, Varint);
  addVarint(out, uint64_t(value));
}

void addBytes(std::string &out, int field, const std::string &bytes) {
  addKey(out, field, Bytes);
  addVarint(out, bytes.size());
  out += bytes;
}

/// The lowest byte first, whatever this machine's order is.
template <typename T> void addFixed(std::string &out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out += char(value >> (8 * i) & 0xff);
}

template <typename To, typename From> To bitsAs(From value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Fields of tensorboard.Event, Summary, Summary.Value and SessionLog.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5,
              kSessionLog = 7, kValue = 1, kTag = 1, kSimpleValue = 2,
              kStatus = 1;
constexpr int64_t kSessionStart = 1;

double secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string eventAt(int64_t step) {
  std::string event;
  addKey(event, kWallTime, Fixed64);
  addFixed(event, bitsAs<uint64_t>(secondsNow()));
  addInteger(event, kStep, step);
  return event;
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// CRC-32C, the lowest bit first.
constexpr uint32_t kPolynomial = 0x82f63b78;

std::array<uint32_t, 256> makeCrcTable() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = rest >> 1 ^ (rest & 1 ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}

std::string hostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 && *name ? name : "host";
}

} // namespace

uint32_t zrt::maskedCrc32c(const void *data, size_t bytes) {
  static const std::array<uint32_t, 256> table = makeCrcTable();
  const auto *from = static_cast<const unsigned char *>(data);
  uint32_t crc = ~0u;
  for (size_t i = 0; i < bytes; ++i)
    crc = crc >> 8 ^ table[(crc ^ from[i]) & 0xff];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

TensorBoard::TensorBoard(const std::string &folder, uint64_t tokensPerUpdate,
                         int64_t updates)
    : tokensPerUpdate(tokensPerUpdate) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code)
    throw std::runtime_error("--tensorboard: cannot make the folder '" +
                             folder + "': " + code.message());
  path = folder + "/events.out.tfevents." +
         std::to_string(int64_t(secondsNow())) + "." + hostName() + "." +
         std::to_string(::getpid());
  file.open(path, std::ios::binary | std::ios::trunc);
  std::string version = eventAt(0);
  addBytes(version, kFileVersion, "brain.Event:2");
  write(version);
  if (updates == 0)
    return;
  std::string status, start = eventAt(updates + 1);
  addInteger(status, kStatus, kSessionStart);
  addBytes(start, kSessionLog, status);
  write(start);
}

void TensorBoard::write(const std::string &event) {
  std::string record;
  addFixed(record, uint64_t(event.size()));
  addFixed(record, maskedCrc32c(record.data(), record.size()));
  record += event;
  addFixed(record, maskedCrc32c(event.data(), event.size()));
  file.write(record.data(), std::streamsize(record.size()));
  file.flush();
  if (!file)
    throw std::runtime_error("--tensorboard: cannot write '" + path +
                             "': " + describeError(errno));
}

void TensorBoard::writeScalars(int64_t step, const Scalars &scalars) {
  std::string summary;
  for (const auto &[name, value] : scalars) {
    std::string scalar;
    addBytes(scalar, kTag, name);
    addKey(scalar, kSimpleValue, Fixed32);
    addFixed(scalar, bitsAs<uint32_t>(float(value)));
    addBytes(summary, kValue, scalar);
  }
  std::string event = eventAt(step);
  addBytes(event, kSummary, summary);
  write(event);
}

void TensorBoard::update(const UpdateReport &report) {
  const double rate =
      report.seconds > 0 ? double(tokensPerUpdate) / report.seconds : 0;
  writeScalars(report.update, {{"loss", report.loss},
                               {"grad_norm", report.gradientNorm},
                               {"lr", report.learningRate},
                               {"loss_scale", report.lossScale},
                               {"skipped", report.skipped},
                               {"tokens_per_s", rate}});
}

void TensorBoard::evaluation(int64_t update, const EvaluationReport &report) {
  Scalars scalars = {{"validation_loss", report.loss}};
  for (const auto &[name, value] : report.outputs)
    scalars.emplace_back("validation_" + name, value);
  writeScalars(update, scalars);
}
