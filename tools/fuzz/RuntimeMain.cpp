#include "RuntimeTargets.h"

const std::vector<fuzz::Target> &fuzz::targets() {
  static const std::vector<Target> all = {
      programTarget(), optionsTarget(), weightsTarget(), arraysTarget(),
      tokensTarget(),  npyTarget(),     messagesTarget()};
  return all;
}
