// Writes GGUF files in memory for tests and fuzzers, right ones and, field by field, wrong ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/parse.h"

namespace tempo9::gguf {

// Little-endian bytes, appended.
struct Bytes {
  std::vector<uint8_t> data;

  Bytes& append(const void* more, size_t n) {
    const size_t at = data.size();
    data.resize(at + n);
    if (n != 0) std::memcpy(data.data() + at, more, n);
    return *this;
  }
  template <typename T>
  Bytes& number(T value) {
    return append(&value, sizeof(T));
  }
  Bytes& raw(std::string_view text) { return append(text.data(), text.size()); }
  Bytes& bytes(const std::vector<uint8_t>& more) { return append(more.data(), more.size()); }
  Bytes& text(std::string_view text) { return number<uint64_t>(text.size()).raw(text); }
  Bytes& kind(Kind kind) { return number(static_cast<uint32_t>(kind)); }
};

inline Bytes strings(std::initializer_list<std::string_view> texts) {
  Bytes out;
  out.kind(Kind::kString).number<uint64_t>(texts.size());
  for (std::string_view text : texts) out.text(text);
  return out;
}

template <typename T>
Bytes numbers(Kind kind, std::initializer_list<T> values) {
  Bytes out;
  out.kind(kind).template number<uint64_t>(values.size());
  for (T value : values) out.number(value);
  return out;
}

struct TestTensor {
  std::string name;
  std::vector<uint64_t> dims;
  uint32_t type = 0;
  std::vector<uint8_t> data;
  std::optional<uint64_t> offset;  // else right behind the one before, aligned
  std::optional<uint32_t> n_dims;  // else dims.size()
};

struct TestWriter {
  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t alignment = 32;               // to lay out by; write the key yourself
  std::optional<uint64_t> tensor_count;  // else the true ones
  std::optional<uint64_t> metadata_count;
  bool pad_end = true;
  std::vector<std::pair<std::string, Bytes>> metadata;  // kind and value
  std::vector<TestTensor> tensors;

  TestWriter& value(std::string key, Kind kind, const Bytes& bytes) {
    metadata.emplace_back(std::move(key), Bytes().kind(kind).bytes(bytes.data));
    return *this;
  }
  TestWriter& u32(std::string key, uint32_t number) {
    return value(std::move(key), Kind::kU32, Bytes().number(number));
  }
  TestWriter& u16(std::string key, uint16_t number) {
    return value(std::move(key), Kind::kU16, Bytes().number(number));
  }
  TestWriter& i32(std::string key, int32_t number) {
    return value(std::move(key), Kind::kI32, Bytes().number(number));
  }
  TestWriter& string(std::string key, std::string_view text) {
    return value(std::move(key), Kind::kString, Bytes().text(text));
  }
  TestWriter& array(std::string key, const Bytes& array) {
    return value(std::move(key), Kind::kArray, array);
  }
  // An F32 tensor of one dimension; element i is first + i.
  TestWriter& f32(std::string name, uint64_t n, float first = 0) {
    Bytes data;
    for (uint64_t i = 0; i < n; ++i) data.number(first + static_cast<float>(i));
    tensors.push_back({std::move(name), {n}, 0, std::move(data.data), {}, {}});
    return *this;
  }
  TestWriter& tensor(TestTensor tensor) {
    tensors.push_back(std::move(tensor));
    return *this;
  }

  std::vector<uint8_t> build() const {
    Bytes out;
    out.raw(magic).number(version);
    out.number(tensor_count.value_or(tensors.size()))
        .number(metadata_count.value_or(metadata.size()));
    for (const auto& [key, kind_and_value] : metadata) out.text(key).bytes(kind_and_value.data);
    const auto pad = [&](std::vector<uint8_t>& bytes) {
      bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    };
    Bytes data;
    for (const TestTensor& tensor : tensors) {
      pad(data.data);
      out.text(tensor.name)
          .number(tensor.n_dims.value_or(static_cast<uint32_t>(tensor.dims.size())));
      for (uint64_t dim : tensor.dims) out.number(dim);
      out.number(tensor.type).number(tensor.offset.value_or(data.data.size()));
      data.bytes(tensor.data);
    }
    if (pad_end) pad(data.data);
    if (!tensors.empty()) pad(out.data);
    return out.bytes(data.data).data;
  }
};

// In place of what the key had.
inline void set_value(TestWriter& w, std::string_view key, Kind kind, const Bytes& bytes) {
  std::erase_if(w.metadata, [&](const auto& entry) { return entry.first == key; });
  w.value(std::string(key), kind, bytes);
}
inline void set_u32(TestWriter& w, std::string_view key, uint32_t number) {
  set_value(w, key, Kind::kU32, Bytes().number(number));
}
inline void set_f32(TestWriter& w, std::string_view key, float number) {
  set_value(w, key, Kind::kF32, Bytes().number(number));
}

// A small file with every kind of value, nested arrays and tensors of several types.
inline TestWriter rich_file() {
  TestWriter w;
  w.string("general.architecture", "test").u32("general.alignment", 32);
  w.value("k.u8", Kind::kU8, Bytes().number<uint8_t>(200))
      .value("k.i8", Kind::kI8, Bytes().number<int8_t>(-100));
  w.u16("k.u16", 60000)
      .value("k.i16", Kind::kI16, Bytes().number<int16_t>(-30000))
      .i32("k.i32", -2000000000);
  w.value("k.f32", Kind::kF32, Bytes().number(0.1f))
      .value("k.f64", Kind::kF64, Bytes().number(0.1));
  w.value("k.u64", Kind::kU64, Bytes().number<uint64_t>(UINT64_MAX));
  w.value("k.i64", Kind::kI64, Bytes().number<int64_t>(INT64_MIN));
  w.value("k.true", Kind::kBool, Bytes().number<uint8_t>(1))
      .value("k.false", Kind::kBool, Bytes().number<uint8_t>(0));
  w.array("a.strings", strings({"one", "", "three"}))
      .array("a.i32", numbers<int32_t>(Kind::kI32, {-1, 0, 7}));
  w.array("a.u32", numbers<uint32_t>(Kind::kU32, {1, 2, 3}))
      .array("a.f32", numbers<float>(Kind::kF32, {0.5f, -2.0f}));
  w.array("a.bool", numbers<uint8_t>(Kind::kBool, {1, 0, 1}))
      .array("a.empty", numbers<uint8_t>(Kind::kU8, {}));
  Bytes nested;
  nested.kind(Kind::kArray).number<uint64_t>(2);
  nested.bytes(numbers<int16_t>(Kind::kI16, {1, 2}).data).bytes(strings({"x"}).data);
  w.array("a.nested", nested);
  w.f32("first", 5).f32("second", 8, 100);
  w.tensor({"matrix", {32, 3}, 2, std::vector<uint8_t>(3 * 18, 0x21), {}, {}});
  w.tensor({"cube", {2, 2, 2}, 24, std::vector<uint8_t>(8, 7), {}, {}});
  return w;
}

}  // namespace tempo9::gguf
