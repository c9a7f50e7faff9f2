#include "store/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace tempo9::store {
namespace {

using Json = nlohmann::json;

constexpr int kMaxPages = 50;

struct Name {
  bool is_ollama = false;
  std::string repo;     // "owner/repo", "library/qwen3"
  std::string variant;  // empty: none given
};

// What can be a part of a path there and here.
bool is_part(std::string_view part) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !part.empty() && part.size() <= 200 && part.front() != '.' &&
         part.find_first_not_of(kLetters) == std::string_view::npos;
}

Result<Name> parse(std::string_view text) {
  Name name;
  std::string_view rest = text;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (rest.starts_with(scheme)) rest.remove_prefix(scheme.size());
  }
  bool has_host = false;
  for (const std::string_view host : {"hf.co/", "huggingface.co/"}) {
    if (rest.starts_with(host)) rest.remove_prefix(host.size()), has_host = true;
  }
  for (const std::string_view host : {"ollama.com/", "registry.ollama.ai/"}) {
    if (rest.starts_with(host)) {
      rest.remove_prefix(host.size());
      has_host = name.is_ollama = true;
    }
  }
  if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    name.variant = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!is_part(name.variant)) rest = {};
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const size_t slash = rest.find('/');
  if (!has_host) name.is_ollama = slash == std::string_view::npos;
  if (slash == std::string_view::npos && name.is_ollama && is_part(rest)) {
    name.repo = fmt::format("library/{}", rest);
    return name;
  }
  if (slash == std::string_view::npos || !is_part(rest.substr(0, slash)) ||
      !is_part(rest.substr(slash + 1))) {
    return make_error(ErrorCode::kInvalidArgument,
                      "\"{}\": expected owner/repo[:variant] of Hugging Face, or name[:tag] of "
                      "Ollama's library",
                      text);
  }
  name.repo = rest;
  return name;
}

Result<Json> get_json(const std::string& url, const HttpHeaders& headers, std::string* next) {
  T9_TRY(const HttpReply reply, http_get(url, headers));
  if (reply.status == 401 || reply.status == 403) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: not there, or not allowed ({}); a private or gated model needs a token "
                      "(HF_TOKEN) and the consent that its page asks for",
                      url, reply.status);
  }
  if (reply.status == 404) return make_error(ErrorCode::kNotFound, "{}: not there", url);
  if (reply.status != 200) {
    return make_error(ErrorCode::kIo, "{}: found status {}, expected 200", url, reply.status);
  }
  Json json = Json::parse(reply.body, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return make_error(ErrorCode::kCorrupt, "{}: found no JSON", url);
  if (next != nullptr) *next = reply.next;
  return json;
}

std::string text_of(const Json& object, const char* key) {
  const auto value = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || value == object.end() || !value->is_string()) return {};
  return value->get<std::string>();
}

std::optional<uint64_t> size_of(const Json& object) {
  if (!object.is_object() || !object.contains("size")) return std::nullopt;
  const Json& size = object["size"];
  if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{1} << 50) return std::nullopt;
  return size.get<uint64_t>();
}

bool is_hash(std::string_view text, size_t n_digits) {
  return text.size() == n_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool is_sha256(std::string_view text) { return is_hash(text, 64); }

std::string percent_encoded(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-_.~/").find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// What the branch is now: files listed and fetched by it belong together, whatever is pushed
// meanwhile.
Result<std::string> find_commit(const std::string& repo, const SourceOptions& options,
                                const HttpHeaders& headers) {
  const std::string url = fmt::format("{}/api/models/{}/revision/main", options.hugging_face, repo);
  T9_TRY(const Json json, get_json(url, headers, nullptr));
  std::string commit = text_of(json, "sha");
  if (is_hash(commit, 40)) return commit;
  return make_error(ErrorCode::kCorrupt, "{}: found no commit in it, expected \"sha\"", url);
}

Result<std::vector<RepositoryFile>> list_repository(const std::string& repo,
                                                    const std::string& commit,
                                                    const SourceOptions& options,
                                                    const HttpHeaders& headers) {
  std::vector<RepositoryFile> files;
  std::string url =
      fmt::format("{}/api/models/{}/tree/{}?recursive=true", options.hugging_face, repo, commit);
  for (int page = 0; !url.empty() && page < kMaxPages; ++page) {
    std::string next;
    T9_TRY(const Json json, get_json(url, headers, &next));
    if (!json.is_array()) return make_error(ErrorCode::kCorrupt, "{}: found no list", url);
    for (const Json& entry : json) {
      const auto size = size_of(entry);
      if (text_of(entry, "type") != "file" || !size) continue;
      RepositoryFile file{.path = text_of(entry, "path"), .n_bytes = *size, .sha256 = {}};
      if (entry.contains("lfs")) file.sha256 = text_of(entry["lfs"], "oid");
      if (!is_sha256(file.sha256)) file.sha256.clear();
      files.push_back(std::move(file));
    }
    // The token must not follow an address to another host.
    const bool stays = next.starts_with(options.hugging_face + "/");
    url = stays ? next : "";
  }
  return files;
}

Result<RemoteModel> find_hugging_face(const Name& name, const SourceOptions& options) {
  RemoteModel model;
  if (!options.token.empty()) {
    model.headers.push_back(fmt::format("Authorization: Bearer {}", options.token));
  }
  T9_TRY(const std::string commit, find_commit(name.repo, options, model.headers));
  T9_TRY(const auto files, list_repository(name.repo, commit, options, model.headers));
  auto choice = choose_variant(files, name.variant);
  if (!choice) {
    return Error{choice.error().code, fmt::format("{}: {}", name.repo, choice.error().message)};
  }
  model.name = fmt::format("{}:{}", name.repo, choice->variant);
  model.variants = std::move(choice->variants);
  const auto remote = [&](const RepositoryFile& file, const std::string& role) {
    return RemoteFile{.name = file.path.substr(file.path.rfind('/') + 1),
                      .url = fmt::format("{}/{}/resolve/{}/{}", options.hugging_face, name.repo,
                                         commit, percent_encoded(file.path)),
                      .n_bytes = file.n_bytes,
                      .sha256 = file.sha256,
                      .role = role};
  };
  for (const RepositoryFile& file : choice->files) {
    model.files.push_back(remote(file, ""));
    if (!is_part(model.files.back().name)) {
      return make_error(ErrorCode::kUnsupported, "{}: the file's name \"{}\" cannot be kept here",
                        name.repo, model.files.back().name);
    }
  }
  for (const Companion& companion : choice->companions) {
    RemoteFile file = remote(companion.file, companion.role);
    // Folders are not kept, and a drafter may be called as its model.
    const bool taken = std::ranges::any_of(
        model.files, [&](const RemoteFile& other) { return other.name == file.name; });
    if (taken) file.name = fmt::format("{}-{}", file.role, file.name);
    if (is_part(file.name)) model.companions.push_back(std::move(file));
  }
  return model;
}

Result<RemoteModel> find_in_ollama(const Name& name, const SourceOptions& options) {
  const std::string tag = name.variant.empty() ? "latest" : name.variant;
  const std::string base = fmt::format("{}/v2/{}", options.ollama, name.repo);
  T9_TRY(const Json manifest,
         get_json(fmt::format("{}/manifests/{}", base, tag),
                  {"Accept: application/vnd.docker.distribution.manifest.v2+json"}, nullptr));
  RemoteModel model;
  const bool in_library = name.repo.starts_with("library/");
  model.name =
      fmt::format("{}:{}", in_library ? name.repo.substr(8) : "ollama.com/" + name.repo, tag);
  if (manifest.is_object() && manifest.contains("layers") && manifest["layers"].is_array()) {
    for (const Json& layer : manifest["layers"]) {
      const std::string type = text_of(layer, "mediaType");
      if (type == "application/vnd.ollama.image.adapter") {
        return make_error(ErrorCode::kUnsupported,
                          "{}: has an adapter (LoRA), which is not served, and would not be itself "
                          "without it; take a model that it is merged into",
                          model.name);
      }
      const bool is_projector = type == "application/vnd.ollama.image.projector";
      if (!is_projector && type != "application/vnd.ollama.image.model") continue;
      const std::string digest = text_of(layer, "digest");
      const auto size = size_of(layer);
      if (!digest.starts_with("sha256:") || !is_sha256(digest.substr(7)) || !size) continue;
      RemoteFile file{.name = fmt::format("{}-{}{}.gguf", name.repo.substr(name.repo.find('/') + 1),
                                          tag, is_projector ? "-projector" : ""),
                      .url = fmt::format("{}/blobs/{}", base, digest),
                      .n_bytes = *size,
                      .sha256 = digest.substr(7),
                      .role = is_projector ? "projector" : ""};
      if (!is_projector) {
        model.files.push_back(std::move(file));
      } else if (model.companions.empty()) {
        model.companions.push_back(std::move(file));
      }
    }
  }
  if (model.files.size() == 1) return model;
  return make_error(ErrorCode::kUnsupported,
                    "{}: found {} layers of weights in its manifest, expected one", model.name,
                    model.files.size());
}

}  // namespace

Result<RemoteModel> find_remote(std::string_view text, const SourceOptions& options) {
  T9_TRY(const Name name, parse(text));
  return name.is_ollama ? find_in_ollama(name, options) : find_hugging_face(name, options);
}

}  // namespace tempo9::store
