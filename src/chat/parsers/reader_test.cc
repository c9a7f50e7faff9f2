#include "chat/parsers/reader.h"

#include <gtest/gtest.h>

namespace tempo9::chat {
namespace {

const VocabLookup kNoTokens;

TEST(Reader, StepsWaitFailOrPass) {
  MarkedText text;
  ReadMemo memo;
  const auto read = [&](Reader::Ending ending) {
    Reader in(text, 0, kNoTokens, ending, &memo);
    in.expect("<a>");
    const std::string value(in.value("</v>", {"<v>", "</a>"}));
    in.expect("</a>");
    return in.good() ? value : in.needs_more() ? "more" : "bad";
  };
  const std::string whole = "<a>x </v> y</v> </a>";
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(read(Reader::Ending::kOpen), "more") << i;
    text.append({whole.substr(i, 1), false});
  }
  EXPECT_EQ(read(Reader::Ending::kOpen), "bad");  // white space in front of the last mark
  text.clear();
  memo.clear();
  text.append({"<a>x</v></a>", false});
  EXPECT_EQ(read(Reader::Ending::kOpen), "x");
  text.clear();
  memo.clear();
  text.append({"<a>x</v>", false});
  EXPECT_EQ(read(Reader::Ending::kStopped), "bad");
  text.clear();
  memo.clear();
  text.append({"<b>", false});
  EXPECT_EQ(read(Reader::Ending::kOpen), "bad");
}

TEST(Reader, TheEndOfAStoppedReplyClosesABlock) {
  for (const auto& [rest, ending, closes] : {std::tuple{"", Reader::Ending::kStopped, true},
                                             {" </t", Reader::Ending::kStopped, true},
                                             {" </x", Reader::Ending::kStopped, false},
                                             {"", Reader::Ending::kCut, false},
                                             {" </t>", Reader::Ending::kCut, true}}) {
    MarkedText text;
    text.append({rest, false});
    ReadMemo memo;
    Reader in(text, 0, kNoTokens, ending, &memo);
    EXPECT_EQ(in.closes("</t>"), closes) << rest;
  }
}

TEST(Reader, AMarkOfTheVocabularyIsFoundAsThatTokenOnly) {
  const VocabLookup has_token = [](std::string_view s) { return s == "<t>"; };
  MarkedText text;
  text.append({"a<t>", false});
  text.append({"<t>", true});
  text.append({"b", false});
  ReadMemo memo;
  Reader in(text, 0, has_token, Reader::Ending::kOpen, &memo);
  EXPECT_EQ(in.until({"<t>"}), "a<t>");
  EXPECT_TRUE(in.accept("<t>"));
  EXPECT_EQ(text.pieces(1).size(), 3u);
  EXPECT_TRUE(text.pieces(1)[1].is_token);
}

}  // namespace
}  // namespace tempo9::chat
