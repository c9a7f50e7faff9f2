#include "store/own_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
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

std::optional<OwnModel> read(const fs::path& description) {
  std::ifstream file(description);
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return std::nullopt;
  OwnModel model;
  model.name = json["name"];
  for (const auto& entry : json.value("files", nlohmann::json::array())) {
    const auto name = entry.is_object() ? entry.value("name", nlohmann::json()) : nlohmann::json();
    if (!name.is_string()) return std::nullopt;
    const fs::path path = description.parent_path() / fs::path(name.get<std::string>()).filename();
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error) return std::nullopt;
    model.n_bytes += size;
    if (model.path.empty()) model.path = path.string();
  }
  if (model.path.empty()) return std::nullopt;
  return model;
}

}  // namespace

std::vector<OwnModel> OwnStore::list() const {
  std::vector<OwnModel> models;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder_, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() != kDescription) continue;
    if (auto model = read(entry->path())) models.push_back(std::move(*model));
  }
  std::sort(models.begin(), models.end(),
            [](const OwnModel& a, const OwnModel& b) { return a.name < b.name; });
  return models;
}

Result<OwnModel> OwnStore::find(std::string_view name) const {
  const std::string wanted = lower(name);
  std::vector<OwnModel> fitting;
  std::vector<std::string> names;
  for (OwnModel& model : list()) {
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
  nlohmann::json json = {{"name", model.name}, {"files", nlohmann::json::array()}};
  for (const RemoteFile& file : model.files) {
    json["files"].push_back(
        {{"name", file.name}, {"n_bytes", file.n_bytes}, {"sha256", file.sha256}});
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
  T9_TRY(OwnModel model, find(name));
  std::error_code error;
  fs::path folder = fs::path(model.path).parent_path();
  fs::remove(folder / kDescription, error);  // first: half a model is none
  if (!error) fs::remove_all(folder, error);
  if (error) {
    return make_error(ErrorCode::kIo, "{}: cannot remove it: {}", folder.string(), error.message());
  }
  // Folders that hold nothing any more; one that does refuses to go.
  for (folder = folder.parent_path(); folder != fs::path(folder_) && !error;
       folder = folder.parent_path()) {
    fs::remove(folder, error);
  }
  return model;
}

}  // namespace tempo9::store
