#include "chat/jinja/text.h"

#include <gtest/gtest.h>

#include <random>

#include "chat/jinja/text_ops.h"

namespace tempo9::chat::jinja {
namespace {

// The naive twin: one mark a byte.
struct Twin {
  std::string bytes;
  std::string marks;
};

Twin twin_of(const Text& text) {
  Twin twin{text.bytes(), ""};
  for (size_t i = 0; i < text.size(); ++i) twin.marks += text.outside_at(i) ? '1' : '0';
  return twin;
}

std::string runs_of(const Text& text) {
  std::string marks;
  text.for_each_run(
      [&](std::string_view run, bool outside) { marks.append(run.size(), outside ? '1' : '0'); });
  return marks;
}

TEST(Text, RandomOperationsKeepEveryMark) {
  std::mt19937 random(7);
  Text text;
  Twin twin;
  for (int step = 0; step < 20000; ++step) {
    switch (random() % 4) {
      case 0:
      case 1: {
        bool outside = random() % 2 == 0;
        std::string bytes(random() % 5, static_cast<char>('a' + random() % 26));
        text.append(bytes, outside);
        twin.bytes += bytes;
        twin.marks.append(bytes.size(), outside ? '1' : '0');
        break;
      }
      case 2: {
        size_t begin = random() % (text.size() + 1);
        size_t end = begin + random() % (text.size() - begin + 1);
        text = text.slice(begin, end);
        twin = {twin.bytes.substr(begin, end - begin), twin.marks.substr(begin, end - begin)};
        break;
      }
      default: {
        Text copy = text;
        size_t begin = random() % (copy.size() + 1);
        size_t end = begin + random() % (std::min<size_t>(copy.size() - begin, 20) + 1);
        text.append_slice(copy, begin, end);
        twin.bytes += twin.bytes.substr(begin, end - begin);
        twin.marks += twin.marks.substr(begin, end - begin);
        break;
      }
    }
    ASSERT_EQ(text.bytes(), twin.bytes);
    ASSERT_EQ(twin_of(text).marks, twin.marks) << "step " << step;
    ASSERT_EQ(runs_of(text), twin.marks);
  }
}

TEST(Text, RunsAreTheLongest) {
  Text text;
  text.append("a", true);
  text.append("b", true);
  text.append("", false);
  text.append("c", true);
  int runs = 0;
  text.for_each_run([&](std::string_view, bool) { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(TextOps, MarksFollowTheirCharacters) {
  Text text("<|");
  text.append("straße", true);
  text.append("|>", false);
  Text upper = to_case(text, Case::kUpper);
  EXPECT_EQ(upper.bytes(), "<|STRASSE|>");
  EXPECT_EQ(runs_of(upper), "00111111100");
  Text replaced = replace(text, Text("ß"), Text("ss"), -1);
  EXPECT_EQ(replaced.bytes(), "<|strasse|>");
  EXPECT_EQ(runs_of(replaced), "00111100100");  // what the template put in is the template's
  std::vector<Text> parts = split(text, nullptr, -1);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(runs_of(strip(text, Side::kLeft, &text)), "");
}

}  // namespace
}  // namespace tempo9::chat::jinja
