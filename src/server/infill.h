// Fill in the middle: the prompt for a text between a prefix and a suffix, with the control tokens
// that the model was trained on.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/chat.h"
#include "server/service.h"

namespace tempo9::server {

// Has the vocabulary a known set of them?
bool knows_infill(const Service& service);

// Errors: kInvalidArgument, beginning with "suffix: ", when it has none.
Result<std::vector<chat::Segment>> infill_prompt(const Service& service, std::string_view prefix,
                                                 std::string_view suffix);

}  // namespace tempo9::server
