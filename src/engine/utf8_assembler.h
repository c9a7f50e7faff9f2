// Bytes in, whole UTF-8 characters out: a token may hold a part of a character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tempo9::engine {

// Holds back the beginning of a character until it is whole. Bytes that can never become a
// character give U+FFFD, one for each maximal part of a character (Unicode 15, 3.9, as Python's
// errors="replace" does). The cut of the input never changes the output.
class Utf8Assembler {
 public:
  // Appends to out what is whole by now.
  void push(std::string_view bytes, std::string* out);
  // The end: what is held back stays incomplete.
  void flush(std::string* out);
  bool is_holding() const { return n_missing_ > 0; }

 private:
  void start(uint8_t byte, std::string* out);

  std::string held_;
  uint32_t n_missing_ = 0;            // bytes until the held character is whole
  uint8_t low_ = 0x80, high_ = 0xBF;  // what the next one may be
};

}  // namespace tempo9::engine
