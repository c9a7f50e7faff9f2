// What clients write anew at the head of each prompt, and no model needs: left out, so that the
// rest of the prompt has the same tokens every turn.
#pragma once

#include <string>
#include <vector>

#include "chat/message.h"

namespace tempo9::chat {

// The bytes at the beginning of a system text that are a billing stamp
// ("x-anthropic-billing-header:
// ...", to the end of its line and the empty lines behind it); 0: none. Case and leading white
// space do not matter.
size_t billing_stamp(const std::string& text);

// Takes stamps off the beginning of system and developer messages and of their text parts; parts
// and messages that were nothing else go. What users and models wrote is not touched.
std::vector<Message> without_stamps(std::vector<Message> messages);

}  // namespace tempo9::chat
