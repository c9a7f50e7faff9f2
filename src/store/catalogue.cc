#include "store/catalogue.h"

namespace tempo9::store {

std::vector<KnownModel> known_models() {
  return {
#define T9_KNOWN_MODEL(...) KnownModel{__VA_ARGS__},
#include "store/catalogue.inc"
#undef T9_KNOWN_MODEL
  };
}

}  // namespace tempo9::store
