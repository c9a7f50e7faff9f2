#include "store/ollama.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/lower.h"

namespace tempo9::store {
namespace fs = std::filesystem;

namespace {

constexpr uintmax_t kMaxManifestBytes = 1 << 20;
constexpr int kMaxDepth = 8;  // host, namespaces, model, tag
constexpr std::string_view kHome = "registry.ollama.ai";
constexpr std::string_view kLibrary = "library/";
constexpr std::string_view kModelLayer = "application/vnd.ollama.image.model";
constexpr std::string_view kAdapterLayer = "application/vnd.ollama.image.adapter";

// "sha256:<64 digits>" to the digits.
std::optional<std::string> digits_of(std::string_view digest) {
  constexpr std::string_view kPrefix = "sha256:";
  if (!digest.starts_with(kPrefix)) return std::nullopt;
  digest.remove_prefix(kPrefix.size());
  if (digest.size() != 64 ||
      digest.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(digest);
}

// What a manifest says of the model: the digest of its weights, and whether they are all of it.
struct Layers {
  std::string digits;
  bool has_adapter = false;
};
std::optional<Layers> read_layers(const fs::path& manifest) {
  std::error_code error;
  const auto size = fs::file_size(manifest, error);
  if (error || size > kMaxManifestBytes) return std::nullopt;
  std::ifstream file(manifest, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("layers") || !json["layers"].is_array()) {
    return std::nullopt;
  }
  std::optional<Layers> found;
  bool has_adapter = false;
  for (const auto& layer : json["layers"]) {
    if (!layer.is_object()) continue;
    const auto type = layer.value("mediaType", nlohmann::json());
    if (type == kAdapterLayer) has_adapter = true;
    if (type != kModelLayer || found) continue;
    const auto digest = layer.value("digest", nlohmann::json());
    auto digits =
        digest.is_string() ? digits_of(digest.get_ref<const std::string&>()) : std::nullopt;
    if (!digits) return std::nullopt;
    found = Layers{*std::move(digits)};
  }
  if (found) found->has_adapter = has_adapter;
  return found;
}

std::optional<OllamaModel> read_model(const fs::path& folder, const fs::path& manifest) {
  const auto layers = read_layers(manifest);
  if (!layers) return std::nullopt;
  OllamaModel model;
  model.has_adapter = layers->has_adapter;
  for (const char* separator : {"-", ":"}) {
    const fs::path blob = folder / "blobs" / fmt::format("sha256{}{}", separator, layers->digits);
    std::error_code error;
    if (!fs::is_regular_file(blob, error)) continue;
    const auto size = fs::file_size(blob, error);
    if (error) continue;
    model.path = blob.string();
    model.n_bytes = size;
    break;
  }
  if (model.path.empty()) return std::nullopt;
  const fs::path relative = manifest.lexically_relative(folder / "manifests");
  const std::string tag = relative.filename().string();
  std::string name = relative.parent_path().generic_string();
  if (name.starts_with(std::string(kHome) + "/")) name.erase(0, kHome.size() + 1);
  if (name.starts_with(kLibrary)) name.erase(0, kLibrary.size());
  model.short_name = fmt::format("{}:{}", name.substr(name.rfind('/') + 1), tag);
  model.name = fmt::format("{}:{}", name, tag);
  return model;
}

}  // namespace

std::vector<OllamaModel> list_ollama(const std::string& folder) {
  std::vector<OllamaModel> models;
  std::error_code error;
  fs::recursive_directory_iterator entry(fs::path(folder) / "manifests",
                                         fs::directory_options::skip_permission_denied, error);
  // A link that leads back would never end; they are not followed, and depth is bounded all the
  // same.
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
    std::error_code ignored;
    if (entry.depth() < 2 || !entry->is_regular_file(ignored)) continue;
    if (auto model = read_model(folder, entry->path())) models.push_back(std::move(*model));
  }
  std::sort(models.begin(), models.end(),
            [](const OllamaModel& a, const OllamaModel& b) { return a.name < b.name; });
  return models;
}

namespace {

Result<OllamaModel> if_whole(const OllamaModel& model) {
  if (!model.has_adapter) return model;
  return make_error(ErrorCode::kUnsupported,
                    "--ollama {}: has an adapter (LoRA), which is not served, and would not be "
                    "itself without it; take a model that it is merged into",
                    model.name);
}

}  // namespace

Result<OllamaModel> find_ollama(const std::string& folder, std::string_view name) {
  std::string wanted = lower(name);
  // A colon in front of a slash is a host's port.
  if (wanted.find(':', wanted.rfind('/') + 1) == std::string::npos) wanted += ":latest";
  const std::vector<OllamaModel> models = list_ollama(folder);
  std::vector<const OllamaModel*> shorts;
  std::vector<std::string> names;
  for (const OllamaModel& model : models) {
    if (lower(model.name) == wanted) return if_whole(model);
    if (lower(model.short_name) == wanted) shorts.push_back(&model);
    names.push_back(model.name);
  }
  if (shorts.size() == 1) return if_whole(*shorts.front());
  if (shorts.size() > 1) {
    names.clear();
    for (const OllamaModel* model : shorts) names.push_back(model->name);
    return make_error(ErrorCode::kInvalidArgument,
                      "--ollama {}: found several of that name, expected one of {}", name,
                      fmt::join(names, ", "));
  }
  return make_error(ErrorCode::kNotFound, "--ollama {}: not in {}; found {}", name, folder,
                    names.empty() ? "no model there (OLLAMA_MODELS moves the store)"
                                  : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace tempo9::store
