#include <fmt/ranges.h>

#include "models/blocks/decoder.h"
#include "models/models.h"

namespace tempo9::models {

#define T9_MODEL(name, record) Status record(Reader& reader, ops::Program& program);
#include "models/list.inc"
#undef T9_MODEL

namespace {

struct Entry {
  std::string_view architecture;
  Status (*record)(Reader&, ops::Program&);
};

constexpr Entry kModels[] = {
#define T9_MODEL(name, record) {name, &record},
#include "models/list.inc"
#undef T9_MODEL
};

}  // namespace

std::vector<std::string_view> known_architectures() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kModels) names.push_back(entry.architecture);
  return names;
}

Result<ops::Program> build_program(const gguf::File& file, uint32_t max_length) {
  T9_TRY(const std::string architecture, file.get_string("general.architecture"));
  for (const Entry& entry : kModels) {
    if (entry.architecture != architecture) continue;
    ops::Program program;
    T9_TRY(const uint32_t declared, context_length(file));
    T9_TRY(Reader reader,
           Reader::create(file, architecture, max_length > 0 ? max_length : declared));
    // First: a recorder ends with refusing tensors that nobody has read.
    T9_TRY(keep_draft_layers(reader, program));
    T9_TRY(entry.record(reader, program));
    return program;
  }
  return make_error(ErrorCode::kUnsupported,
                    "{}: general.architecture is '{}', which this version cannot run; it runs {}. "
                    "Take a file of one of those families.",
                    file.path(), architecture, fmt::join(known_architectures(), ", "));
}

Result<uint32_t> context_length(const gguf::File& file) {
  T9_TRY(const std::string architecture, file.get_string("general.architecture"));
  T9_TRY(const uint64_t length, file.get_uint(architecture + ".context_length"));
  if (length == 0 || length > (1u << 30)) {
    return make_error(ErrorCode::kCorrupt, "{}: {}.context_length is {}, expected 1 to 2^30",
                      file.path(), architecture, length);
  }
  return static_cast<uint32_t>(length);
}

}  // namespace tempo9::models
