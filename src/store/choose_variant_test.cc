#include <gtest/gtest.h>

#include "store/source.h"

namespace tempo9::store {
namespace {

std::vector<RepositoryFile> files(const std::vector<std::string>& paths) {
  std::vector<RepositoryFile> files;
  for (const std::string& path : paths) files.push_back({path, 1, ""});
  return files;
}

// The paths that are chosen, or the error.
std::string chosen(const std::vector<std::string>& paths, std::string_view variant) {
  const auto choice = choose_variant(files(paths), variant);
  if (!choice) return "error: " + choice.error().message;
  std::string text = choice->variant + ":";
  for (const auto& file : choice->files) text.append(" ").append(file.path);
  return text;
}

// Names as they are in public repositories.
const std::vector<std::string> kUsual = {
    ".gitattributes",   "README.md",         "M-BF16.gguf",     "M-IQ4_XS.gguf",
    "M-Q4_K_M.gguf",    "M-Q4_K_S.gguf",     "M-Q4_0.gguf",     "M-Q8_0.gguf",
    "M-UD-Q4_K_M.gguf", "M-UD-Q4_K_XL.gguf", "mmproj-F16.gguf", "imatrix_unsloth.gguf_file",
    "M-imatrix.gguf"};

TEST(ChooseVariant, TheUsualBalanceUnlessAsked) {
  EXPECT_EQ(chosen(kUsual, ""), "Q4_K_M: M-Q4_K_M.gguf");
  EXPECT_EQ(chosen(kUsual, "q8_0"), "q8_0: M-Q8_0.gguf");
  EXPECT_EQ(chosen(kUsual, "Q4_K_XL"), "Q4_K_XL: M-UD-Q4_K_XL.gguf");
  EXPECT_EQ(chosen(kUsual, "UD-Q4_K_M"), "UD-Q4_K_M: M-UD-Q4_K_M.gguf");
  EXPECT_EQ(chosen(kUsual, "M-Q4_0.gguf"), "M-Q4_0.gguf: M-Q4_0.gguf");
  EXPECT_EQ(chosen({"a-q4_k_m.gguf"}, ""), "Q4_K_M: a-q4_k_m.gguf");
  EXPECT_EQ(chosen({"odd.gguf"}, ""), "odd: odd.gguf");
}

TEST(ChooseVariant, APartOfAWordIsNotIt) {
  EXPECT_TRUE(chosen(kUsual, "Q4_K").starts_with("error: no \"Q4_K\"; there are "));
  EXPECT_TRUE(chosen(kUsual, "F16").starts_with("error: "));
  EXPECT_TRUE(chosen({"x.md"}, "").starts_with("error: found 1 files and no GGUF"));
  EXPECT_TRUE(chosen({"M-Q2_K.gguf", "M-Q3_K_S.gguf"}, "").find("M-Q2_K, M-Q3_K_S") !=
              std::string::npos);
}

TEST(ChooseVariant, SplitFilesAreOneModelInOrder) {
  EXPECT_EQ(
      chosen({"Q6_K/M-Q6_K-00002-of-00002.gguf", "Q6_K/M-Q6_K-00001-of-00002.gguf", "M-Q8_0.gguf"},
             "Q6_K"),
      "Q6_K: Q6_K/M-Q6_K-00001-of-00002.gguf Q6_K/M-Q6_K-00002-of-00002.gguf");
  EXPECT_NE(chosen({"M-Q6_K-00001-of-00003.gguf", "M-Q6_K-00003-of-00003.gguf"}, "")
                .find("part 2 of 3 is missing"),
            std::string::npos);
}

TEST(ChooseVariant, WhatOnlyLooksLikeAPartIsAWholeFile) {
  for (const std::string stem :
       {"model-00001-of-final", "model-draft-of-00002", "M-00x01-of-00002", "M-00001-of-0000x",
        "M-00001-of-00000", "M-00000-of-00002", "M-00003-of-00002", "M--0001-of-00002",
        "M-+0001-of-00002", "M- 0001-of- 0002"}) {
    EXPECT_EQ(chosen({stem + ".gguf"}, ""), stem + ": " + stem + ".gguf");
  }
}

// The roles and paths of what goes with the model.
std::string companions(const std::vector<std::string>& paths, std::string_view variant) {
  const auto choice = choose_variant(files(paths), variant);
  if (!choice) return "error: " + choice.error().message;
  std::string text = choice->files.front().path;
  for (const auto& companion : choice->companions) {
    text += " " + companion.role + "=" + companion.file.path;
  }
  return text;
}

TEST(ChooseVariant, ProjectorsAndDraftersGoWithTheModel) {
  EXPECT_EQ(companions(kUsual, ""), "M-Q4_K_M.gguf projector=mmproj-F16.gguf");
  const std::vector<std::string> drafted = {
      "MTP/M-Q8_0.gguf", "MTP/M-Q4_0.gguf",      "M-it-Q4_0.gguf",       "M-it-Q4_K_M.gguf",
      "M-it-Q8_0.gguf",  "M-it-mmproj-f32.gguf", "M-it-mmproj-bf16.gguf"};
  EXPECT_EQ(companions(drafted, ""),
            "M-it-Q4_K_M.gguf projector=M-it-mmproj-bf16.gguf drafter=MTP/M-Q8_0.gguf");
  EXPECT_EQ(companions(drafted, "Q4_0"),
            "M-it-Q4_0.gguf projector=M-it-mmproj-bf16.gguf drafter=MTP/M-Q4_0.gguf");
  // A drafter is shorter in name and still not the model; it can be asked for, and alone it is one.
  EXPECT_EQ(companions({"M-eagle3-Q8_0.gguf", "long-name-M-Q8_0.gguf"}, "Q8_0"),
            "long-name-M-Q8_0.gguf drafter=M-eagle3-Q8_0.gguf");
  EXPECT_EQ(companions({"M-eagle3-F16.gguf", "M-Q8_0.gguf"}, "M-eagle3-F16.gguf"),
            "M-eagle3-F16.gguf");
  EXPECT_EQ(companions({"M-MTP-Q4_K_M.gguf"}, ""), "M-MTP-Q4_K_M.gguf");
}

TEST(ChooseVariant, TellsWhatElseThereIsBySize) {
  std::vector<RepositoryFile> repository = {{"M-Q8_0.gguf", 80, ""},
                                            {"M-Q4_K_M.gguf", 40, ""},
                                            {"M-UD-Q4_K_M.gguf", 50, ""},
                                            {"sub/M-F16-00001-of-00002.gguf", 90, ""},
                                            {"sub/M-F16-00002-of-00002.gguf", 70, ""},
                                            {"README.md", 1, ""}};
  const auto choice = choose_variant(repository, "");
  ASSERT_TRUE(choice);
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const Variant& variant : choice->variants) {
    found.emplace_back(variant.name, variant.n_bytes);
    const auto again = choose_variant(repository, variant.name);
    ASSERT_TRUE(again) << "each name can be asked for: " << variant.name;
    uint64_t n_bytes = 0;
    for (const auto& file : again->files) n_bytes += file.n_bytes;
    EXPECT_EQ(n_bytes, variant.n_bytes) << variant.name;
  }
  EXPECT_EQ(found, (std::vector<std::pair<std::string, uint64_t>>{
                       {"Q4_K_M", 40}, {"M-UD-Q4_K_M", 50}, {"Q8_0", 80}, {"F16", 160}}));
}

}  // namespace
}  // namespace tempo9::store
