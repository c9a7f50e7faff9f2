// tempo9 show: what is inside a GGUF file, for people.
#pragma once

#include <ostream>
#include <string>

namespace tempo9::cli {

struct ShowOptions {
  bool full_template = false;  // print chat templates whole, not just their beginning
};

// Prints size, shards, architecture, tokenizer, chat template, metadata, tensors and totals by type
// to out. Weights are not read. Returns the exit code: 0, or 1 with "tempo9: ..." on err when the
// file cannot be opened.
int run_show(const std::string& path, std::ostream& out, std::ostream& err,
             const ShowOptions& options = {});

}  // namespace tempo9::cli
