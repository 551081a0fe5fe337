// Messages between ranks of one process, in the order in which they are sent,
// between each two ranks on each lane.
#ifndef ZERO_RUNTIME_COMMUNICATOR_INPROCESSMAIL_H
#define ZERO_RUNTIME_COMMUNICATOR_INPROCESSMAIL_H

#include "communicator/Communicator.h"

#include <deque>
#include <map>
#include <tuple>

namespace zrt {

/// A message, from its send until it was received. Its bytes stay where the
/// sender has them.
struct Mail {
  Transfer transfer;
  bool isTaken = false;
};

/// Messages from one rank to another on one lane. Several sends, and several
/// receives, may be started before their waits: message i is for receive i.
class MailBox {
public:
  void send(std::shared_ptr<Mail> mail) { waiting.push_back(std::move(mail)); }
  /// The number of the message that the next receive gets.
  uint64_t expect() { return expected++; }
  /// Message `number`; null where it has not been sent.
  std::shared_ptr<Mail> find(uint64_t number) const {
    return number < first + waiting.size() ? waiting[number - first] : nullptr;
  }
  /// Forgets the messages in front that were taken.
  void discardTaken() {
    for (; !waiting.empty() && waiting.front()->isTaken; ++first)
      waiting.pop_front();
  }

private:
  std::deque<std::shared_ptr<Mail>> waiting;
  uint64_t first = 0, expected = 0;
};

/// A send or receive that a rank has started and not waited for.
struct StartedMail {
  bool isSend = false;
  int peer = 0;
  std::shared_ptr<Mail> mail; ///< of a send
  Transfer transfer;          ///< of a receive
  uint64_t number = 0;        ///< of the message that a receive gets
};

/// By sender, receiver and lane.
using MailBoxes = std::map<std::tuple<int, int, uint32_t>, MailBox>;

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_INPROCESSMAIL_H
