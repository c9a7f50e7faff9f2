// The chat template of script mode without a file: ChatML turns, tools as JSON in Hermes' tags.
#pragma once

#include <string_view>

namespace tempo9::engine {

std::string_view script_chat_template();

}  // namespace tempo9::engine
