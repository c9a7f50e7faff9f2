// A JSON value that is still being written: each piece of text is read once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/schema.h"

namespace tempo9::grammar {

// What is not finished (half a string, a number that could go on) is left out of the value.
// Not copyable: it points into itself.
class GrowingJson {
 public:
  GrowingJson() = default;
  GrowingJson(const GrowingJson&) = delete;
  GrowingJson& operator=(const GrowingJson&) = delete;

  // Reads on; says false for what is no beginning of JSON text, and then for ever. What stands
  // behind a whole value is not read.
  bool add(std::string_view text);
  // Nothing comes behind the text, so that a number at its end is finished.
  bool finish();

  bool has_value() const { return has_value_; }  // false: nothing is finished yet
  const Json& value() const { return *value_; }
  size_t n_open() const { return open_.size(); }  // containers that are not closed
  bool is_whole() const { return has_value_ && open_.empty(); }
  bool repeats_key() const { return repeats_key_; }
  size_t n_changes() const { return n_changes_; }  // grows with each part that is finished
  size_t n_read() const { return n_read_; }        // bytes, to the end of a whole value

 private:
  bool step(char c);
  bool finish_scalar();
  bool open_container(char c);
  bool close_container();
  Json* add_value(Json value);

  std::unique_ptr<Json> value_ = std::make_unique<Json>();
  // Outermost first; each is the last child of the one before, so that none of them moves.
  std::vector<Json*> open_;
  std::optional<std::string> key_;
  std::string scalar_;  // the one that is being written
  bool escaped_ = false;
  bool has_value_ = false, repeats_key_ = false, is_bad_ = false;
  size_t n_changes_ = 0, n_read_ = 0;
};

}  // namespace tempo9::grammar
