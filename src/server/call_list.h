// A model that writes a call as one bare or fenced JSON object stops behind it, also where it was
// asked for several. Such a reply is begun once more as a list, before anything of it has left:
// then the model goes on to as many calls as it has to make (docs/tool-calling.md has the figures).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "chat/call_probe.h"
#include "engine/engine.h"
#include "server/service.h"

namespace tempo9::server {

// Of one HTTP request; immutable, shared by its choices.
class CallList {
 public:
  // tools: callable. Null where there is nothing to begin again: scripts speak for themselves, and
  // most models' formats have calls of several (chat/call_probe.h).
  static std::shared_ptr<const CallList> make(const Service& service,
                                              const std::vector<chat::Tool>& tools);

  std::unique_ptr<chat::CallProbe> probe() const;  // for one choice

  struct Begun {
    engine::GenerateRequest request;  // the same, behind the list's opening
    std::string opening;              // the reply's first text
    uint32_t n_tokens = 0;            // of the opening
  };
  // opening: CallProbe::list_opening(). Errors: kResourceExhausted when max_tokens or the context
  // leaves no room.
  static Result<Begun> begin(const Service& service, const engine::GenerateRequest& first,
                             std::string opening);

 private:
  std::vector<chat::Tool> tools_;
  std::string format_;
};

}  // namespace tempo9::server
