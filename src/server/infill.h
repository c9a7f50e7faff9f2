// Fill in the middle: the prompt for a text between a prefix and a suffix, with the control tokens
// that the model was trained on.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/service.h"

namespace tempo9::server {

// Has the vocabulary a known set of them?
bool knows_infill(const Service& service);

// The prompt's ids, with the token that the model's prompts begin with. Control tokens that are
// spelled in prefix or suffix stay text: both are somebody's file.
// Errors: kInvalidArgument, beginning with "suffix: ", when it has none.
Result<std::vector<TokenId>> encode_infill(const Service& service, std::string_view prefix,
                                           std::string_view suffix);

}  // namespace tempo9::server
