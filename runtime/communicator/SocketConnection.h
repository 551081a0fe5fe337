// The messages of two processes over one connection.
#ifndef ZERO_RUNTIME_COMMUNICATOR_SOCKETCONNECTION_H
#define ZERO_RUNTIME_COMMUNICATOR_SOCKETCONNECTION_H

#include "communicator/Socket.h"

#include <memory>
#include <string>
#include <vector>

namespace zrt::processes {

/// A message that is sent or received. `context` is of a wire.
struct SocketOperation {
  uint32_t context = 0, tag = 0;
  char *data = nullptr;
  uint64_t bytes = 0;
  bool isDone = false;
};

/// Messages of one context and tag arrive in the order of their sends, and are
/// for receives in their order. Short ones are sent at once, and wait where no
/// receive is there yet. Long ones are announced, and sent once their receive
/// is there, so that nothing is kept twice. What is told has no receive.
class SocketConnection {
public:
  explicit SocketConnection(Socket socket);

  int descriptor() const { return socket.number(); }
  bool isOpen() const { return socket.isOpen(); }
  bool hasToWrite() const {
    return isOpen() && !isBroken && nextFrame < frames.size();
  }

  /// Operations are borrowed until they are done or cancelled.
  void send(SocketOperation &operation);
  /// Throws CommunicationError where the message has another size.
  void receive(SocketOperation &operation);
  void cancel(SocketOperation &operation);
  /// Sends `bytes`, which stay, to whoever hears.
  void tell(const void *from, uint64_t bytes);
  /// The next notice of the other side, in its order; empty: there is none.
  std::string hear();

  /// Writes and reads what can be without waiting. False where the connection
  /// has ended, and is closed.
  bool advance(bool canRead);
  /// Says that nothing more is sent.
  void endWriting();
  /// Why it has ended, as the system says it.
  const std::string &reason() const { return endReason; }

private:
  enum class Kind : uint32_t { Whole, Announced, Wanted, Data, Told };
  struct Header {
    Kind kind = Kind::Whole;
    uint32_t context = 0, tag = 0, unused = 0;
    uint64_t bytes = 0; ///< of the message
    uint64_t id = 0;    ///< of one that is announced, as its sender counts
  };
  struct Frame {
    Header header;
    const char *payload = nullptr;
    uint64_t bytes = 0; ///< of the payload
    uint64_t written = 0;
    SocketOperation *operation = nullptr;
    std::vector<char> kept; ///< of an operation that was cancelled
  };
  /// A message whose receive is not there yet.
  struct Early {
    Header header;
    std::vector<char> data;
    bool isComplete = false;
    SocketOperation *operation = nullptr; ///< came while it was read
  };
  struct Awaited {
    uint64_t id = 0;
    SocketOperation *operation = nullptr; ///< null: it was cancelled
  };

  void push(const Header &header, const void *payload, uint64_t bytes,
            SocketOperation *operation);
  void write();
  bool read();
  bool readSome();
  void takeHeader();
  void takePayload(const char *from, size_t bytes);
  void endPayload();
  Early &addEarly();
  void beginWhole();
  void acceptLong(const Header &header, SocketOperation &operation);
  SocketOperation *takePosted(const Header &header);
  static void checkSize(const Header &header, const SocketOperation &operation);
  bool end(const std::string &why);

  Socket socket;
  std::string endReason;
  // The state of writing.
  std::vector<Frame> frames;
  size_t nextFrame = 0;
  bool isBroken = false; ///< the other side takes nothing more
  uint64_t announced = 0;
  std::vector<Awaited> wanted; ///< sends that were announced
  // The state of reading.
  std::vector<char> input;
  size_t inputBegin = 0, inputEnd = 0;
  Header header;
  bool isInPayload = false;
  uint64_t payloadRead = 0;
  char *target = nullptr; ///< of the payload; null: it is skipped
  SocketOperation *receiving = nullptr;
  std::vector<SocketOperation *> posted;
  std::vector<Awaited> coming; ///< receives of what was announced
  std::vector<std::unique_ptr<Early>> early, unusedEarly;
  Early *filling = nullptr;
  std::vector<char> telling;
  std::vector<std::string> told;
};

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_SOCKETCONNECTION_H
