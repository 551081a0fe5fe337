#include "communicator/SocketConnection.h"

#include "communicator/Communicator.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

using namespace zrt;
using namespace zrt::processes;

/// Longer messages are announced.
static constexpr uint64_t kWholeBytes = 64 << 10;
static constexpr size_t kInputBytes = 128 << 10;
/// What is told is short: more is no message of this program.
static constexpr uint64_t kMostTold = 64 << 10;
/// Reads in a row, so that one busy peer leaves time for the others.
static constexpr int kReads = 16;

/// What is under way at once, mostly: memory for it is taken at the start, so
/// that a step takes none.
static constexpr size_t kUnderWay = 64, kEarly = 8, kEarlyBytes = 1 << 10;

SocketConnection::SocketConnection(Socket socket)
    : socket(std::move(socket)), input(kInputBytes) {
  frames.reserve(kUnderWay);
  posted.reserve(kUnderWay);
  wanted.reserve(kUnderWay);
  coming.reserve(kUnderWay);
  early.reserve(kUnderWay);
  unusedEarly.reserve(kUnderWay);
  for (size_t i = 0; i < kEarly; ++i) {
    unusedEarly.push_back(std::make_unique<Early>());
    unusedEarly.back()->data.reserve(kEarlyBytes);
  }
}

void SocketConnection::push(const Header &header, const void *payload,
                            uint64_t bytes, SocketOperation *operation) {
  if (nextFrame == frames.size()) {
    frames.clear();
    nextFrame = 0;
  }
  Frame frame;
  frame.header = header;
  frame.payload = static_cast<const char *>(payload);
  frame.bytes = bytes;
  frame.operation = operation;
  frames.push_back(std::move(frame));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void SocketConnection::send(SocketOperation &operation) {
  Header header;
  header.context = operation.context;
  header.tag = operation.tag;
  header.bytes = operation.bytes;
  if (operation.bytes <= kWholeBytes)
    return push(header, operation.data, operation.bytes, &operation);
  header.kind = Kind::Announced;
  header.id = ++announced;
  wanted.push_back({header.id, &operation});
  push(header, nullptr, 0, nullptr);
}

void SocketConnection::checkSize(const Header &header,
                                 const SocketOperation &operation) {
  if (header.bytes != operation.bytes)
    throw CommunicationError("a message has " + std::to_string(header.bytes) +
                             " bytes, wanted " +
                             std::to_string(operation.bytes));
}

/// The receive of an announced message is there: its sender is told.
void SocketConnection::acceptLong(const Header &header,
                                  SocketOperation &operation) {
  checkSize(header, operation);
  coming.push_back({header.id, &operation});
  Header answer = header;
  answer.kind = Kind::Wanted;
  push(answer, nullptr, 0, nullptr);
}

void SocketConnection::receive(SocketOperation &operation) {
  const auto found =
      std::find_if(early.begin(), early.end(), [&](const auto &each) {
        return each->header.context == operation.context &&
               each->header.tag == operation.tag && !each->operation;
      });
  if (found == early.end()) {
    posted.push_back(&operation);
    return;
  }
  Early &message = **found;
  if (message.header.kind == Kind::Announced) {
    acceptLong(message.header, operation);
  } else {
    checkSize(message.header, operation);
    if (!message.isComplete) {
      message.operation = &operation;
      return;
    }
    if (operation.bytes)
      std::memcpy(operation.data, message.data.data(), operation.bytes);
    operation.isDone = true;
  }
  unusedEarly.push_back(std::move(*found));
  early.erase(found);
}

void SocketConnection::cancel(SocketOperation &operation) {
  // What is written in part is written to its end, from a copy.
  for (size_t i = nextFrame; i < frames.size(); ++i) {
    Frame &frame = frames[i];
    if (frame.operation != &operation)
      continue;
    frame.operation = nullptr;
    if (frame.written == 0) {
      frames.erase(frames.begin() + long(i));
    } else {
      frame.kept.assign(frame.payload, frame.payload + frame.bytes);
      frame.payload = frame.kept.data();
    }
    break;
  }
  for (std::vector<Awaited> *list : {&wanted, &coming})
    for (Awaited &each : *list)
      if (each.operation == &operation)
        each.operation = nullptr;
  posted.erase(std::remove(posted.begin(), posted.end(), &operation),
               posted.end());
  for (auto &each : early)
    if (each->operation == &operation)
      each->operation = nullptr;
  if (receiving == &operation) {
    receiving = nullptr;
    target = nullptr;
  }
  operation.isDone = true;
}

void SocketConnection::tell(const void *from, uint64_t bytes) {
  Header header;
  header.kind = Kind::Told;
  header.bytes = bytes;
  push(header, from, bytes, nullptr);
}

std::string SocketConnection::hear() {
  if (told.empty())
    return "";
  std::string first = std::move(told.front());
  told.erase(told.begin());
  return first;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

bool SocketConnection::end(const std::string &why) {
  endReason = why;
  socket = Socket();
  return false;
}

/// What cannot be written is not: the end shows when everything that the other
/// side has said is read.
void SocketConnection::write() {
  while (hasToWrite()) {
    Frame &frame = frames[nextFrame];
    const uint64_t size = sizeof(Header) + frame.bytes;
    iovec parts[2] = {};
    size_t count = 0;
    if (frame.written < sizeof(Header)) {
      auto *header = reinterpret_cast<char *>(&frame.header);
      parts[count++] = {header + frame.written,
                        sizeof(Header) - size_t(frame.written)};
    }
    const uint64_t begin =
        frame.written > sizeof(Header) ? frame.written - sizeof(Header) : 0;
    if (begin < frame.bytes)
      parts[count++] = {const_cast<char *>(frame.payload) + begin,
                        size_t(frame.bytes - begin)};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket.number(), &message, MSG_NOSIGNAL);
    if (sent < 0) {
      isBroken = errno != EAGAIN && errno != EINTR;
      return;
    }
    frame.written += uint64_t(sent);
    if (frame.written < size)
      return;
    if (frame.operation)
      frame.operation->isDone = true;
    ++nextFrame;
  }
}

void SocketConnection::endWriting() {
  if (isOpen())
    ::shutdown(socket.number(), SHUT_WR);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

SocketOperation *SocketConnection::takePosted(const Header &header) {
  const auto found = std::find_if(
      posted.begin(), posted.end(), [&](const SocketOperation *each) {
        return each->context == header.context && each->tag == header.tag;
      });
  if (found == posted.end())
    return nullptr;
  SocketOperation *operation = *found;
  posted.erase(found);
  return operation;
}

/// Room for what the header says, as long as no receive is there.
SocketConnection::Early &SocketConnection::addEarly() {
  if (unusedEarly.empty())
    unusedEarly.push_back(std::make_unique<Early>());
  early.push_back(std::move(unusedEarly.back()));
  unusedEarly.pop_back();
  Early &made = *early.back();
  made.header = header;
  made.operation = nullptr;
  made.isComplete = false;
  return made;
}

/// A message comes as one: to its receive, or to where it waits for one.
void SocketConnection::beginWhole() {
  if (header.bytes > kWholeBytes)
    throw CommunicationError("a message of " + std::to_string(header.bytes) +
                             " bytes was not announced");
  receiving = takePosted(header);
  if (receiving) {
    checkSize(header, *receiving);
    target = receiving->data;
    return;
  }
  filling = &addEarly();
  filling->data.resize(header.bytes);
  target = filling->data.data();
}

/// The operation that waits for `id`, which no longer does.
template <typename List>
static SocketOperation *takeAwaited(List &list, uint64_t id) {
  const auto found =
      std::find_if(list.begin(), list.end(),
                   [&](const auto &each) { return each.id == id; });
  if (found == list.end())
    throw CommunicationError("a message came that nobody has announced");
  SocketOperation *operation = found->operation;
  list.erase(found);
  return operation;
}

void SocketConnection::takeHeader() {
  target = nullptr;
  receiving = nullptr;
  filling = nullptr;
  payloadRead = 0;
  isInPayload = false;
  switch (header.kind) {
  case Kind::Whole:
    beginWhole();
    isInPayload = true;
    break;
  case Kind::Announced:
    if (SocketOperation *operation = takePosted(header)) {
      acceptLong(header, *operation);
    } else {
      addEarly();
    }
    return;
  case Kind::Wanted:
    // One that was cancelled is not sent: the job has failed.
    if (SocketOperation *operation = takeAwaited(wanted, header.id)) {
      Header data = header;
      data.kind = Kind::Data;
      push(data, operation->data, operation->bytes, operation);
    }
    return;
  case Kind::Data:
    receiving = takeAwaited(coming, header.id);
    if (receiving)
      checkSize(header, *receiving);
    target = receiving ? receiving->data : nullptr;
    isInPayload = true;
    break;
  case Kind::Told:
    if (header.bytes > kMostTold)
      throw CommunicationError("what a rank tells has " +
                               std::to_string(header.bytes) + " bytes");
    telling.resize(header.bytes);
    target = telling.data();
    isInPayload = true;
    break;
  default:
    throw CommunicationError("a message is of no known kind");
  }
  if (header.bytes == 0)
    endPayload();
}

void SocketConnection::takePayload(const char *from, size_t bytes) {
  if (target && bytes)
    std::memcpy(target + payloadRead, from, bytes);
  payloadRead += bytes;
  if (payloadRead == header.bytes)
    endPayload();
}

void SocketConnection::endPayload() {
  isInPayload = false;
  if (receiving)
    receiving->isDone = true;
  receiving = nullptr;
  if (header.kind == Kind::Told)
    told.emplace_back(telling.begin(), telling.end());
  if (!filling)
    return;
  Early *message = std::exchange(filling, nullptr);
  message->isComplete = true;
  SocketOperation *operation = message->operation;
  if (!operation)
    return;
  if (operation->bytes)
    std::memcpy(operation->data, message->data.data(), operation->bytes);
  operation->isDone = true;
  const auto found =
      std::find_if(early.begin(), early.end(),
                   [&](const auto &each) { return each.get() == message; });
  unusedEarly.push_back(std::move(*found));
  early.erase(found);
}

/// Takes what is in the input; true where it needs more.
bool SocketConnection::read() {
  while (inputBegin < inputEnd) {
    const size_t there = inputEnd - inputBegin;
    if (isInPayload) {
      const auto bytes =
          size_t(std::min<uint64_t>(there, header.bytes - payloadRead));
      takePayload(input.data() + inputBegin, bytes);
      inputBegin += bytes;
      continue;
    }
    if (there < sizeof(Header))
      break;
    std::memcpy(&header, input.data() + inputBegin, sizeof(Header));
    inputBegin += sizeof(Header);
    takeHeader();
  }
  if (inputBegin == inputEnd)
    inputBegin = inputEnd = 0;
  return true;
}

/// Reads once; whether there may be more.
bool SocketConnection::readSome() {
  // A long payload goes to where it belongs.
  const bool isDirect = isInPayload && target && inputBegin == inputEnd &&
                        header.bytes - payloadRead > kInputBytes / 2;
  if (inputBegin > 0 && !isDirect) {
    std::memmove(input.data(), input.data() + inputBegin,
                 inputEnd - inputBegin);
    inputEnd -= inputBegin;
    inputBegin = 0;
  }
  char *to = isDirect ? target + payloadRead : input.data() + inputEnd;
  const size_t room =
      isDirect ? size_t(header.bytes - payloadRead) : input.size() - inputEnd;
  const ssize_t got = ::recv(socket.number(), to, room, 0);
  if (got == 0)
    return end("it was closed");
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR)
      end(std::strerror(errno));
    return false;
  }
  if (isDirect) {
    payloadRead += uint64_t(got);
    if (payloadRead == header.bytes)
      endPayload();
    return true;
  }
  inputEnd += size_t(got);
  return read();
}

bool SocketConnection::advance(bool canRead) {
  if (!isOpen())
    return false;
  for (int i = 0; canRead && i < kReads && readSome();)
    ++i;
  if (isOpen())
    write();
  return isOpen();
}
