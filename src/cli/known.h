// The catalogue of known models, with what each takes on this machine.
#pragma once

#include "base/result.h"

namespace tempo9::cli {

// Prints it to standard output. Errors: none that a machine could cause.
Status print_known_models();

}  // namespace tempo9::cli
