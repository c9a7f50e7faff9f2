#include "cli/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/show_text.h"
#include "engine/memory_budget.h"
#include "store/catalogue.h"

namespace tempo9::cli {
namespace {

std::string fits_text(const engine::MemoryBudget& budget) {
  if (budget.fits()) return "fits";
  const uint32_t longest = budget.longest();
  return longest == 0 ? "too large" : fmt::format("fits with --max-length {}", longest);
}

}  // namespace

Status print_known_models() {
  const auto models = store::known_models();
  size_t width = 0;
  for (const auto& model : models) width = std::max(width, model.name.size());
  fmt::print("{:<{}}  {:>10}  {:>10}  {:<27}  {}\n", "model", width, "file", "memory", "here",
             "good for");
  for (const auto& model : models) {
    T9_TRY(const auto budget,
           engine::memory_budget(engine::ModelShape{.weight_bytes = model.n_bytes,
                                                    .context_length = model.context_length,
                                                    .n_layers = model.n_layers,
                                                    .n_kv_heads = model.n_kv_heads,
                                                    .head_dim = model.head_dim,
                                                    .n_window_layers = model.n_window_layers,
                                                    .window = model.window},
                                 {}));
    fmt::print("{:<{}}  {:>10}  {:>10}  {:<27}  {}\n", model.name, width, byte_size(model.n_bytes),
               byte_size(budget.needed()), fits_text(budget), model.purpose);
  }
  fmt::print(
      "memory: weights, working set and a KV cache of 32768 tokens. `tempo9 doctor MODEL` "
      "tells more, `tempo9 pull MODEL` fetches it.\n");
  return {};
}

}  // namespace tempo9::cli
