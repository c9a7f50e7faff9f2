#include "grammar/uri.h"

#include <gtest/gtest.h>

namespace tempo9::grammar {
namespace {

TEST(Uri, ReferencesResolveAgainstTheirBase) {
  // RFC 3986, section 5.4.
  constexpr std::string_view kBase = "http://a/b/c/d";
  EXPECT_EQ(resolve_uri(kBase, "g"), "http://a/b/c/g");
  EXPECT_EQ(resolve_uri(kBase, "./g"), "http://a/b/c/g");
  EXPECT_EQ(resolve_uri(kBase, "/g"), "http://a/g");
  EXPECT_EQ(resolve_uri(kBase, "//g"), "http://g");
  EXPECT_EQ(resolve_uri(kBase, "../g"), "http://a/b/g");
  EXPECT_EQ(resolve_uri(kBase, "g#s"), "http://a/b/c/g#s");
  EXPECT_EQ(resolve_uri(kBase, "#s"), "http://a/b/c/d#s");
  EXPECT_EQ(resolve_uri(kBase, "urn:x:y"), "urn:x:y");
  EXPECT_EQ(resolve_uri("urn:x:y", "#s"), "urn:x:y#s");
  EXPECT_EQ(resolve_uri("", "a.json#/b"), "a.json#/b");
  EXPECT_EQ(resolve_uri("http://a", "b.json"), "http://a/b.json");
}

TEST(Uri, PartsComeApart) {
  EXPECT_EQ(without_fragment("a#b"), "a");
  EXPECT_EQ(fragment_of("a#b"), "b");
  EXPECT_EQ(fragment_of("a"), "");
}

TEST(Uri, PointersFindWhatTheyName) {
  auto root = nlohmann::ordered_json::parse(R"({"a/b": [1, {"m~n": 2}], "": 3})");
  EXPECT_EQ(find_pointer(&root, ""), &root);
  EXPECT_EQ(*find_pointer(&root, "/a~1b/1/m~0n"), 2);
  EXPECT_EQ(*find_pointer(&root, "/"), 3);
  for (const char* missing : {"/x", "/a~1b/2", "/a~1b/x", "a", "/a~1b/0/y"})
    EXPECT_EQ(find_pointer(&root, missing), nullptr) << missing;
  EXPECT_EQ(child(child("", "a/b"), "m~n"), "/a~1b/m~0n");
}

}  // namespace
}  // namespace tempo9::grammar
