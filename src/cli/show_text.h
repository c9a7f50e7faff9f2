// How `tempo9 show` writes numbers, sizes and metadata values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gguf/gguf.h"

namespace tempo9::cli {

std::string grouped(uint64_t number);           // 494,032,768
std::string byte_size(uint64_t n_bytes);        // 468.6 MiB
std::string shape(const gguf::Tensor& tensor);  // 896 x 151936, ne[0] first

// One line: strings quoted, escaped and cut, arrays cut to their first elements, with the length of
// what was cut. kind: as in File::metadata_kinds(); an f32 is written with the digits of an f32.
std::string value_text(const gguf::Value& value, std::string_view kind);

}  // namespace tempo9::cli
