// Where models come from: what a name stands for, and which files that is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/http_client.h"

namespace tempo9::store {

struct RemoteFile {
  std::string name;  // of the file here: letters, digits, ".", "_", "-"
  std::string url;
  uint64_t n_bytes = 0;
  std::string sha256 = {};  // empty: the source does not say
  std::string role = {};    // of a companion: "projector" (pictures), "drafter"
};
// What a repository has beside: a name that can stand behind the colon, and its files' size.
struct Variant {
  std::string name;
  uint64_t n_bytes = 0;
};
struct RemoteModel {
  std::string name;               // as our own store knows it: "owner/repo:Q4_K_M", "qwen3:0.6b"
  std::vector<RemoteFile> files;  // of a split model in order; the first is the one to open
  std::vector<RemoteFile> companions = {};  // what goes with it: at most one a role
  HttpHeaders headers = {};                 // for each of them
  std::vector<Variant> variants =
      {};  // all of the repository, by size; Ollama's registry does not say
};

struct SourceOptions {
  std::string hugging_face = "https://huggingface.co";
  std::string ollama = "https://registry.ollama.ai";
  std::string token;  // for hugging_face; empty: none
};

// "owner/repo", "hf.co/owner/repo", "https://huggingface.co/owner/repo": Hugging Face.
// "name", "ollama.com/owner/name", "registry.ollama.ai/...": Ollama's registry.
// Behind a colon the quantisation, the file's name, or Ollama's tag; without it Q4_K_M or what
// comes nearest, or "latest". Errors: kNotFound (what there is is named), kInvalidArgument (several
// fit; a token is missing), kCorrupt (an answer that is none), as http_get. Source: huggingface_hub
// (api/models/{repo}/revision and tree, resolve) and the distribution registry's HTTP API
// (v2/{name}/manifests, blobs), as their own clients speak them.
Result<RemoteModel> find_remote(std::string_view name, const SourceOptions& options);

// The files of one variant among all paths of a repository. For tests.
struct RepositoryFile {
  std::string path;
  uint64_t n_bytes = 0;
  std::string sha256;
};
struct Companion {
  std::string role;
  RepositoryFile file;
};
struct Choice {
  std::string variant;
  std::vector<RepositoryFile> files;
  std::vector<Variant> variants;
  std::vector<Companion> companions = {};
};
Result<Choice> choose_variant(const std::vector<RepositoryFile>& files, std::string_view variant);

}  // namespace tempo9::store
