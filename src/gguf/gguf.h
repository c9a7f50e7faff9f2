// GGUF v2 and v3 reader: maps a file (or all shards of a split one) and checks everything before it
// is used. A file that is refused costs less than 100 ms and 100 MB, whatever it says of itself.
// Format: docs/formats/gguf.md. Source: ggml's docs/gguf.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace tempo9::gguf {

class Source;  // gguf/source.h

struct Array;
// A metadata value. Integers are widened to 64 bits with their sign kept; strings are copied out of
// the file.
using Value = std::variant<uint64_t, int64_t, double, bool, std::string, Array>;

// Homogeneous. Numbers of one array share one vector; nested arrays are allowed by the format.
struct Array {
  std::variant<std::vector<uint64_t>, std::vector<int64_t>, std::vector<double>, std::vector<bool>,
               std::vector<std::string>, std::vector<Array>>
      values;
  size_t size() const;
  bool operator==(const Array&) const = default;
};

struct Tensor {
  std::string name;
  DType type = DType::kF32;
  std::array<uint64_t, 4> ne = {1, 1, 1, 1};  // ggml order: ne[0] is the contiguous one
  uint32_t n_dims = 1;
  std::span<const uint8_t> data;  // in the mapping, exactly the tensor's bytes
  uint64_t n_elements() const {
    return ne[0] * ne[1] * ne[2] * ne[3];
  }  // does not overflow: checked at open
};

// Immutable after open; safe to read from any thread. Owns the mappings: tensors' data die with it.
class File {
 public:
  // path: the file, or any shard of a split file ("-00002-of-00003.gguf"); the others are found
  // beside it. Errors: kIo (cannot open), kCorrupt (what was found and what was expected),
  // kUnsupported (version, big-endian, a tensor type removed upstream, Q8_K as a weight), kNotFound
  // (a shard is missing, named).
  static Result<File> open(const std::string& path);

  // The same from memory, for tests and fuzzers; name stands for the path in messages. Shards of a
  // split file: kUnsupported.
  static Result<File> from_bytes(std::vector<uint8_t> bytes, std::string name = "memory");

  // A model whose files are elsewhere, for what metadata and tensor directory say: the tensors'
  // data has the right sizes, and reads as zeros.
  struct Remote {
    std::string path;  // of a shard as it would be called here
    uint64_t n_bytes = 0;
    std::function<Status(uint64_t offset, void* dst, size_t n)> read;
  };
  // All shards, in any order. Errors: as open, and read's own.
  static Result<File> open_remote(std::vector<Remote> files);

  File(File&&) noexcept;
  File& operator=(File&&) noexcept;
  ~File();

  const std::string& path() const;                      // as given
  const std::vector<std::string>& shard_paths() const;  // in shard order; one entry if not split
  uint32_t version() const;
  uint64_t file_bytes() const;  // all shards

  // Metadata in the order of the file (of the first shard).
  const std::vector<std::pair<std::string, Value>>& metadata() const;
  const Value* find(std::string_view key) const;  // null if absent
  // What kind each of them has in the file, beside metadata(): "u32", "string", "[i32]" for an
  // array.
  const std::vector<std::string>& metadata_kinds() const;

  // Typed reads. Absent or of another kind: kCorrupt naming the key, the kind found and the kind
  // expected. Any integer kind converts to uint64_t when not negative; any number converts to
  // double.
  Result<uint64_t> get_uint(std::string_view key) const;
  Result<double> get_float(std::string_view key) const;
  Result<bool> get_bool(std::string_view key) const;
  Result<std::string> get_string(std::string_view key) const;
  // The same with a default when the key is absent; still an error when it is there with another
  // kind.
  Result<uint64_t> get_uint(std::string_view key, uint64_t fallback) const;
  Result<double> get_float(std::string_view key, double fallback) const;
  Result<bool> get_bool(std::string_view key, bool fallback) const;
  Result<std::string> get_string(std::string_view key, std::string fallback) const;
  // Arrays, converted to the kind asked for. Absent: an empty vector.
  Result<std::vector<std::string>> get_strings(std::string_view key) const;
  Result<std::vector<double>> get_floats(std::string_view key) const;
  Result<std::vector<int64_t>> get_ints(
      std::string_view key) const;  // also bool arrays, as 0 and 1
  // "Any scalar key may be an array": a scalar gives n copies, an array must hold at least n.
  // Absent: n fallbacks.
  Result<std::vector<uint64_t>> get_per_layer(std::string_view key, size_t n,
                                              uint64_t fallback) const;

  const std::vector<Tensor>& tensors() const;
  const Tensor* find_tensor(std::string_view name) const;  // null if absent
  // Gives back the memory of mapped bytes of a tensor. Who reads them again reads the file again.
  void forget(std::span<const uint8_t> bytes) const;

 private:
  File();
  static Result<File> from_source(
      Source source, const std::function<Result<Source>(const std::string& path)>& open_shard);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo9::gguf
