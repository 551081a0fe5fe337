#include "communicator/InProcessCommunicator.h"

#include <cstring>

namespace zrt::in_process {

Communicator::Ticket
InProcessCommunicator::startMail(Collective kind,
                                 const std::vector<Transfer> &parts) {
  const bool isSend = kind == Collective::Send;
  const int peer = parts.size() == 1 ? parts.front().root : rank_;
  if (peer == rank_ || peer < 0 || peer >= group_->ranks)
    fail(std::string(isSend ? "send to" : "receive from") + " rank " +
         std::to_string(peer) + " in " + std::to_string(parts.size()) +
         " parts, on rank " + std::to_string(rank_) + " of " +
         std::to_string(group_->ranks) +
         ": wanted one part, and another rank of the group");
  std::unique_lock<std::mutex> lock(world_.mutex);
  if (world_.failed) {
    lock.unlock();
    world_.throwFailure();
  }
  const Ticket ticket = kMailTicket | startedMail_++;
  StartedMail &started = mail_[ticket];
  started.isSend = isSend;
  started.peer = peer;
  started.transfer = parts.front();
  if (isSend) {
    started.mail = std::make_shared<Mail>();
    started.mail->transfer = parts.front();
    group_->mail[{rank_, peer, parts.front().lane}].send(started.mail);
    world_.changed.notify_all();
  } else {
    started.number = group_->mail[{peer, rank_, parts.front().lane}].expect();
  }
  return ticket;
}

std::string
InProcessCommunicator::describeMail(const StartedMail &started) const {
  return std::string(started.isSend ? "a send of " : "a receive of ") +
         std::to_string(started.transfer.count) + " x " +
         nameOf(started.transfer.type) + (started.isSend ? " to" : " from") +
         " rank " + std::to_string(started.peer) + " of a group of " +
         std::to_string(group_->ranks) + " ranks, on rank " +
         std::to_string(rank_);
}

/// Copies what was sent. \pre The lock is not held.
void InProcessCommunicator::take(const StartedMail &started, Mail &mail) {
  const Transfer &from = mail.transfer, &to = started.transfer;
  if (from.count != to.count || from.type != to.type)
    fail(describeMail(started) + ": the other rank sends " +
         std::to_string(from.count) + " x " + nameOf(from.type));
  ++world_.working;
  if (!world_.failed && to.count > 0)
    std::memcpy(to.receive, from.send, to.count * sizeOf(to.type));
  --world_.working;
  std::lock_guard<std::mutex> lock(world_.mutex);
  mail.isTaken = true;
  group_->mail[{started.peer, rank_, started.transfer.lane}].discardTaken();
  world_.changed.notify_all();
}

void InProcessCommunicator::waitForMail(StartedMail &started) {
  bool noticed = false;
  const auto complete = [&] {
    if (!started.isSend && !started.mail)
      started.mail =
          group_->mail[{started.peer, rank_, started.transfer.lane}].find(
              started.number);
    return world_.failed ||
           (started.mail && (!started.isSend || started.mail->isTaken));
  };
  const auto describe = [&](double seconds) {
    return describeMail(started) + ": rank " + std::to_string(started.peer) +
           (started.isSend ? " did not receive it within "
                           : " did not send it within ") +
           formatSeconds(seconds);
  };
  awaitPeers(
      complete,
      [&] {
        if (group_->left[started.peer])
          world_.fail(describeMail(started) + ": rank " +
                      std::to_string(started.peer) + " left without " +
                      (started.isSend ? "receiving it" : "sending it"));
      },
      describe, noticed);
  if (!world_.failed && !started.isSend)
    take(started, *started.mail);
  if (world_.failed)
    world_.throwFailure();
}

} // namespace zrt::in_process
