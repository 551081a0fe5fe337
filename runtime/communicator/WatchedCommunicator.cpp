#include "communicator/WatchedCommunicator.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace zrt;

namespace {

/// The id of the group of all ranks.
constexpr uint64_t kWorld = 1;

uint64_t mixed(uint64_t id, uint64_t value) {
  id = (id ^ value) * 0x9e3779b97f4a7c15ull;
  return id ^ id >> 31;
}

uint64_t hashOf(const OperationSignature &signature) {
  uint64_t hash = mixed(signature.hash, signature.elements);
  for (const char *letter = signature.meeting.name(); *letter; ++letter)
    hash = mixed(hash, uint64_t(*letter));
  return mixed(hash, uint64_t(signature.reduction));
}

/// What an operation is written down as: the command that this thread runs, or
/// something of its own.
class Place {
public:
  template <class Text>
  Place(FlightRecorder &recorder, FlightKind kind, Text text) {
    FlightOperation *const current = FlightOperation::current();
    if (current && current->isCommand() && !current->hasMet())
      operation = current;
    else
      operation = &own.emplace(&recorder, kind, text());
  }
  FlightOperation *operator->() { return operation; }
  /// A command is finished by who runs it.
  void finish() {
    if (own)
      own->finish();
  }

private:
  std::optional<FlightOperation> own;
  FlightOperation *operation = nullptr;
};

} // namespace

WatchedCommunicator::WatchedCommunicator(Communicator &inner,
                                         FlightRecorder &recorder)
    : ForwardingCommunicator(inner), recorder(recorder), id(kWorld),
      group(recorder.addGroup(id, ranks(), rank())) {}

WatchedCommunicator::WatchedCommunicator(std::unique_ptr<Communicator> part,
                                         FlightRecorder &recorder, uint64_t id)
    : ForwardingCommunicator(std::move(part)), recorder(recorder), id(id),
      group(recorder.addGroup(id, ranks(), rank())) {}

FlightMeeting WatchedCommunicator::meet(uint64_t signature) {
  return {group, ++meetings, signature};
}

Communicator::Ticket
WatchedCommunicator::startOn(Stream stream, Collective kind,
                             Reduction reduction,
                             const std::vector<Transfer> &parts) {
  const OperationSignature signature = signatureOf(0, kind, reduction, parts);
  const bool isTransfer = isBetweenTwo(kind);
  Place place(recorder, isTransfer ? FlightKind::Transfer : FlightKind::Meeting,
              [&] { return describe(signature); });
  const FlightMeeting meeting =
      isTransfer ? FlightMeeting() : meet(hashOf(signature));
  // Before it is started: that may fail, and peers then ask what this was.
  place->meet(meeting);
  const Ticket ticket = inner.startOn(stream, kind, reduction, parts);
  open.push_back({ticket, kind, meeting});
  place.finish();
  return ticket;
}

void WatchedCommunicator::wait(Ticket ticket) {
  const auto found =
      std::find_if(open.begin(), open.end(),
                   [&](const Open &one) { return one.ticket == ticket; });
  Place place(recorder, FlightKind::Wait, [&] {
    return std::string("wait for ") +
           (found != open.end() ? nameOf(found->kind) : "nothing");
  });
  if (found != open.end()) {
    place->meet(found->meeting);
    open.erase(found);
  }
  inner.wait(ticket);
  place.finish();
}

/// What has no ticket: a start and a wait, one behind the other.
template <class Call>
void WatchedCommunicator::meetAtOnce(Meeting meeting, Call call) {
  const OperationSignature signature =
      signatureOf(0, meeting, Reduction::Sum, {});
  const FlightMeeting met = meet(hashOf(signature));
  FlightOperation start(&recorder, FlightKind::Meeting, meeting.name());
  start.meet(met);
  start.finish();
  FlightOperation wait(&recorder, FlightKind::Wait,
                       std::string("wait for ") + meeting.name());
  wait.meet(met);
  call();
  wait.finish();
}

void WatchedCommunicator::barrier() {
  meetAtOnce(Meeting::barrier(), [&] { inner.barrier(); });
}

std::unique_ptr<Communicator> WatchedCommunicator::split(int color, int key) {
  std::unique_ptr<Communicator> part;
  meetAtOnce(Meeting::split(), [&] { part = inner.split(color, key); });
  const uint64_t made = mixed(mixed(id, ++splits), uint64_t(color));
  return std::unique_ptr<Communicator>(
      new WatchedCommunicator(std::move(part), recorder, made));
}

std::unique_ptr<Communicator> WatchedCommunicator::makeGroup(const Mesh &mesh,
                                                             uint32_t number) {
  std::unique_ptr<Communicator> part;
  meetAtOnce(Meeting::split(), [&] { part = inner.makeGroup(mesh, number); });
  const uint64_t made =
      mixed(mixed(id, ++splits), uint64_t(mesh.numberOf(number, rank())));
  return std::unique_ptr<Communicator>(
      new WatchedCommunicator(std::move(part), recorder, made));
}
