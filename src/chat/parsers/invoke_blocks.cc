#include "chat/parsers/invoke_blocks.h"

#include <string>

#include "chat/exact_json.h"
#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {

void read_invoke(Reader& in, Block& block, const InvokeMarks& marks) {
  if (block.n_calls == 0) {
    in.expect(marks.begin);
  } else if (in.closes(marks.end)) {
    return;
  }
  in.blank();
  in.expect(marks.invoke);
  const std::string name(in.until({"\""}));
  in.expect("\"");
  in.blank();
  in.expect(">");
  Json arguments = Json::object();
  for (;;) {
    in.blank();
    if (!in.accept(marks.parameter)) break;
    const std::string key(in.until({"\""}));
    in.expect("\"");
    const std::string_view attributes = in.until({">"});  // string="true" or "false"
    const bool is_json = attributes.find("\"false\"") != std::string_view::npos;
    in.expect(">");
    const std::string_view value =
        in.value(marks.parameter_end, {marks.parameter, marks.invoke_end});
    if (!in.good()) return;
    arguments[key] = is_json ? parse_exactly(value).value_or(Json(value)) : Json(value);
  }
  in.expect(marks.invoke_end);
  add_typed_call(in, block, name, arguments);
  block.may_go_on = true;
}

OutputFormat invoke_format(const InvokeMarks& marks) {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kParameters;
  format.syntax.call_begin = marks.invoke;
  format.syntax.name_end = "\">\n";
  format.syntax.between = "\n";
  format.syntax.key_begin = marks.parameter;
  format.syntax.key_end = "\">";
  format.syntax.marks = {marks.begin, marks.end};
  format.openings = {marks.begin};
  return format;
}

}  // namespace tempo9::chat
