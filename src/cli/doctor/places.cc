#include "cli/doctor/places.h"

#include <arpa/inet.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/show_text.h"
#include "store/http_client.h"
#include "store/ollama.h"

namespace tempo9::cli {
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kProbeLimit{400};  // for one question; there are three at most

// What can be known of a folder that may not be there yet.
struct Place {
  std::string existing;  // the folder itself, or the nearest one above it
  std::string trouble;   // why nothing can be written there; empty: it can
  uint64_t free_bytes = 0;
};

Place look_at(const std::string& folder) {
  Place place;
  std::error_code error;
  fs::path path = fs::absolute(folder, error);
  while (!error && !fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  place.existing = path.string();
  if (error) {
    place.trouble = fmt::format("{}: {}", place.existing, error.message());
  } else if (!fs::is_directory(path, error)) {
    place.trouble = fmt::format("{} is no folder", place.existing);
  } else if (::access(path.c_str(), W_OK | X_OK) != 0) {
    place.trouble = fmt::format("{}: {}", place.existing, std::strerror(errno));
  }
  if (const auto space = fs::space(path, error); !error) place.free_bytes = space.available;
  return place;
}

uint64_t bytes_in(const std::string& folder) {
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const auto size = entry->file_size(ignored);
    if (!ignored) total += size;
  }
  return total;
}

// 0, or why it cannot be listened on.
int try_port(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));  // as the server does
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const bool ok = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
                  ::listen(fd, 1) == 0;
  const int trouble = ok ? 0 : errno;
  ::close(fd);
  return trouble;
}

nlohmann::json ask(uint16_t port, const char* path) {
  const auto reply =
      store::http_get_here(fmt::format("http://127.0.0.1:{}{}", port, path), kProbeLimit);
  if (!reply) return nullptr;
  auto json = nlohmann::json::parse(reply->body, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto value = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && value != object.end() && value->is_string()
             ? value->get<std::string>()
             : std::string();
}

struct Listener {
  std::string kind;  // "tempo9", "ollama", "http", "other"
  std::string text;
};

// As far as it says so itself; a server that wants a key tells no more than its health.
Listener who_listens(uint16_t port) {
  const nlohmann::json version = ask(port, "/api/version");
  if (version.is_null()) return {"other", "a program that does not speak HTTP"};
  const std::string number = text_in(version, "version");
  if (number.find("tempo9") != std::string::npos) {
    const nlohmann::json models = ask(port, "/v1/models");
    std::string name;
    if (models.is_object() && models.contains("data") && models["data"].is_array() &&
        !models["data"].empty()) {
      name = text_in(models["data"][0], "id");
    }
    return {"tempo9", name.empty() ? "a Tempo9 that loads its model"
                                   : fmt::format("a Tempo9 that serves {}", name)};
  }
  if (!number.empty()) return {"ollama", fmt::format("an Ollama, version {}", number)};
  const std::string health = text_in(ask(port, "/health"), "status");
  if (health == "ok" || health == "loading" || health == "draining") {
    return {"http", "a model server (perhaps a Tempo9) that asks for a key or tells no version"};
  }
  return {"http", "another HTTP server"};
}

bool is_readable_model(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  return file.read(magic, sizeof(magic)) && std::memcmp(magic, "GGUF", sizeof(magic)) == 0;
}

}  // namespace

Check check_kv_disk(const std::string& folder, uint64_t cap_bytes) {
  Check check{.name = "kv-disk"};
  if (folder.empty()) {
    check.found = "off: computed prompts are gone when the server ends";
    check.details = {{"enabled", false}};
    return check;
  }
  const Place place = look_at(folder);
  const uint64_t used = bytes_in(folder);
  check.found = fmt::format("{}: {} of at most {} taken, {} free on that disk", folder,
                            byte_size(used), byte_size(cap_bytes), byte_size(place.free_bytes));
  check.details = {
      {"enabled", true},    {"folder", folder},       {"writable", place.trouble.empty()},
      {"used_bytes", used}, {"cap_bytes", cap_bytes}, {"free_bytes", place.free_bytes}};
  if (!place.trouble.empty()) {
    check.level = Level::kWarn;
    check.found = fmt::format("{} cannot be written: {}", folder, place.trouble);
    check.expected = "a folder to keep computed prompts in; the server starts without";
    check.advice = "AS_KV_OFFLOAD_PATH moves it, AS_KV_OFFLOAD=0 turns it off";
  } else if (used < cap_bytes && place.free_bytes < cap_bytes - used) {
    check.level = Level::kWarn;
    check.expected = fmt::format(
        "{} more, up to its cap; a full disk is served on, but keeps "
        "nothing new",
        byte_size(cap_bytes - used));
    check.advice = fmt::format("AS_KV_OFFLOAD_GB={:.1f} or less, or make room",
                               static_cast<double>(used + place.free_bytes) / 2e9);
  }
  return check;
}

Check check_models_folder(const std::string& folder, uint64_t n_bytes) {
  Check check{.name = "models"};
  const Place place = look_at(folder);
  check.found = fmt::format("{}: {} free on that disk", folder, byte_size(place.free_bytes));
  check.details = {{"folder", folder},
                   {"writable", place.trouble.empty()},
                   {"free_bytes", place.free_bytes},
                   {"needed_bytes", n_bytes}};
  if (!place.trouble.empty()) {
    check.level = n_bytes > 0 ? Level::kFail : Level::kWarn;
    check.found = fmt::format("{} cannot be written: {}", folder, place.trouble);
    check.expected = "a folder for what `tempo9 pull` fetches";
    check.advice = "XDG_DATA_HOME moves it";
  } else if (place.free_bytes < n_bytes) {
    check.level = Level::kFail;
    check.expected = fmt::format("{} for the model that was asked for", byte_size(n_bytes));
    check.advice = "make room (`tempo9 list`, `tempo9 rm`), or move it with XDG_DATA_HOME";
  }
  return check;
}

Check check_port(uint16_t port) {
  Check check{.name = "port"};
  const int trouble = try_port(port);
  check.details = {{"port", port}, {"free", trouble == 0}, {"listener", ""}};
  if (trouble == 0) {
    check.found = fmt::format("{} is free", port);
    return check;
  }
  check.level = Level::kFail;
  check.expected = "a port that a server can listen on";
  check.advice = "another one: --port";
  if (trouble != EADDRINUSE) {
    check.found = fmt::format("{}: {}", port, std::strerror(trouble));
    if (trouble == EACCES) check.advice = "one of 1024 or more: --port";
    return check;
  }
  const Listener listener = who_listens(port);
  check.found = fmt::format("{} is taken by {}", port, listener.text);
  check.details["listener"] = listener.kind;
  if (listener.kind == "tempo9") {
    check.level = Level::kWarn;
    check.advice = fmt::format(
        "use it, at http://127.0.0.1:{}/v1, or give a second one another "
        "--port",
        port);
  }
  return check;
}

Check check_ollama(const std::string& folder) {
  Check check{.name = "ollama"};
  std::error_code error;
  const bool is_there = fs::is_directory(folder, error);
  const bool can_be_read = is_there && ::access(folder.c_str(), R_OK | X_OK) == 0;
  const auto models = can_be_read ? store::list_ollama(folder) : std::vector<store::OllamaModel>{};
  std::vector<std::string> names, unreadable;
  for (const store::OllamaModel& model : models) {
    (is_readable_model(model.path) ? names : unreadable).push_back(model.name);
  }
  check.details = {
      {"folder", folder}, {"found", is_there}, {"models", names}, {"unreadable", unreadable}};
  if (!is_there) {
    check.found = fmt::format("no store at {}", folder);
  } else if (!can_be_read) {
    check.level = Level::kWarn;
    check.found = fmt::format("{} cannot be read: {}", folder, std::strerror(EACCES));
  } else {
    check.found =
        fmt::format("{}: {} {}", folder, names.size(), names.size() == 1 ? "model" : "models");
  }
  if (!unreadable.empty()) {
    check.level = Level::kWarn;
    check.found += fmt::format(", {} that cannot be read or are no GGUF files: {}",
                               unreadable.size(), fmt::join(unreadable, ", "));
  }
  if (check.level != Level::kOk) {
    check.expected = "files that this user may read";
    check.advice =
        "join the group that owns the store, or fetch such a model again (`ollama pull`); it is "
        "never written to";
  }
  return check;
}

}  // namespace tempo9::cli
