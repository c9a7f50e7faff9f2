#include "gguf/split.h"

#include <charconv>
#include <map>
#include <utility>

#include "gguf/text.h"

namespace tempo9::gguf {
namespace {

constexpr uint64_t kMaxShards = 99'999;  // five digits

const Entry* find_entry(const ParsedFile& file, std::string_view key) {
  for (const Entry& entry : file.entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

Result<uint64_t> read_count(const Shard& shard, const Entry& entry) {
  T9_TRY(const Value value, read_value(shard.source, entry));
  if (const auto* u = std::get_if<uint64_t>(&value)) return *u;
  if (const auto* i = std::get_if<int64_t>(&value); i != nullptr && *i >= 0)
    return static_cast<uint64_t>(*i);
  return make_error(
      ErrorCode::kCorrupt, "{}: {} is {} of kind {}, expected a whole number that is not negative",
      shard.source.path(), entry.key,
      std::holds_alternative<int64_t>(value) ? fmt::format("{}", std::get<int64_t>(value))
                                             : "a value",
      kind_info(entry.kind).name);
}

bool digits_at(const std::string& text, size_t at, uint64_t& number) {
  if (text.find_first_not_of("0123456789", at) < at + 5) return false;
  return std::from_chars(text.data() + at, text.data() + at + 5, number).ec == std::errc();
}

// The place of a shard in its set, checked against its name and against the shard that was given.
Status check_place(const Shard& shard, const SplitInfo& info, uint64_t number, const Shard& given,
                   const SplitInfo& expected) {
  const std::string& path = shard.source.path();
  if (info.count != expected.count) {
    return make_error(
        ErrorCode::kCorrupt,
        "{}: is of a model in {} shards, expected {} as in {}: it is of another model", path,
        info.count, expected.count, given.source.path());
  }
  if (info.no + 1 != number) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: holds shard {} of {}, expected shard {} by its name: the files are "
                      "swapped, doubled or "
                      "renamed",
                      path, info.no + 1, info.count, number);
  }
  if (info.n_tensors != expected.n_tensors) {
    return make_error(
        ErrorCode::kCorrupt,
        "{}: is of a model with {} tensors, expected {} as in {}: it is of another model", path,
        info.n_tensors, expected.n_tensors, given.source.path());
  }
  return {};
}

// Keys that both carry must agree; usually only the first shard has any beside split.*.
Status check_same_model(const Shard& shard, const Shard& first) {
  for (const Entry& entry : shard.file.entries) {
    if (entry.key == "split.no") continue;
    const Entry* other = find_entry(first.file, entry.key);
    if (other == nullptr) continue;
    T9_TRY(const Value here, read_value(shard.source, entry));
    T9_TRY(const Value there, read_value(first.source, *other));
    if (here != there) {
      return make_error(ErrorCode::kCorrupt,
                        "{}: metadata \"{}\" differs from that in {}: it is of another model",
                        shard.source.path(), printable(entry.key), first.source.path());
    }
  }
  return {};
}

Status check_tensors(const std::vector<Shard>& shards, uint64_t expected) {
  std::map<std::string_view, const Shard*> owners;
  for (const Shard& shard : shards) {
    for (const ParsedTensor& parsed : shard.file.tensors) {
      const auto [it, is_new] = owners.emplace(parsed.tensor.name, &shard);
      if (!is_new) {
        return make_error(
            ErrorCode::kCorrupt, "{}: tensor \"{}\" is also in {}: one of them is of another model",
            shard.source.path(), printable(parsed.tensor.name), it->second->source.path());
      }
    }
  }
  if (owners.size() != expected) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: its {} shards have {} tensors together, expected {} "
                      "(split.tensors.count): one of them is of "
                      "another model",
                      shards.front().source.path(), shards.size(), owners.size(), expected);
  }
  return {};
}

Result<Shard> open_shard(const OpenShard& open, const std::string& path, uint64_t number,
                         const Shard& given, const SplitInfo& expected) {
  Result<Source> source = open(path);
  if (!source && source.error().code == ErrorCode::kNotFound) {
    return make_error(ErrorCode::kNotFound,
                      "{}: shard {} of {} is missing; all {} must lie beside {}", path, number,
                      expected.count, expected.count, given.source.path());
  }
  if (!source) return std::move(source).error();
  T9_TRY(ParsedFile file, parse(*source));
  Shard shard{std::move(*source), std::move(file)};
  T9_TRY(const SplitInfo info, read_split_info(shard));
  if (info.count <= 1) {
    return make_error(ErrorCode::kCorrupt, "{}: is a whole model, expected shard {} of {} of {}",
                      path, number, expected.count, given.source.path());
  }
  T9_TRY(check_place(shard, info, number, given, expected));
  return shard;
}

}  // namespace

std::string shard_path(const std::string& prefix, uint64_t number, uint64_t count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, number, count);
}

std::optional<ShardName> parse_shard_name(const std::string& path) {
  constexpr size_t kTailBytes = std::string_view("-00001-of-00003.gguf").size();
  if (path.size() < kTailBytes) return std::nullopt;
  const size_t tail = path.size() - kTailBytes;
  ShardName name;
  if (!digits_at(path, tail + 1, name.number) || !digits_at(path, tail + 10, name.count))
    return std::nullopt;
  name.prefix = path.substr(0, tail);
  if (shard_path(name.prefix, name.number, name.count) != path) return std::nullopt;
  return name;
}

Result<SplitInfo> read_split_info(const Shard& shard) {
  SplitInfo info;
  const Entry* count = find_entry(shard.file, "split.count");
  if (count == nullptr) return info;
  T9_TRY(info.count, read_count(shard, *count));
  if (info.count <= 1) return info;  // gguf-split --merge leaves a count of 0
  const std::string& path = shard.source.path();
  if (info.count > kMaxShards) {
    return make_error(ErrorCode::kCorrupt, "{}: split.count is {}, expected at most {}", path,
                      info.count, kMaxShards);
  }
  const Entry* no = find_entry(shard.file, "split.no");
  const Entry* n_tensors = find_entry(shard.file, "split.tensors.count");
  if (no == nullptr || n_tensors == nullptr) {
    return make_error(ErrorCode::kCorrupt, "{}: has split.count but no {}", path,
                      no == nullptr ? "split.no" : "split.tensors.count");
  }
  T9_TRY(info.no, read_count(shard, *no));
  T9_TRY(info.n_tensors, read_count(shard, *n_tensors));
  if (info.no >= info.count) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: split.no is {}, expected less than split.count, which is {}", path,
                      info.no, info.count);
  }
  return info;
}

Result<std::vector<Shard>> collect_shards(Shard given, const OpenShard& open) {
  std::vector<Shard> shards;
  T9_TRY(const SplitInfo info, read_split_info(given));
  if (info.count <= 1) {
    shards.push_back(std::move(given));
    return shards;
  }
  const std::string path = given.source.path();
  if (!open) {
    return make_error(ErrorCode::kUnsupported,
                      "{}: is shard {} of {}, and only files on disk can be split", path,
                      info.no + 1, info.count);
  }
  const std::optional<ShardName> name = parse_shard_name(path);
  if (!name || name->count != info.count) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: holds shard {} of {}, expected a name that ends in \"{}\": give it its "
                      "name back, the other "
                      "shards are found by it",
                      path, info.no + 1, info.count, shard_path("", info.no + 1, info.count));
  }
  T9_TRY(check_place(given, info, name->number, given, info));
  for (uint64_t number = 1; number <= info.count; ++number) {
    if (number == name->number) {
      // Held back until the others are open: their messages name it.
      shards.push_back(Shard{Source::from_bytes({}, path), {}});
      continue;
    }
    T9_TRY(Shard shard,
           open_shard(open, shard_path(name->prefix, number, info.count), number, given, info));
    shards.push_back(std::move(shard));
  }
  shards[name->number - 1] = std::move(given);
  for (size_t i = 1; i < shards.size(); ++i) T9_TRY(check_same_model(shards[i], shards[0]));
  T9_TRY(check_tensors(shards, info.n_tensors));
  return shards;
}

}  // namespace tempo9::gguf
