#include "store/own_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/lower.h"

namespace tempo9::store {
namespace fs = std::filesystem;

namespace {

constexpr const char* kDescription = "model.json";

// "owner/repo:variant" to owner/repo/variant. The parts were checked when the name was read.
fs::path folder_of(const std::string& root, std::string name) {
  std::replace(name.begin(), name.end(), ':', '/');
  return fs::path(root) / name;
}

using Json = nlohmann::json;

// The file of an entry, which lies beside the description whatever it says, and its size.
std::optional<std::pair<fs::path, uint64_t>> file_of(const fs::path& description,
                                                     const Json& entry) {
  const auto name = entry.is_object() ? entry.value("name", Json()) : Json();
  if (!name.is_string()) return std::nullopt;
  const fs::path path = description.parent_path() / fs::path(name.get<std::string>()).filename();
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return std::nullopt;
  return std::pair(path, size);
}

std::optional<OwnModel> read(const fs::path& description) {
  std::error_code error;
  if (!fs::is_regular_file(description, error)) return std::nullopt;  // a pipe would not end
  std::ifstream file(description);
  const auto json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return std::nullopt;
  OwnModel model;
  model.name = json["name"];
  if (model.name.empty()) return std::nullopt;
  for (const auto& entry : json.value("files", Json::array())) {
    const auto found = file_of(description, entry);
    if (!found) return std::nullopt;
    model.n_bytes += found->second;
    if (model.path.empty()) model.path = found->first.string();
  }
  if (model.path.empty()) return std::nullopt;
  // A companion that was taken away leaves the model as it is.
  for (const auto& entry : json.value("companions", Json::array())) {
    const auto found = file_of(description, entry);
    const auto role = entry.is_object() ? entry.value("role", Json()) : Json();
    if (!found || !role.is_string()) continue;
    model.n_bytes += found->second;
    model.companions.push_back(role.get<std::string>());
  }
  return model;
}

}  // namespace

std::vector<OwnModel> OwnStore::list() const {
  std::vector<OwnModel> models;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder_, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    // A name has a variant, so a model lies two folders deep at least.
    if (entry.depth() < 2 || entry->path().filename() != kDescription) continue;
    if (auto model = read(entry->path())) models.push_back(std::move(*model));
  }
  std::sort(models.begin(), models.end(),
            [](const OwnModel& a, const OwnModel& b) { return a.name < b.name; });
  return models;
}

std::vector<OwnModel> OwnStore::list_broken() const {
  std::map<fs::path, OwnModel> by_folder;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder_, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    // A name has a variant, so a model lies two folders deep at least.
    if (entry.depth() < 2 || !entry->is_regular_file(ignored)) continue;
    const fs::path folder = entry->path().parent_path();
    OwnModel& model = by_folder[folder];
    model.path = entry->path().string();
    const auto n_bytes = entry->file_size(ignored);
    if (!ignored) model.n_bytes += n_bytes;
  }
  std::vector<OwnModel> models;
  for (auto& [folder, model] : by_folder) {
    if (read(folder / kDescription)) continue;
    model.name = folder.parent_path().lexically_relative(folder_).generic_string() + ":" +
                 folder.filename().string();
    models.push_back(std::move(model));
  }
  return models;
}

Result<OwnModel> OwnStore::find(std::string_view name) const { return pick(list(), name); }

Result<OwnModel> OwnStore::pick(std::vector<OwnModel> models, std::string_view name) const {
  const std::string wanted = lower(name);
  std::vector<OwnModel> fitting;
  std::vector<std::string> names;
  for (OwnModel& model : models) {
    const std::string full = lower(model.name);
    if (full == wanted) return model;
    names.push_back(model.name);
    if (full.substr(0, full.find(':')) == wanted) fitting.push_back(std::move(model));
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.size() > 1) {
    names.clear();
    for (const OwnModel& model : fitting) names.push_back(model.name);
    return make_error(ErrorCode::kInvalidArgument, "{}: found several, expected one of {}", name,
                      fmt::join(names, ", "));
  }
  return make_error(ErrorCode::kNotFound, "{}: not in {}; {}", name, folder_,
                    names.empty() ? "it holds no model (`tempo9 pull` fetches one)"
                                  : fmt::format("it holds {}", fmt::join(names, ", ")));
}

Result<std::string> OwnStore::prepare(const RemoteModel& model) const {
  const fs::path folder = folder_of(folder_, model.name);
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return folder.string();
  return make_error(ErrorCode::kIo, "{}: cannot make it: {}", folder.string(), error.message());
}

Result<OwnModel> OwnStore::finish(const RemoteModel& model) const {
  const fs::path folder = folder_of(folder_, model.name);
  Json json = {{"name", model.name}, {"files", Json::array()}, {"companions", Json::array()}};
  const auto entry = [](const RemoteFile& file) {
    return Json{{"name", file.name}, {"n_bytes", file.n_bytes}, {"sha256", file.sha256}};
  };
  for (const RemoteFile& file : model.files) json["files"].push_back(entry(file));
  for (const RemoteFile& file : model.companions) {
    json["companions"].push_back(entry(file));
    json["companions"].back()["role"] = file.role;
  }
  const fs::path fresh = folder / "model.json.new";
  std::ofstream out(fresh);
  out << json.dump(1) << '\n';
  out.close();
  std::error_code error;
  if (out) fs::rename(fresh, folder / kDescription, error);
  auto whole = !out || error ? std::nullopt : read(folder / kDescription);
  if (whole) return *std::move(whole);
  return make_error(ErrorCode::kIo, "{}: cannot write {}", folder.string(), kDescription);
}

Result<OwnModel> OwnStore::remove(std::string_view name) const {
  auto model = find(name);
  if (!model && model.error().code == ErrorCode::kNotFound) {
    auto broken = pick(list_broken(), name);
    if (broken || broken.error().code != ErrorCode::kNotFound) model = std::move(broken);
  }
  if (!model) return model;
  std::error_code error;
  fs::path folder = fs::path(model->path).parent_path();
  fs::remove(folder / kDescription, error);  // first: half a model is none
  // Its files alone: the folders below are other models'.
  std::vector<fs::path> files;
  fs::directory_iterator entry;
  if (!error) entry = fs::directory_iterator(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) files.push_back(entry->path());
  }
  for (const fs::path& file : files) {
    if (!error) fs::remove(file, error);
  }
  if (error) {
    return make_error(ErrorCode::kIo, "{}: cannot remove it: {}", folder.string(), error.message());
  }
  // Folders that hold nothing any more; one that does refuses to go.
  for (; folder != fs::path(folder_) && !error; folder = folder.parent_path()) {
    fs::remove(folder, error);
  }
  return model;
}

}  // namespace tempo9::store
