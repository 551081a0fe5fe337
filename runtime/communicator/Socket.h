// TCP, as far as processes of one job use it.
#ifndef ZERO_RUNTIME_COMMUNICATOR_SOCKET_H
#define ZERO_RUNTIME_COMMUNICATOR_SOCKET_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace zrt::processes {

/// The end of a wait, and what is to be done while it lasts: it may throw.
struct Patience {
  /// None: the wait has no end.
  std::chrono::steady_clock::time_point end =
      std::chrono::steady_clock::time_point::max();
  std::function<void()> look = nullptr;

  bool isOver() const { return std::chrono::steady_clock::now() > end; }
};

/// A socket that does not block. Functions throw CommunicationError with the
/// system's text.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket();

  bool isOpen() const { return descriptor >= 0; }
  int number() const { return descriptor; }

  /// Listens on `port` of all interfaces; on any free one where it is 0.
  static Socket listen(uint16_t port, int backlog);
  uint16_t port() const;
  /// The next one that connects; none is open where nobody does.
  Socket accept() const;
  /// Connects, and tries again while nobody listens there. `who` is for
  /// messages: "rank 0".
  static Socket connect(const std::string &host, uint16_t port,
                        const std::string &who, const Patience &patience);
  /// The address of the other side, without its port: "10.0.0.7".
  std::string peer() const;

  /// All of it, or an error.
  void sendAll(const void *from, size_t bytes, const Patience &patience) const;
  /// All of it; false where the other side has ended before.
  bool receiveAll(void *to, size_t bytes, const Patience &patience) const;

private:
  int descriptor = -1;
};

/// "127.0.0.1", "::1" and the like: the machine itself, whoever says it.
bool isLoopback(const std::string &address);

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_SOCKET_H
