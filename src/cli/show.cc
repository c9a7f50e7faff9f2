#include "cli/show.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/parser.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/parse_arguments.h"
#include "cli/show_text.h"
#include "cli/sources.h"
#include "gguf/gguf.h"
#include "gguf/text.h"
#include "store/ollama.h"
#include "store/own_store.h"

namespace tempo9::cli {
namespace {

// Lines of text, gathered before anything is printed.
class Page {
 public:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void title(std::string_view text) { line("\n{}", text); }
  void field(std::string_view label, std::string_view value) { line("  {:<18} {}", label, value); }
  void raw(std::string_view text) { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A metadata value as text for a summary; nothing if the key is absent.
std::optional<std::string> text_of(const gguf::File& file, const std::string& key) {
  const gguf::Value* value = file.find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(value)) return gguf::printable(*text);
  for (size_t i = 0; i < file.metadata().size(); ++i) {
    if (file.metadata()[i].first == key) return value_text(*value, file.metadata_kinds()[i]);
  }
  return std::nullopt;
}

void show_file(Page& page, const gguf::File& file) {
  page.line("{}", gguf::printable(file.path(), 4096));
  page.field("format", fmt::format("GGUF version {}", file.version()));
  page.field("size", fmt::format("{} ({} bytes)", byte_size(file.file_bytes()),
                                 grouped(file.file_bytes())));
  if (file.shard_paths().size() > 1) {
    page.field("shards", fmt::format("{}", file.shard_paths().size()));
    for (const std::string& path : file.shard_paths())
      page.line("    {}", gguf::printable(path, 4096));
  }
  page.field("contents", fmt::format("{} tensors, {} metadata keys", file.tensors().size(),
                                     file.metadata().size()));
}

void show_model(Page& page, const gguf::File& file) {
  const std::string arch = file.get_string("general.architecture", "").value_or("");
  page.title("Model");
  page.field("architecture", arch.empty() ? "not given" : gguf::printable(arch));
  // What people look for first, under the name of the architecture or for all of them.
  const std::array<std::pair<const char*, std::string>, 15> fields = {{
      {"name", "general.name"},
      {"size label", "general.size_label"},
      {"license", "general.license"},
      {"layers", arch + ".block_count"},
      {"context length", arch + ".context_length"},
      {"embedding length", arch + ".embedding_length"},
      {"feed-forward", arch + ".feed_forward_length"},
      {"heads", arch + ".attention.head_count"},
      {"KV heads", arch + ".attention.head_count_kv"},
      {"head size", arch + ".attention.key_length"},
      {"sliding window", arch + ".attention.sliding_window"},
      {"rope base", arch + ".rope.freq_base"},
      {"rope scaling", arch + ".rope.scaling.type"},
      {"experts", arch + ".expert_count"},
      {"experts used", arch + ".expert_used_count"},
  }};
  for (const auto& [label, key] : fields) {
    if (const auto text = text_of(file, key)) page.field(label, *text);
  }
  uint64_t n_parameters = 0;
  uint64_t n_bytes = 0;
  for (const gguf::Tensor& tensor : file.tensors()) {
    n_parameters += tensor.n_elements();
    n_bytes += tensor.data.size();
  }
  if (n_parameters == 0) return;
  page.field("parameters",
             fmt::format("{} at {:.2f} bits each", grouped(n_parameters),
                         8 * static_cast<double>(n_bytes) / static_cast<double>(n_parameters)));
}

void show_token_types(Page& page, const gguf::File& file) {
  constexpr std::array<std::string_view, 7> kNames = {
      "undefined", "normal", "unknown", "control", "user-defined", "unused", "byte"};
  const auto types = file.get_ints("tokenizer.ggml.token_type");
  if (!types || types->empty()) return;
  std::map<int64_t, size_t> counts;
  for (int64_t type : *types) ++counts[type];
  std::string text;
  for (const auto& [type, count] : counts) {
    const bool known = type >= 0 && static_cast<size_t>(type) < kNames.size();
    const std::string name =
        known ? std::string(kNames[static_cast<size_t>(type)]) : fmt::format("type {}", type);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), name);
  }
  page.field("token types", text);
}

void show_tokenizer(Page& page, const gguf::File& file) {
  const auto model = text_of(file, "tokenizer.ggml.model");
  if (!model) return;
  page.title("Tokenizer");
  page.field("model", *model);
  if (const auto pre = text_of(file, "tokenizer.ggml.pre")) page.field("pre-tokenizer", *pre);
  const auto tokens = file.get_strings("tokenizer.ggml.tokens");
  if (!tokens) {
    page.field("tokens", tokens.error().message);
    return;
  }
  page.field("tokens", grouped(tokens->size()));
  show_token_types(page, file);
  if (const auto merges = file.get_strings("tokenizer.ggml.merges"); merges && !merges->empty()) {
    page.field("merges", grouped(merges->size()));
  }
  for (const char* name : {"bos", "eos", "eot", "unknown", "padding"}) {
    const auto id = file.get_uint(fmt::format("tokenizer.ggml.{}_token_id", name));
    if (!id) continue;
    page.field(fmt::format("{} token", name),
               *id < tokens->size() ? fmt::format("{} \"{}\"", *id, gguf::printable((*tokens)[*id]))
                                    : fmt::format("{} (outside the vocabulary)", *id));
  }
  for (const char* name : {"add_bos_token", "add_eos_token", "add_space_prefix"}) {
    if (const auto text = text_of(file, fmt::format("tokenizer.ggml.{}", name)))
      page.field(name, *text);
  }
}

void show_template(Page& page, const std::string& name, const std::string& text, bool full) {
  page.title(name);
  if (full) {
    page.raw(text);
    if (!text.ends_with('\n')) page.raw("\n");
    return;
  }
  const auto n_lines = std::count(text.begin(), text.end(), '\n') + 1;
  page.line("  {} bytes, {} lines; --template prints it whole", grouped(text.size()), n_lines);
  page.line("  {}", gguf::printable(text, 96));
}

// Which parser reads the model's calls and thinking; --tool-parser chooses another.
std::string output_format(const gguf::File& file, const std::string& source) {
  const auto tokens = file.get_strings("tokenizer.ggml.tokens");
  const auto types = file.get_ints("tokenizer.ggml.token_type");
  return chat::choose_format(source, [&](std::string_view token) {
    constexpr int64_t kControl = 3, kUserDefined = 4;
    if (!tokens || !types) return false;
    for (size_t i = 0; i < std::min(tokens->size(), types->size()); ++i) {
      if ((*tokens)[i] == token) return (*types)[i] == kControl || (*types)[i] == kUserDefined;
    }
    return false;
  });
}

void show_templates(Page& page, const gguf::File& file, bool full) {
  constexpr std::string_view kPrefix = "tokenizer.chat_template";
  bool any = false;
  for (const auto& [key, value] : file.metadata()) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || key.rfind(kPrefix, 0) != 0) continue;
    const std::string name = key.size() > kPrefix.size() ? key.substr(kPrefix.size() + 1) : "";
    show_template(
        page, name.empty() ? "Chat template" : "Chat template \"" + gguf::printable(name) + "\"",
        *text, full);
    if (!full) page.line("  output format {}", output_format(file, *text));
    any = true;
  }
  if (!any) page.line("\nChat template\n  none: the file can complete text, but not chat");
}

void show_metadata(Page& page, const gguf::File& file) {
  page.title("Metadata");
  size_t key_width = 0;
  size_t kind_width = 0;
  for (size_t i = 0; i < file.metadata().size(); ++i) {
    key_width = std::max(key_width, gguf::printable(file.metadata()[i].first).size());
    kind_width = std::max(kind_width, file.metadata_kinds()[i].size());
  }
  for (size_t i = 0; i < file.metadata().size(); ++i) {
    const auto& [key, value] = file.metadata()[i];
    const std::string& kind = file.metadata_kinds()[i];
    page.line("  {:<{}}  {:<{}}  {}", gguf::printable(key), key_width, kind, kind_width,
              value_text(value, kind));
  }
}

void show_tensors(Page& page, const gguf::File& file) {
  struct Total {
    size_t n_tensors = 0;
    uint64_t n_elements = 0;
    uint64_t n_bytes = 0;
  };
  std::map<std::string_view, Total> totals;
  size_t width = 0;
  for (const gguf::Tensor& tensor : file.tensors())
    width = std::max(width, gguf::printable(tensor.name).size());
  page.title("Tensors");
  for (const gguf::Tensor& tensor : file.tensors()) {
    const std::string_view type = dtype_info(tensor.type).name;
    page.line("  {:<{}}  {:<8}  {:>20}  {:>14} bytes", gguf::printable(tensor.name), width, type,
              shape(tensor), grouped(tensor.data.size()));
    Total& total = totals[type];
    ++total.n_tensors;
    total.n_elements += tensor.n_elements();
    total.n_bytes += tensor.data.size();
  }
  std::vector<std::pair<std::string_view, Total>> by_size(totals.begin(), totals.end());
  std::stable_sort(by_size.begin(), by_size.end(), [](const auto& a, const auto& b) {
    return a.second.n_bytes > b.second.n_bytes;
  });
  page.title("Totals by type");
  for (const auto& [type, total] : by_size) {
    page.line("  {:<8}  {:>6} tensors  {:>16} elements  {:>10}", type, total.n_tensors,
              grouped(total.n_elements), byte_size(total.n_bytes));
  }
}

// A file, or the name of a model of our own store or of Ollama's.
Result<std::string> path_of(const std::string& word, const Environment& environment) {
  std::error_code ignored;
  const bool is_path = word.ends_with(".gguf") || word.starts_with('/') || word.starts_with('.');
  if (is_path || std::filesystem::exists(word, ignored)) return word;
  auto own = store::OwnStore(models_folder(environment)).find(word);
  if (own) return own->path;
  if (own.error().code != ErrorCode::kNotFound) return std::move(own).error();
  auto ollama = store::find_ollama(ollama_folder(environment), word);
  if (ollama) return ollama->path;
  if (ollama.error().code != ErrorCode::kNotFound) return std::move(ollama).error();
  return make_error(ErrorCode::kNotFound,
                    "{}: neither a file nor a model that is here; `tempo9 list` and `tempo9 "
                    "--list-ollama` show those that are",
                    gguf::printable(word));
}

}  // namespace

int run_show(const std::string& path, std::ostream& out, std::ostream& err,
             const ShowOptions& options) {
  const Result<gguf::File> file = gguf::File::open(path);
  if (!file) {
    err << "tempo9: " << file.error().message << '\n';
    return kExitFailure;
  }
  Page page;
  show_file(page, *file);
  show_model(page, *file);
  show_tokenizer(page, *file);
  show_templates(page, *file, options.full_template);
  show_metadata(page, *file);
  if (!file->tensors().empty()) show_tensors(page, *file);
  out << page.text() << std::flush;
  if (!out) {
    err << "tempo9: show: cannot write to standard output\n";
    return kExitFailure;
  }
  return kExitOk;
}

int run_show(const std::vector<std::string>& args, const Environment& environment) {
  ShowOptions options;
  std::string path;
  CLI::App app("Prints what is inside a GGUF file. Weights are not read.", "tempo9 show");
  app.allow_extras();
  app.add_option("model", path, "the model's file, or its name in a store here")
      ->required()
      ->type_name("MODEL");
  app.add_flag("--template", options.full_template,
               "chat templates whole, not their beginning only");
  const auto goes_on = parse_arguments(app, args);
  if (!goes_on) return report(fmt::format("show: {}", goes_on.error().message), kExitUsage);
  if (!*goes_on) {
    fmt::print("{}", app.help());
    return finish_output(kExitOk);
  }
  if (const auto extras = app.remaining(); !extras.empty()) {
    const std::string word = gguf::printable(extras.front());
    const Error unknown = unknown_argument(word, flag_names(app), ", expected --template");
    return report(fmt::format("show: {}", unknown.message), kExitUsage);
  }
  const auto file = path_of(path, environment);
  if (!file) return report(file.error().message, kExitFailure);
  return run_show(*file, std::cout, std::cerr, options);
}

}  // namespace tempo9::cli
