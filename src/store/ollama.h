// Ollama's store of models, read only.
// Layout: manifests/<host>/<namespace...>/<model>/<tag>, JSON that lists layers by digest, and
// blobs/sha256-<hex>. The layer of type "application/vnd.ollama.image.model" is the GGUF file.
// Source: ollama/ollama docs and stores made by versions 0.1 to 0.14 (blobs/sha256:<hex> in the
// oldest).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo9::store {

struct OllamaModel {
  std::string name;          // with its tag: "llama3.2:latest", "hf.co/owner/repo:Q4_K_M"
  std::string short_name;    // "repo:Q4_K_M"
  std::string path;          // of the weights
  uint64_t n_bytes = 0;      // of that file
  bool has_adapter = false;  // of which it would not be itself without; find_ollama refuses it
};

// The models whose weights are there, by name. What cannot be read is left out; a folder that is
// not there holds none.
std::vector<OllamaModel> list_ollama(const std::string& folder);

// name: as listed, without the tag for ":latest", or short. Case does not matter, as in Ollama.
// Errors: kNotFound (what is there is named), kInvalidArgument (several have this short name),
// kUnsupported (an adapter).
Result<OllamaModel> find_ollama(const std::string& folder, std::string_view name);

}  // namespace tempo9::store
