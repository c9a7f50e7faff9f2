// Metadata values: walked over and checked first, read into memory once the whole file has been
// found good.
#include <algorithm>
#include <array>
#include <type_traits>

#include "gguf/parse.h"
#include "gguf/text.h"

namespace tempo9::gguf {
namespace {

constexpr std::array<KindInfo, 13> kKinds = {{{"u8", 1},
                                              {"i8", 1},
                                              {"u16", 2},
                                              {"i16", 2},
                                              {"u32", 4},
                                              {"i32", 4},
                                              {"f32", 4},
                                              {"bool", 1},
                                              {"string", 0},
                                              {"array", 0},
                                              {"u64", 8},
                                              {"i64", 8},
                                              {"f64", 8}}};

Result<Kind> parse_kind(Cursor& cursor, std::string_view what) {
  T9_TRY(const uint32_t id, cursor.read<uint32_t>(what));
  if (id < kKinds.size()) return static_cast<Kind>(id);
  return make_error(ErrorCode::kCorrupt, "{}: {} at byte {} is {}, expected 0 to {}",
                    cursor.source().path(), what, cursor.position() - sizeof(id), id,
                    kKinds.size() - 1);
}

Status walk_string(Cursor& cursor) {
  uint64_t length = 0;
  if (!cursor.read_fast(length)) {
    T9_TRY(length, cursor.read<uint64_t>("the length of a string"));
  }
  if (length > kMaxStringBytes && length <= cursor.remaining()) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: the string at byte {} has {} bytes, expected at most {}",
                      cursor.source().path(), cursor.position(), length, kMaxStringBytes);
  }
  return cursor.skip(length, "a string");
}

Status walk_bools(Cursor& cursor, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    T9_TRY(const uint8_t value, cursor.read<uint8_t>("a bool"));
    if (value > 1) {
      return make_error(ErrorCode::kCorrupt, "{}: the bool at byte {} is {}, expected 0 or 1",
                        cursor.source().path(), cursor.position() - 1, value);
    }
  }
  return {};
}

struct ArrayHead {
  Kind element = Kind::kU8;
  uint64_t count = 0;
};

// elements_left: how many array elements the file may still have.
Result<ArrayHead> parse_array_head(Cursor& cursor, int depth, uint64_t& elements_left) {
  const std::string& path = cursor.source().path();
  const uint64_t at = cursor.position();
  if (depth > kMaxArrayDepth) {
    return make_error(ErrorCode::kCorrupt,
                      "{}: the array at byte {} is nested deeper than {} levels", path, at,
                      kMaxArrayDepth);
  }
  ArrayHead head;
  T9_TRY(head.element, parse_kind(cursor, "the kind of an array's elements"));
  T9_TRY(head.count, cursor.read<uint64_t>("the count of an array"));
  // The least that an element takes: a string its length, an array its kind and count.
  const KindInfo& info = kind_info(head.element);
  const uint64_t least_bytes = info.bytes != 0                 ? info.bytes
                               : head.element == Kind::kString ? 8
                                                               : 12;
  const uint64_t room = cursor.remaining() / least_bytes;
  if (head.count > room || head.count > elements_left) {
    return make_error(
        ErrorCode::kCorrupt,
        "{}: the array at byte {} has {} elements of kind {}, expected at most {} ({})", path, at,
        head.count, info.name, std::min(room, elements_left),
        head.count > room ? "the file ends there" : "the limit of this reader");
  }
  elements_left -= head.count;
  return head;
}

// Returns the kind of the elements.
Result<Kind> walk_array(Cursor& cursor, int depth, uint64_t& elements_left) {
  T9_TRY(const ArrayHead head, parse_array_head(cursor, depth, elements_left));
  if (head.element == Kind::kBool) {
    T9_TRY(walk_bools(cursor, head.count));
    return head.element;
  }
  if (const uint64_t bytes = kind_info(head.element).bytes; bytes != 0) {
    T9_TRY(cursor.skip(head.count * bytes, "an array"));
    return head.element;
  }
  for (uint64_t i = 0; i < head.count; ++i) {
    if (head.element == Kind::kString) {
      T9_TRY(walk_string(cursor));
    } else {
      T9_TRY(walk_array(cursor, depth + 1, elements_left));
    }
  }
  return head.element;
}

template <typename Wide, typename Stored>
Result<std::vector<Wide>> read_numbers(Cursor& cursor, size_t count) {
  std::vector<Wide> values;
  values.reserve(count);
  std::array<Stored, 1024> chunk;
  while (values.size() < count) {
    const size_t n = std::min(chunk.size(), count - values.size());
    T9_TRY(cursor.take(chunk.data(), n * sizeof(Stored), "an array"));
    for (size_t i = 0; i < n; ++i) values.push_back(static_cast<Wide>(chunk[i]));
  }
  return values;
}

template <typename Stored>
using Widened = std::conditional_t<std::is_floating_point_v<Stored>, double,
                                   std::conditional_t<std::is_signed_v<Stored>, int64_t, uint64_t>>;

// Calls visit with a value of the type that is stored for a fixed-size kind.
template <typename Visit>
auto with_stored_type(Kind kind, Visit visit) {
  switch (kind) {
    case Kind::kI8:
      return visit(int8_t{});
    case Kind::kU16:
      return visit(uint16_t{});
    case Kind::kI16:
      return visit(int16_t{});
    case Kind::kU32:
      return visit(uint32_t{});
    case Kind::kI32:
      return visit(int32_t{});
    case Kind::kF32:
      return visit(float{});
    case Kind::kU64:
      return visit(uint64_t{});
    case Kind::kI64:
      return visit(int64_t{});
    case Kind::kF64:
      return visit(double{});
    default:
      return visit(uint8_t{});
  }
}

// Checks the counts again: the file may have changed since the walk.
Result<Array> read_array(Cursor& cursor, int depth, uint64_t& elements_left) {
  T9_TRY(const ArrayHead head, parse_array_head(cursor, depth, elements_left));
  const auto n = static_cast<size_t>(head.count);
  Array array;
  if (head.element == Kind::kString) {
    auto& strings = array.values.emplace<std::vector<std::string>>();
    strings.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      T9_TRY(std::string text, cursor.read_string(kMaxStringBytes, "a string"));
      strings.push_back(std::move(text));
    }
  } else if (head.element == Kind::kArray) {
    auto& arrays = array.values.emplace<std::vector<Array>>();
    arrays.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      T9_TRY(Array inner, read_array(cursor, depth + 1, elements_left));
      arrays.push_back(std::move(inner));
    }
  } else if (head.element == Kind::kBool) {
    auto& bools = array.values.emplace<std::vector<bool>>();
    bools.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      T9_TRY(const uint8_t value, cursor.read<uint8_t>("a bool"));
      bools.push_back(value != 0);
    }
  } else {
    return with_stored_type(head.element, [&]<typename Stored>(Stored) -> Result<Array> {
      T9_TRY(array.values, (read_numbers<Widened<Stored>, Stored>(cursor, n)));
      return std::move(array);
    });
  }
  return array;
}

}  // namespace

const KindInfo& kind_info(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }

Result<Entry> parse_entry(Cursor& cursor, uint64_t& array_elements_left) {
  Entry entry;
  T9_TRY(entry.key, parse_name(cursor, "a metadata key"));
  const auto in_entry = [&](Error error) {
    error.message += fmt::format(" (in metadata \"{}\")", printable(entry.key));
    return error;
  };
  Result<Kind> kind = parse_kind(cursor, "the kind of a value");
  if (!kind) return in_entry(std::move(kind).error());
  entry.kind = *kind;
  entry.position = cursor.position();
  Status walked;
  if (entry.kind == Kind::kString) {
    walked = walk_string(cursor);
  } else if (entry.kind == Kind::kArray) {
    Result<Kind> element = walk_array(cursor, 1, array_elements_left);
    if (!element) return in_entry(std::move(element).error());
    entry.element = *element;
  } else if (entry.kind == Kind::kBool) {
    walked = walk_bools(cursor, 1);
  } else {
    walked = cursor.skip(kind_info(entry.kind).bytes, "a value");
  }
  if (!walked) return in_entry(std::move(walked).error());
  return entry;
}

Result<Value> read_value(const Source& source, const Entry& entry) {
  Cursor cursor(source, entry.position);
  if (entry.kind == Kind::kString) {
    T9_TRY(std::string text, cursor.read_string(kMaxStringBytes, entry.key));
    return Value(std::move(text));
  }
  if (entry.kind == Kind::kArray) {
    uint64_t elements_left = kMaxArrayElements;
    T9_TRY(Array array, read_array(cursor, 1, elements_left));
    return Value(std::move(array));
  }
  if (entry.kind == Kind::kBool) {
    T9_TRY(const uint8_t value, cursor.read<uint8_t>(entry.key));
    return Value(value != 0);
  }
  return with_stored_type(entry.kind, [&]<typename Stored>(Stored) -> Result<Value> {
    T9_TRY(const Stored value, cursor.read<Stored>(entry.key));
    return Value(static_cast<Widened<Stored>>(value));
  });
}

}  // namespace tempo9::gguf
