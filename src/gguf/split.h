// Split files: a model in several GGUF files "<prefix>-00001-of-00003.gguf" ..., each with its own
// tensor directory. The first holds the metadata; every one holds split.no (from 0), split.count
// and split.tensors.count.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gguf/parse.h"
#include "gguf/source.h"

namespace tempo9::gguf {

struct Shard {
  Source source;
  ParsedFile file;
};

struct ShardName {
  std::string prefix;   // with the folder
  uint64_t number = 0;  // from 1
  uint64_t count = 0;
};

// Nothing if the path does not end like a shard's.
std::optional<ShardName> parse_shard_name(const std::string& path);
std::string shard_path(const std::string& prefix, uint64_t number, uint64_t count);

// The split.* keys of one file.
struct SplitInfo {
  uint64_t no = 0;
  uint64_t count = 0;      // 0 or 1: the file is whole
  uint64_t n_tensors = 0;  // of all shards together
};
Result<SplitInfo> read_split_info(const Shard& shard);

// Opens another shard. Errors: kNotFound: it is missing.
using OpenShard = std::function<Result<Source>(const std::string& path)>;

// All shards in order, given any one of them; just that one if it is whole. open: null if there can
// be no others. Errors: kNotFound (a shard is missing, named), kCorrupt (renamed, swapped, doubled,
// of another model), kUnsupported (the shard is not on disk); those of parse() for the other
// shards.
Result<std::vector<Shard>> collect_shards(Shard given, const OpenShard& open);

}  // namespace tempo9::gguf
