#include "cli/sources.h"

#include <fstream>

namespace tempo9::cli {
namespace {

std::string read_token(const Environment& environment) {
  if (environment.hf_token) return *environment.hf_token;
  std::ifstream file(environment.hf_token_path);
  std::string token;
  std::getline(file, token);
  return token;
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

std::string models_folder(const Environment& environment) {
  return environment.data_home + "/tempo9/models";
}

store::SourceOptions source_options(const std::string& mirror, const Environment& environment) {
  store::SourceOptions source;
  if (environment.hf_endpoint) source.hugging_face = without_slash(*environment.hf_endpoint);
  source.token = read_token(environment);
  if (!mirror.empty()) {
    // Somebody else's machine: the token is not for it.
    source.hugging_face = source.ollama = without_slash(mirror);
    source.token.clear();
  }
  return source;
}

}  // namespace tempo9::cli
