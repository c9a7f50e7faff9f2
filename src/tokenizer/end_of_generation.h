// Which tokens end a reply.
#pragma once

#include <vector>

#include "tokenizer/tokenizer.h"

namespace tempo9::tokenizer {

// One flag per token: what the file's keys name (EOS, EOT, EOM), and control tokens with a spelling
// that ends the turn in a model family. Files seldom name more than one, but Llama 3 ends with
// <|eot_id|>, <|eom_id|> or <|end_of_text|>.
std::vector<bool> find_end_tokens(const VocabData& vocab);

}  // namespace tempo9::tokenizer
