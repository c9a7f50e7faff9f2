// Calls as <invoke name="NAME"> with a <parameter name="KEY"> for each argument, its content raw
// text: MiniMax M2 and DeepSeek V3.2, with marks of their own.
#pragma once

#include <string_view>

#include "chat/parsers/format.h"

namespace tempo9::chat {

// begin (invoke NAME"> (parameter KEY"ATTRIBUTES> VALUE parameter_end)* invoke_end)+ end
struct InvokeMarks {
  std::string_view begin, end, invoke, invoke_end, parameter, parameter_end;
};

// A value is text, unless its attributes say string="false": then it is JSON.
void read_invoke(Reader& in, Block& block, const InvokeMarks& marks);

// What follows from the marks; the rest is to be set.
OutputFormat invoke_format(const InvokeMarks& marks);

}  // namespace tempo9::chat
