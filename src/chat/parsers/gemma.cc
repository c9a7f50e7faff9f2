// "gemma4" and "functiongemma": call:NAME{KEY:VALUE,...} between marks, strings between quote marks
// and not escaped, everything else as JSON.
#include <optional>
#include <string>

#include "chat/exact_json.h"
#include "chat/parsers/json_blocks.h"

namespace tempo9::chat {
namespace {

struct GemmaMarks {
  std::string_view open, close, quote;
};
constexpr GemmaMarks kGemma4 = {"<|tool_call>", "<tool_call|>", "<|\"|>"};
constexpr GemmaMarks kFunctionGemma = {"<start_function_call>", "<end_function_call>", "<escape>"};

class ValueReader {
 public:
  ValueReader(Reader& in, std::string_view quote) : in_(in), quote_(quote) {}

  Json object(int depth) {
    Json out = Json::object();
    in_.expect("{");
    in_.blank();
    if (in_.accept("}")) return out;
    while (in_.good()) {
      in_.blank();
      std::string key;
      if (in_.accept(quote_)) {
        key = in_.until({quote_});
        in_.expect(quote_);
        in_.blank();
      } else {
        key = without_blank_end(in_.until({":", "}", quote_}));
      }
      in_.expect(":");
      Json item = value(depth + 1);
      if (in_.good()) out[key] = std::move(item);
      in_.blank();
      if (in_.accept(",")) continue;
      in_.expect("}");
      break;
    }
    return out;
  }

 private:
  static constexpr int kMaxDepth = 64;

  Json value(int depth) {
    if (depth > kMaxDepth) in_.fail();
    in_.blank();
    if (in_.accept(quote_)) {
      const std::string text(in_.until({quote_}));
      in_.expect(quote_);
      return text;
    }
    if (in_.next_is("{")) return object(depth);
    if (in_.next_is("[")) return array(depth);
    const std::string_view word = without_blank_end(in_.until({",", "}", "]", quote_}));
    if (!in_.good()) return nullptr;
    if (word.empty()) in_.fail();
    // The template itself prints Python's None.
    if (word == "None") return nullptr;
    if (word == "True" || word == "False") return word == "True";
    // Text without its quotes is still what the model meant.
    return parse_exactly(word).value_or(Json(word));
  }

  Json array(int depth) {
    Json out = Json::array();
    in_.expect("[");
    in_.blank();
    if (in_.accept("]")) return out;
    while (in_.good()) {
      Json item = value(depth + 1);
      if (in_.good()) out.push_back(std::move(item));
      in_.blank();
      if (in_.accept(",")) continue;
      in_.expect("]");
      break;
    }
    return out;
  }

  Reader& in_;
  std::string_view quote_;
};

void read_gemma(Reader& in, Block& block, const GemmaMarks& marks) {
  in.expect(marks.open);
  in.blank();
  in.expect("call:");
  const std::string name(in.word());
  in.blank();
  const Json arguments = ValueReader(in, marks.quote).object(0);
  in.close(marks.close);
  add_typed_call(in, block, name, arguments);
}

OutputFormat gemma_format(const GemmaMarks& marks) {
  OutputFormat format;
  format.syntax.arguments = CallSyntax::Arguments::kGemma;
  format.syntax.call_end = marks.close;
  format.syntax.quote = marks.quote;
  format.syntax.marks = {marks.open, marks.close, marks.quote};
  format.clues = {{{marks.open}, {}}};
  format.openings = {marks.open};
  return format;
}

}  // namespace

OutputFormat gemma4() {
  OutputFormat format = gemma_format(kGemma4);
  format.syntax.call_begin = "<|tool_call>call:";
  format.thinking = {{"<|channel>", "<channel|>", "thought"}};
  format.read = [](Reader& in, Block& block) { read_gemma(in, block, kGemma4); };
  return format;
}

OutputFormat functiongemma() {
  OutputFormat format = gemma_format(kFunctionGemma);
  format.syntax.call_begin = "<start_function_call>call:";
  format.read = [](Reader& in, Block& block) { read_gemma(in, block, kFunctionGemma); };
  return format;
}

}  // namespace tempo9::chat
