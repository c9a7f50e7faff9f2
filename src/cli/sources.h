// Where models are, and where they come from.
#pragma once

#include <string>

#include "cli/cli.h"
#include "store/source.h"

namespace tempo9::cli {

// Where `tempo9 pull` puts models.
std::string models_folder(const Environment& environment);

// Where it asks for them: mirror, if it is not empty, in place of Hugging Face and Ollama's
// registry. A mirror gets no token.
store::SourceOptions source_options(const std::string& mirror, const Environment& environment);

}  // namespace tempo9::cli
