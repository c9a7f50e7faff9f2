// Links: t9_chat
// A chat template of any bytes: it is refused, or renders within its limits, and outside text keeps
// its mark.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "chat/jinja/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tempo9::chat::Json;
  namespace jinja = tempo9::chat::jinja;
  std::string_view source(reinterpret_cast<const char*>(data), size);
  auto program = jinja::Program::compile(source);
  if (!program) {
    T9_CHECK(!program.error().message.empty());
    return 0;
  }
  jinja::Variables variables;
  variables.outside = {{"messages",
                        {{{"role", "user"},
                          {"content",
                           "\x01"
                           "Hi <b>\xC3\xA9"}},
                         {{"role", "assistant"}, {"content", nullptr}}}},
                       {"tools", {{{"name", "f"}, {"n", 1.5}}}},
                       {"add_generation_prompt", true}};
  variables.trusted = {{"bos_token", "<s>"}};
  variables.now = "2026-05-04T10:11:12";
  jinja::Limits limits;
  limits.max_steps = 200'000;
  limits.max_bytes = 1 << 20;
  auto text = program->render(variables, limits);
  if (!text) return 0;
  T9_CHECK(text->size() <= limits.max_bytes);
  // The byte 1 is only in a message: a template can write one itself, but not by accident.
  size_t at = 0;
  bool escaped = source.find('\\') != std::string_view::npos ||
                 source.find('\x01') != std::string_view::npos ||
                 source.find('%') != std::string_view::npos;
  text->for_each_run([&](std::string_view run, bool outside) {
    T9_CHECK(!run.empty());
    T9_CHECK(outside || escaped || run.find('\x01') == std::string_view::npos);
    at += run.size();
  });
  T9_CHECK(at == text->size());
  return 0;
}
