#include "gguf/parse.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>

#include "gguf/text.h"

namespace tempo9::gguf {
namespace {

// What some other first four bytes mean, for the message.
std::string_view other_format(std::string_view magic) {
  if (magic == "ggml" || magic == "lmgg" || magic == "tjgg" || magic == "fmgg" || magic == "algg") {
    return " (an old GGML file: convert the model again)";
  }
  if (magic.substr(0, 2) == "PK") return " (a zip archive, such as a PyTorch file)";
  if (magic == "<!DO" || magic == "<htm") return " (a web page: the download went wrong)";
  if (magic == "vers") return " (a Git LFS pointer: run `git lfs pull`)";
  return "";
}

Result<uint32_t> parse_version(Cursor& cursor) {
  const std::string& path = cursor.source().path();
  std::array<char, 4> magic = {};
  T9_TRY(cursor.take(magic.data(), magic.size(), "the magic"));
  const std::string_view found(magic.data(), magic.size());
  if (found != "GGUF") {
    return make_error(ErrorCode::kCorrupt, "{}: begins with \"{}\"{}, expected \"GGUF\"", path,
                      printable(found), other_format(found));
  }
  T9_TRY(const uint32_t version, cursor.read<uint32_t>("the version"));
  if (version == 2 || version == 3) return version;
  if (version != 0 && (version & 0xFFFF) == 0) {
    return make_error(ErrorCode::kUnsupported,
                      "{}: is big-endian, expected little-endian: convert it with "
                      "`gguf-convert-endian {} little`",
                      path, path);
  }
  return make_error(ErrorCode::kUnsupported, "{}: is GGUF version {}, expected 2 or 3: {}", path,
                    version, version < 2 ? "convert the model again" : "use a newer Tempo9");
}

// A directory entry takes at least so many bytes, so the size of the file bounds the count.
Status check_count(const Cursor& cursor, std::string_view what, uint64_t count,
                   uint64_t entry_bytes, uint64_t max) {
  const uint64_t room = cursor.remaining() / entry_bytes;
  if (count <= std::min(room, max)) return {};
  return make_error(ErrorCode::kCorrupt, "{}: the {} is {}, expected at most {} ({})",
                    cursor.source().path(), what, count, std::min(room, max),
                    room < max ? "the file has no room for more: it is cut short or damaged"
                               : "the limit of this reader");
}

Result<uint64_t> parse_alignment(const Source& source, const Entry& entry) {
  if (entry.kind != Kind::kU32) {
    return make_error(ErrorCode::kCorrupt, "{}: general.alignment is of kind {}, expected u32",
                      source.path(), kind_info(entry.kind).name);
  }
  Cursor cursor(source, entry.position);
  T9_TRY(const uint64_t alignment, cursor.read<uint32_t>(entry.key));
  if (std::has_single_bit(alignment) && alignment >= 8 && alignment <= kMaxAlignment)
    return alignment;
  return make_error(ErrorCode::kCorrupt,
                    "{}: general.alignment is {}, expected a power of two from 8 to {}",
                    source.path(), alignment, kMaxAlignment);
}

// The first name that occurs twice, or null. Sorted by hash first: names have long prefixes in
// common.
template <typename Items, typename NameOf>
const std::string* find_duplicate(const Items& items, NameOf name_of) {
  using Hashed = std::pair<size_t, const std::string*>;
  std::vector<Hashed> names;
  names.reserve(items.size());
  for (const auto& item : items) {
    names.emplace_back(std::hash<std::string>()(name_of(item)), &name_of(item));
  }
  std::sort(names.begin(), names.end(), [](const Hashed& a, const Hashed& b) {
    return a.first != b.first ? a.first < b.first : *a.second < *b.second;
  });
  const auto same = [](const Hashed& a, const Hashed& b) {
    return a.first == b.first && *a.second == *b.second;
  };
  const auto it = std::adjacent_find(names.begin(), names.end(), same);
  return it == names.end() ? nullptr : it->second;
}

}  // namespace

Result<std::string> parse_name(Cursor& cursor, std::string_view what) {
  const uint64_t at = cursor.position();
  T9_TRY(std::string name, cursor.read_string(kMaxNameBytes, what));
  const std::string& path = cursor.source().path();
  if (name.empty())
    return make_error(ErrorCode::kCorrupt, "{}: {} at byte {} is empty", path, what, at);
  if (name.find('\0') != std::string::npos || !is_utf8(name)) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: {} at byte {} is \"{}\", expected UTF-8 text without NUL", path, what,
                      at, printable(name));
  }
  return name;
}

Result<ParsedFile> parse(const Source& source) {
  Cursor cursor(source);
  ParsedFile file;
  T9_TRY(file.version, parse_version(cursor));
  T9_TRY(const uint64_t n_tensors, cursor.read<uint64_t>("the tensor count"));
  T9_TRY(const uint64_t n_keys, cursor.read<uint64_t>("the metadata count"));
  // Smallest entries: length, name, dimension count, one dimension, type, offset; length, key,
  // kind, value.
  T9_TRY(check_count(cursor, "tensor count", n_tensors, 8 + 1 + 4 + 8 + 4 + 8, kMaxTensors));
  T9_TRY(check_count(cursor, "metadata count", n_keys, 8 + 1 + 4 + 1, kMaxKeys));

  uint64_t array_elements_left = kMaxArrayElements;
  file.entries.reserve(static_cast<size_t>(n_keys));
  for (uint64_t i = 0; i < n_keys; ++i) {
    T9_TRY(Entry entry, parse_entry(cursor, array_elements_left));
    if (entry.key == "general.alignment") {
      T9_TRY(file.alignment, parse_alignment(source, entry));
    }
    file.entries.push_back(std::move(entry));
  }
  const auto key_of = [](const Entry& entry) -> const std::string& { return entry.key; };
  if (const std::string* key = find_duplicate(file.entries, key_of)) {
    return make_error(ErrorCode::kCorrupt, "{}: metadata key \"{}\" occurs twice", source.path(),
                      printable(*key));
  }

  file.tensors.reserve(static_cast<size_t>(n_tensors));
  for (uint64_t i = 0; i < n_tensors; ++i) {
    T9_TRY(ParsedTensor tensor, parse_tensor(cursor, file.alignment));
    file.tensors.push_back(std::move(tensor));
  }
  const auto name_of = [](const ParsedTensor& t) -> const std::string& { return t.tensor.name; };
  if (const std::string* name = find_duplicate(file.tensors, name_of)) {
    return make_error(ErrorCode::kCorrupt, "{}: tensor \"{}\" occurs twice", source.path(),
                      printable(*name));
  }
  T9_TRY(place_tensors(source, cursor.position(), file.alignment, file.tensors));
  return file;
}

}  // namespace tempo9::gguf
