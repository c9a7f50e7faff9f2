// Models that are known to work, so that a newcomer has somewhere to begin. catalogue.inc lists
// them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tempo9::store {

struct KnownModel {
  std::string_view name;  // for `tempo9 pull`, with its variant
  uint64_t n_bytes = 0;   // of the file, to three digits where its page says no more
  uint32_t context_length = 0;
  // What the KV cache is made of.
  uint32_t n_layers = 0, n_kv_heads = 0, head_dim = 0;
  uint32_t n_window_layers = 0, window = 0;  // of the layers, those that see the last tokens only
  std::string_view purpose;
};

// By size.
std::vector<KnownModel> known_models();

}  // namespace tempo9::store
