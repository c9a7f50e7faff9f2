#include "base/cgroup.h"

#include <fstream>
#include <iterator>
#include <sstream>

namespace tempo9 {
namespace {

void append_with_parents(const std::string& root, std::string group,
                         std::vector<std::string>* out) {
  while (!group.empty() && group != "/") {
    out->push_back(root + group);
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  out->push_back(root);
}

bool lists(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == controller) {
      return true;
    }
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

std::string read_small_file(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

// Lines are "id:controllers:/group"; v2's has id 0 and no controllers.
std::vector<std::string> cgroup_folders(std::string_view controller, const CgroupPaths& paths) {
  std::vector<std::string> v1, folders;
  std::istringstream lines(read_small_file(paths.self));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      append_with_parents(paths.mount, group, &folders);
    } else if (lists(controllers, controller)) {
      append_with_parents(paths.mount + "/" + controllers, group, &v1);
      append_with_parents(paths.mount + "/" + std::string(controller), group, &v1);
    }
  }
  folders.insert(folders.end(), v1.begin(), v1.end());
  return folders;
}

}  // namespace tempo9
