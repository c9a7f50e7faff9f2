// Does a reply begin with one call that stands alone, where its model would make several in a list?
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/message.h"

namespace tempo9::chat {

// For formats whose models write calls as bare or fenced JSON in place of their template's marks,
// and are known to stop behind the first. Not thread-safe.
class CallProbe {
 public:
  enum class Answer {
    kOpen,   // not to be told yet: white space, or the beginning of a call
    kNo,     // it begins in another way
    kAlone,  // an object that is a call of a declared tool: its name has been read, arguments come
  };
  virtual ~CallProbe() = default;
  virtual Answer feed(std::string_view text) = 0;  // the next bytes; final after kNo and kAlone
  // What a list with that call in it begins with, up to the call's arguments.   Requires: kAlone.
  virtual std::string list_opening() const = 0;
};

// Null for formats whose models do no such thing, and without tools. tools must outlive it.
// Errors: kInvalidArgument for an unknown format, listing the known ones.
Result<std::unique_ptr<CallProbe>> make_call_probe(std::string_view format,
                                                   const std::vector<Tool>& tools);

}  // namespace tempo9::chat
