// One GGUF file, checked from front to back: metadata directory and tensor directory. Nothing is
// taken from the file that was not checked against its size, and no allocation is larger than what
// the file could fill.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/cursor.h"
#include "gguf/gguf.h"
#include "gguf/source.h"

namespace tempo9::gguf {

// Far above any real model; they bound the time and memory that a hostile file can cost.
inline constexpr uint64_t kMaxKeys = 65'536;
inline constexpr uint64_t kMaxTensors = 65'536;
inline constexpr uint64_t kMaxArrayElements = 3'145'728;  // of a file, nested ones included
inline constexpr uint64_t kMaxNameBytes = 1024;           // keys and tensor names
inline constexpr uint64_t kMaxStringBytes = 64 * 1024 * 1024;
inline constexpr uint64_t kMaxAlignment = 1 << 24;
inline constexpr uint64_t kDefaultAlignment = 32;
inline constexpr int kMaxArrayDepth = 4;

// Kinds of metadata values, by their number in the file.
enum class Kind : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

struct KindInfo {
  std::string_view name;
  uint32_t bytes;  // 0: of variable length
};
const KindInfo& kind_info(Kind kind);

// Where a value lies. It was walked over and checked, but not read yet.
struct Entry {
  std::string key;
  Kind kind = Kind::kU8;
  Kind element = Kind::kU8;  // of an array
  uint64_t position = 0;     // first byte of the value; of an array: its element kind
};

struct ParsedTensor {
  Tensor tensor;       // without data
  uint64_t begin = 0;  // in the file
  uint64_t bytes = 0;
};

struct ParsedFile {
  uint32_t version = 0;
  uint64_t alignment = kDefaultAlignment;
  std::vector<Entry> entries;
  std::vector<ParsedTensor> tensors;
};

// Errors: kCorrupt or kUnsupported as in File::open, naming the path; kIo.
Result<ParsedFile> parse(const Source& source);

// The parts, in the order of the file.
Result<Entry> parse_entry(Cursor& cursor, uint64_t& array_elements_left);
Result<std::string> parse_name(Cursor& cursor, std::string_view what);
Result<ParsedTensor> parse_tensor(Cursor& cursor, uint64_t alignment);
// Fixes where tensors begin, once it is known where the directory ends; checks ranges, overlap and
// the file's size.
Status place_tensors(const Source& source, uint64_t directory_end, uint64_t alignment,
                     std::vector<ParsedTensor>& tensors);

// Reads a value that parse() has checked.
Result<Value> read_value(const Source& source, const Entry& entry);

}  // namespace tempo9::gguf
