// The model that doctor is asked about: wherever it is, and whether it fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "cli/doctor/report.h"
#include "engine/engine.h"
#include "gguf/gguf.h"
#include "store/source.h"

namespace tempo9::cli {

struct ModelAsked {
  std::string name;    // a file, a name of our store or Ollama's, or one to pull; empty: none
  std::string ollama;  // --ollama: of Ollama's store and nowhere else
  std::string mirror;  // as for `tempo9 pull`
};

struct FoundModel {
  std::string name;
  std::string place;                          // "file", "store", "ollama", "remote"
  gguf::File file;                            // its weights read as zeros if it is remote
  uint64_t n_fetched = 0;                     // bytes that came for it
  std::vector<store::Variant> variants = {};  // a remote one's repository has
};

// Looks here first, then asks Hugging Face or Ollama's registry; only the beginning of the files is
// fetched. Errors: as the stores, store::find_remote and gguf::File.
Result<FoundModel> find_model(const ModelAsked& asked, const Environment& environment);

// Whether this version can serve it, and whether what it takes is there: weights as packed, KV
// cache of options' length and type, working set.
Check check_model(const FoundModel& model, const engine::EngineOptions& options);

// For one that was not found.
Check check_no_model(const ModelAsked& asked, const Error& error);

}  // namespace tempo9::cli
