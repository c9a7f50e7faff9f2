// Other forms of a conversation, for templates that cannot take it as it is. Pure functions;
// nothing is lost in any.
#pragma once

#include <string>
#include <vector>

#include "chat/message.h"

namespace tempo9::chat {

using Messages = std::vector<Message>;

// A system message behind the first turn becomes a user message that says what it is.
Messages fold_late_systems(Messages messages);
// Neighbours of one role become one message. Messages with calls, and tool results, stay alone.
Messages merge_turns(Messages messages);
// The system text goes in front of the first user message.
Messages fold_first_system(Messages messages);
// An assistant message with several calls becomes one for each, its result behind it.
Messages split_calls(Messages messages);
// Text beside thinking and calls becomes part of the thinking (gpt-oss's template takes either).
Messages text_in_thinking(Messages messages);
// Calls and results become text, for templates that know no tools.
Messages calls_as_text(Messages messages);
// A conversation that begins with the assistant gets a user message in front.
Messages lead_with_user(Messages messages);
// Ids of calls as nine letters and digits, the same for the same id.
Messages short_call_ids(Messages messages);
// The tools as a part of the system message, with how to call them.
Messages tools_in_system(Messages messages, const std::vector<Tool>& tools);

}  // namespace tempo9::chat
