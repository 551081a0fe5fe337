#include "communicator/Socket.h"

#include "communicator/Communicator.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace zrt;
using namespace zrt::processes;

/// How often waits look around, in milliseconds.
static constexpr int kLookEvery = 50;
/// After which another address is tried, or the same one again.
static constexpr auto kConnectTime = std::chrono::seconds(10);

[[noreturn]] static void fail(const std::string &what, int code) {
  throw CommunicationError(what + ": " + std::strerror(code));
}

Socket::~Socket() {
  if (isOpen())
    ::close(descriptor);
}

static void setOption(int descriptor, int level, int name, int value) {
  // One that the system lacks costs time, or the news of a machine that is
  // gone.
  (void)::setsockopt(descriptor, level, name, &value, sizeof(value));
}

/// Small messages leave at once. A machine that is gone is noticed within half
/// a minute where nothing is under way to it, and else by who waits too long.
static void prepare(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL, 0);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0)
    fail("a socket that does not block", errno);
  setOption(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

/// Binds a socket of `family`; 0, or the system's error.
static int bindTo(int family, int descriptor, uint16_t port) {
  if (family == AF_INET6) {
    setOption(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_in6 address = {};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_any;
    address.sin6_port = htons(port);
    return ::bind(descriptor, reinterpret_cast<sockaddr *>(&address),
                  sizeof(address))
               ? errno
               : 0;
  }
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
  return ::bind(descriptor, reinterpret_cast<sockaddr *>(&address),
                sizeof(address))
             ? errno
             : 0;
}

Socket Socket::listen(uint16_t port, int backlog) {
  int code = 0;
  for (int family : {AF_INET6, AF_INET}) {
    Socket made(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!made.isOpen()) {
      code = errno;
      continue;
    }
    setOption(made.number(), SOL_SOCKET, SO_REUSEADDR, 1);
    code = bindTo(family, made.number(), port);
    if (!code && ::listen(made.number(), backlog))
      code = errno;
    if (!code) {
      prepare(made.number());
      return made;
    }
    if (code == EADDRINUSE)
      break;
  }
  fail("cannot listen on port " + std::to_string(port), code);
}

uint16_t Socket::port() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (::getsockname(descriptor, reinterpret_cast<sockaddr *>(&address), &size))
    fail("getsockname", errno);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                   : reinterpret_cast<sockaddr_in &>(address).sin_port);
}

Socket Socket::accept() const {
  Socket made(::accept4(descriptor, nullptr, nullptr, SOCK_CLOEXEC));
  if (made.isOpen())
    prepare(made.number());
  else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
    fail("accept", errno);
  return made;
}

/// Waits until a socket is ready, or a moment has passed.
static void await(int descriptor, short events, const Patience &patience,
                  const char *what) {
  pollfd entry = {descriptor, events, 0};
  if (::poll(&entry, 1, kLookEvery) < 0 && errno != EINTR)
    fail("poll", errno);
  if (entry.revents)
    return;
  if (patience.look)
    patience.look();
  if (patience.isOver())
    throw CommunicationError(std::string(what) + " takes too long");
}

/// Waits until a connection is there or refused; the error, or 0.
static int finishConnecting(int descriptor, const Patience &patience) {
  const auto end = std::chrono::steady_clock::now() + kConnectTime;
  for (;;) {
    pollfd entry = {descriptor, POLLOUT, 0};
    if (::poll(&entry, 1, kLookEvery) == 1) {
      int code = 0;
      socklen_t size = sizeof(code);
      ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size);
      return code;
    }
    if (patience.look)
      patience.look();
    if (patience.isOver() || std::chrono::steady_clock::now() > end)
      return ETIMEDOUT;
  }
}

/// Tries each address of a host once; the error of the last one, or 0.
static int connectOnce(const addrinfo *addresses, Socket &made,
                       const Patience &patience) {
  int code = ECONNREFUSED;
  for (const addrinfo *at = addresses; at; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0));
    if (!socket.isOpen()) {
      code = errno;
      continue;
    }
    prepare(socket.number());
    code = ::connect(socket.number(), at->ai_addr, at->ai_addrlen) ? errno : 0;
    if (code == EINPROGRESS)
      code = finishConnecting(socket.number(), patience);
    if (!code) {
      made = std::move(socket);
      return 0;
    }
  }
  return code;
}

Socket Socket::connect(const std::string &host, uint16_t port,
                       const std::string &who, const Patience &patience) {
  const std::string place =
      who + " at " + host + ", port " + std::to_string(port);
  for (;;) {
    addrinfo hints = {}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(),
                                     &hints, &found);
    if (status && status != EAI_AGAIN)
      throw CommunicationError("cannot find " + place + ": " +
                               ::gai_strerror(status));
    const std::unique_ptr<addrinfo, void (*)(addrinfo *)> addresses(
        found, [](addrinfo *each) {
          if (each)
            ::freeaddrinfo(each);
        });
    Socket made;
    const int code =
        status ? EAGAIN : connectOnce(addresses.get(), made, patience);
    if (!code)
      return made;
    if (patience.isOver())
      fail("cannot reach " + place, code);
    if (patience.look)
      patience.look();
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookEvery));
  }
}

std::string Socket::peer() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  char text[NI_MAXHOST] = "";
  if (::getpeername(descriptor, reinterpret_cast<sockaddr *>(&address), &size))
    fail("getpeername", errno);
  const int status =
      ::getnameinfo(reinterpret_cast<sockaddr *>(&address), size, text,
                    sizeof(text), nullptr, 0, NI_NUMERICHOST);
  if (status)
    throw CommunicationError(std::string("getnameinfo: ") +
                             ::gai_strerror(status));
  // What an IPv4 address is called on a socket of both.
  const std::string mapped = "::ffff:", found = text;
  return found.rfind(mapped, 0) == 0 ? found.substr(mapped.size()) : found;
}

void Socket::sendAll(const void *from, size_t bytes,
                     const Patience &patience) const {
  const auto *next = static_cast<const char *>(from);
  while (bytes > 0) {
    const ssize_t sent = ::send(descriptor, next, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
      fail("send", errno);
    if (sent < 0) {
      await(descriptor, POLLOUT, patience, "sending");
      continue;
    }
    next += sent;
    bytes -= size_t(sent);
  }
}

bool Socket::receiveAll(void *to, size_t bytes,
                        const Patience &patience) const {
  auto *next = static_cast<char *>(to);
  while (bytes > 0) {
    const ssize_t got = ::recv(descriptor, next, bytes, 0);
    if (got == 0 || (got < 0 && errno == ECONNRESET))
      return false;
    if (got < 0 && errno != EAGAIN && errno != EINTR)
      fail("recv", errno);
    if (got < 0) {
      await(descriptor, POLLIN, patience, "an answer");
      continue;
    }
    next += got;
    bytes -= size_t(got);
  }
  return true;
}

bool zrt::processes::isLoopback(const std::string &address) {
  return address == "::1" || address.rfind("127.", 0) == 0;
}
