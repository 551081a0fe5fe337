#include "Modules.h"

#include <fstream>
#include <sstream>

using namespace zrt::ptx;

static std::string readFile(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw Unreadable(path + ": cannot be read; build the tests again");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const std::vector<std::unique_ptr<Module>> &zrt::ptx::modules() {
  static const std::vector<std::unique_ptr<Module>> all = [] {
    std::vector<std::unique_ptr<Module>> made;
    std::istringstream paths(ZERO_PTX_FILES);
    for (std::string path; std::getline(paths, path, ':');) {
      const std::string name = path.substr(path.rfind('/') + 1);
      made.push_back(std::make_unique<Module>(name, readFile(path)));
    }
    return made;
  }();
  return all;
}

Entry &zrt::ptx::entryNamed(const std::string &name) {
  for (const auto &each : modules())
    if (Entry *found = each->find(name))
      return *found;
  throw Unreadable("no file of PTX has the kernel '" + name + "'");
}

std::vector<std::string> zrt::ptx::unreachedEntries() {
  std::vector<std::string> names;
  for (const auto &each : modules())
    for (const std::string &name : each->names())
      if (name.compare(0, 7, "_ZN3cub") && !each->wasRun(name))
        names.push_back(each->name() + ": " + name);
  return names;
}
