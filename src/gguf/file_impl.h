// What a File holds. Private to the room.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gguf/gguf.h"
#include "gguf/source.h"

namespace tempo9::gguf {

struct File::Impl {
  std::string path;
  uint32_t version = 0;
  std::vector<Source> sources;           // in shard order, mapped
  std::vector<std::string> shard_paths;  // beside sources
  std::vector<std::pair<std::string, Value>> metadata;
  std::vector<std::string> metadata_kinds;                    // beside metadata
  std::map<std::string, size_t, std::less<>> metadata_index;  // key -> index
  std::vector<Tensor> tensors;
  std::map<std::string, size_t, std::less<>> tensor_index;  // name -> index
};

}  // namespace tempo9::gguf
