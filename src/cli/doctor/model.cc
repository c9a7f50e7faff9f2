#include "cli/doctor/model.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/options.h"
#include "cli/show_text.h"
#include "cli/sources.h"
#include "engine/memory_budget.h"
#include "store/ollama.h"
#include "store/own_store.h"
#include "store/remote_header.h"
#include "tokenizer/tokenizer.h"

namespace tempo9::cli {
namespace {

Result<FoundModel> open_local(std::string name, std::string place, const std::string& path) {
  T9_TRY(gguf::File file, gguf::File::open(path));
  return FoundModel{std::move(name), std::move(place), std::move(file)};
}

Result<FoundModel> open_remote(const ModelAsked& asked, const Environment& environment) {
  T9_TRY(auto remote, store::find_remote(asked.name, source_options(asked.mirror, environment)));
  std::vector<std::unique_ptr<store::RemoteHeader>> headers;
  std::vector<gguf::File::Remote> files;
  for (const store::RemoteFile& file : remote.files) {
    headers.push_back(std::make_unique<store::RemoteHeader>(file, remote.headers));
    files.push_back({file.name, file.n_bytes,
                     [header = headers.back().get()](uint64_t offset, void* dst, size_t n) {
                       return header->read(offset, dst, n);
                     }});
  }
  T9_TRY(gguf::File file, gguf::File::open_remote(std::move(files)));
  FoundModel model{std::move(remote.name), "remote", std::move(file)};
  for (const auto& header : headers) model.n_fetched += header->n_fetched();
  model.variants = std::move(remote.variants);
  return model;
}

const char* place_text(const std::string& place) {
  if (place == "store") return "in Tempo9's store";
  if (place == "ollama") return "in Ollama's store";
  if (place == "remote") return "not fetched yet";
  return "a file";
}

// The largest of the repository that would fit beside the same KV cache; its file's size stands for
// its weights.
std::optional<store::Variant> fitting_variant(const FoundModel& model,
                                              const engine::MemoryBudget& budget) {
  engine::MemoryNeed need = budget.need;
  std::optional<store::Variant> fitting;
  for (const store::Variant& variant : model.variants) {
    need.weight_bytes = variant.n_bytes;
    if (need.total(budget.length) <= budget.room()) fitting = variant;
  }
  return fitting;
}

Check not_served(Check check, const Error& error) {
  check.level = Level::kFail;
  check.found += fmt::format(": {}", error.message);
  check.expected = "a model that this version can serve";
  check.advice = "take another one; `tempo9 list --known` shows some";
  return check;
}

}  // namespace

Result<FoundModel> find_model(const ModelAsked& asked, const Environment& environment) {
  if (!asked.ollama.empty()) {
    T9_TRY(const auto model, store::find_ollama(ollama_folder(environment), asked.ollama));
    return open_local(model.name, "ollama", model.path);
  }
  std::error_code ignored;
  if (std::filesystem::exists(asked.name, ignored) || asked.name.ends_with(".gguf")) {
    return open_local(asked.name, "file", asked.name);
  }
  const auto own = store::OwnStore(models_folder(environment)).find(asked.name);
  if (own) return open_local(own->name, "store", own->path);
  if (own.error().code != ErrorCode::kNotFound) return own.error();
  const auto ollama = store::find_ollama(ollama_folder(environment), asked.name);
  if (ollama) return open_local(ollama->name, "ollama", ollama->path);
  return open_remote(asked, environment);
}

Check check_no_model(const ModelAsked& asked, const Error& error) {
  const std::string& name = asked.ollama.empty() ? asked.name : asked.ollama;
  return {.name = "model",
          .level = Level::kFail,
          .found = error.message,
          .expected = "a GGUF file, a model of a store here, or one that can be fetched",
          .advice =
              "`tempo9 list` and `tempo9 --list-ollama` show what is here, `tempo9 list "
              "--known` what could be fetched",
          .details = {{"name", name}}};
}

Check check_model(const FoundModel& model, const engine::EngineOptions& options) {
  Check check{.name = "model"};
  check.found = fmt::format("{} ({}, {})", model.name, place_text(model.place),
                            byte_size(model.file.file_bytes()));
  check.details = {{"name", model.name},
                   {"place", model.place},
                   {"file_bytes", model.file.file_bytes()},
                   {"fetched_bytes", model.n_fetched}};
  const auto budget = engine::memory_budget(model.file, options);
  if (!budget) return not_served(std::move(check), budget.error());
  auto vocab = tokenizer::read_vocab(model.file);
  if (!vocab) return not_served(std::move(check), vocab.error());
  if (const auto made = tokenizer::make_tokenizer(*std::move(vocab)); !made) {
    return not_served(std::move(check), made.error());
  }
  const uint32_t n_requests = budget->fits() ? budget->n_requests() : 0;
  check.found += fmt::format(": {}; {}", budget->sum(), budget->room_text());
  check.details.update({{"weight_bytes", budget->need.weight_bytes},
                        {"draft_bytes", budget->need.draft_bytes},
                        {"kv_bytes", budget->needed() - budget->need.fixed_bytes()},
                        {"kv_type", options.kv_type},
                        {"working_bytes", engine::kWorkingBytes},
                        {"needed_bytes", budget->needed()},
                        {"limit_bytes", budget->limit},
                        {"available_bytes", budget->available},
                        {"length", budget->length},
                        {"declared_length", budget->declared},
                        {"longest_that_fits", budget->longest()},
                        {"requests_that_fit", n_requests}});
  if (budget->fits()) {
    check.found += fmt::format(", enough for {} {} of that length at once", n_requests,
                               n_requests == 1 ? "request" : "requests");
    if (budget->length > budget->declared) {
      check.level = Level::kWarn;
      check.expected =
          fmt::format("at most the {} tokens that the file declares", budget->declared);
      check.advice = "a smaller --max-length; beyond that replies may be poor";
    }
    return check;
  }
  // Nobody asked for this length: the server starts with a smaller one.
  const bool shrinks = options.max_length == 0 && budget->longest() > 0;
  check.level = shrinks ? Level::kWarn : Level::kFail;
  check.expected = fmt::format("{} MiB or more", (budget->needed() >> 20) + 1);
  check.advice = budget->what_fits();
  if (const auto variant = fitting_variant(model, *budget)) {
    check.advice += fmt::format(", as {} of the same repository ({})", variant->name,
                                byte_size(variant->n_bytes));
    check.details["variant_that_fits"] = variant->name;
  }
  return check;
}

}  // namespace tempo9::cli
