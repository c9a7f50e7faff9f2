// Which of a repository's GGUF files are meant.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "store/source.h"

namespace tempo9::store {
namespace {

// Without a wish: the usual balance first, then its neighbours, then what is larger.
constexpr std::string_view kPreferred[] = {"Q4_K_M", "Q4_K_S", "Q5_K_M", "Q4_0",  "IQ4_XS", "Q4_1",
                                           "Q5_K_S", "Q6_K",   "Q8_0",   "MXFP4", "BF16",   "F16"};

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return out;
}

bool is_word(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// The word stands in path by itself: "Q4_K" is not in "x-Q4_K_M.gguf".
bool names(const std::string& path, const std::string& word) {
  const std::string text = upper(path);
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What a drafter's folder or file is called: "MTP/x-Q8_0.gguf", "x-eagle3-F16.gguf".
bool is_drafter(const std::string& path) {
  constexpr std::string_view kWords[] = {"MTP",    "DRAFT",  "DRAFTER",  "EAGLE",
                                         "EAGLE3", "DFLASH", "ASSISTANT"};
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return names(path, std::string(word)); });
}

// "x-00002-of-00003.gguf": "x", 2, 3. A whole file is part 1 of 1.
struct Part {
  std::string stem;
  unsigned number = 1, n_parts = 1;
};
Part part_of(const std::string& path) {
  Part part{path.substr(0, path.size() - std::string_view(".gguf").size())};
  constexpr size_t kTail = std::string_view("-00001-of-00003").size();
  if (part.stem.size() <= kTail) return part;
  const std::string_view tail = std::string_view(part.stem).substr(part.stem.size() - kTail);
  // Nothing (0) where five digits are not.
  const auto number_at = [tail](size_t at) {
    const std::string_view digits = tail.substr(at, 5);
    unsigned number = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return end == digits.data() + digits.size() ? number : 0;
  };
  const unsigned number = number_at(1), n_parts = number_at(10);
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || number < 1 || number > n_parts) return part;
  part.stem.erase(part.stem.size() - kTail);
  part.number = number;
  part.n_parts = n_parts;
  return part;
}

using Models = std::map<std::string, std::map<unsigned, RepositoryFile>>;  // by stem, by part

// The name that fits best: the shortest ("Q4_K_M" before "UD-Q4_K_M").
const Models::value_type* best(const Models& models, std::string_view wish) {
  const std::string word = upper(wish);
  const Models::value_type* found = nullptr;
  for (const auto& model : models) {
    const bool fits = names(model.first, word) || upper(base_name(model.first) + ".gguf") == word;
    if (fits && (found == nullptr || model.first.size() < found->first.size())) found = &model;
  }
  return found;
}

// "x-Q4_K_M" is asked for by "Q4_K_M", unless that means another one.
std::vector<Variant> variants_of(const Models& models) {
  std::vector<Variant> variants;
  for (const auto& model : models) {
    const std::string base = base_name(model.first);
    const std::string word = base.substr(base.find_last_of("-.") + 1);
    Variant variant{!word.empty() && best(models, word) == &model ? word : base};
    for (const auto& [number, file] : model.second) variant.n_bytes += file.n_bytes;
    variants.push_back(std::move(variant));
  }
  std::ranges::stable_sort(variants, {}, &Variant::n_bytes);
  return variants;
}

Result<Choice> choice_of(const Models& models, std::string_view variant,
                         const Models::value_type& model) {
  Choice choice{std::string(variant), {}, variants_of(models)};
  const unsigned n_parts = part_of(model.second.begin()->second.path).n_parts;
  for (unsigned number = 1; number <= n_parts; ++number) {
    const auto part = model.second.find(number);
    if (part == model.second.end()) {
      return make_error(ErrorCode::kNotFound, "{}: part {} of {} is missing there", model.first,
                        number, n_parts);
    }
    choice.files.push_back(part->second);
  }
  return choice;
}

// Of the files that could be one, the first that is named so; else the smallest.
std::optional<RepositoryFile> preferred(const std::vector<RepositoryFile>& files,
                                        const std::vector<std::string>& wishes) {
  for (const std::string& wish : wishes) {
    for (const RepositoryFile& file : files) {
      if (names(file.path, upper(wish))) return file;
    }
  }
  if (files.empty()) return std::nullopt;
  return std::ranges::min(files, {}, &RepositoryFile::n_bytes);
}

void add_companions(const std::vector<RepositoryFile>& projectors, const Models& drafters,
                    Choice* choice) {
  // A projector is small beside its model and loses much by fewer bits.
  if (const auto file = preferred(projectors, {"F16", "BF16", "Q8_0", "F32"})) {
    choice->companions.push_back({"projector", *file});
  }
  std::vector<RepositoryFile> whole;
  for (const auto& [stem, parts] : drafters) {
    if (parts.size() == 1 && part_of(parts.begin()->second.path).n_parts == 1) {
      whole.push_back(parts.begin()->second);
    }
  }
  if (const auto file = preferred(whole, {choice->variant, "Q8_0", "Q4_0", "F16"})) {
    choice->companions.push_back({"drafter", *file});
  }
}

}  // namespace

Result<Choice> choose_variant(const std::vector<RepositoryFile>& files, std::string_view variant) {
  Models models, drafters;
  std::vector<RepositoryFile> projectors;
  for (const RepositoryFile& file : files) {
    if (!upper(file.path).ends_with(".GGUF")) continue;
    const std::string name = upper(base_name(file.path));
    // Projectors and importance matrices are no models by themselves.
    if (name.find("IMATRIX") != std::string::npos) continue;
    if (name.find("MMPROJ") != std::string::npos) {
      projectors.push_back(file);
      continue;
    }
    const Part part = part_of(file.path);
    (is_drafter(file.path) ? drafters : models)[part.stem].emplace(part.number, file);
  }
  if (models.empty()) models.swap(drafters);  // a repository of drafters, or a model named so
  if (models.empty()) {
    return make_error(ErrorCode::kNotFound, "found {} files and no GGUF model among them",
                      files.size());
  }
  const auto with_companions = [&](std::string_view name, const Models::value_type& model) {
    auto choice = choice_of(models, name, model);
    if (choice) add_companions(projectors, drafters, &*choice);
    return choice;
  };
  if (!variant.empty()) {
    if (const auto* model = best(models, variant)) return with_companions(variant, *model);
    if (const auto* model = best(drafters, variant)) return choice_of(drafters, variant, *model);
  } else if (models.size() == 1) {
    const auto& only = *models.begin();
    for (const std::string_view known : kPreferred) {
      if (names(only.first, std::string(known))) return with_companions(known, only);
    }
    return with_companions(base_name(only.first), only);
  } else {
    for (const std::string_view wish : kPreferred) {
      if (const auto* model = best(models, wish)) return with_companions(wish, *model);
    }
  }
  std::vector<std::string> known;
  for (const auto& [stem, parts] : models) known.push_back(base_name(stem));
  return make_error(ErrorCode::kNotFound, "{}; there are {}",
                    variant.empty() ? std::string("name one of its models behind a colon")
                                    : fmt::format("no \"{}\"", variant),
                    fmt::join(known, ", "));
}

}  // namespace tempo9::store
