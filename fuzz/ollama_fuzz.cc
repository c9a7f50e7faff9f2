// Links: t9_store
// Changes: 500
// A manifest of any bytes in Ollama's store, and the same as a description in our own: what is
// listed has a name and lies in the store.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/testing/temp_folder.h"
#include "store/ollama.h"
#include "store/own_store.h"

namespace {

namespace fs = std::filesystem;

struct Stores {
  tempo9::TempFolder folder;
  std::string ollama = folder.file("ollama"), own = folder.file("own");

  Stores() {
    fs::create_directories(ollama + "/manifests/registry.ollama.ai/library/tiny");
    fs::create_directories(ollama + "/blobs");
    fs::create_directories(own + "/o/tiny/Q4_0");
    std::ofstream(ollama + "/blobs/sha256-" + std::string(64, 'a')) << "GGUF";
    std::ofstream(own + "/o/tiny/Q4_0/tiny.gguf") << "GGUF";
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Stores stores;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::ofstream(stores.ollama + "/manifests/registry.ollama.ai/library/tiny/latest",
                std::ios::binary)
      << bytes;
  for (const auto& model : tempo9::store::list_ollama(stores.ollama)) {
    T9_CHECK(model.name == "tiny:latest" && model.n_bytes == 4);
    T9_CHECK(model.path.starts_with(stores.ollama + "/blobs/"));
    T9_CHECK(tempo9::store::find_ollama(stores.ollama, "tiny").has_value() != model.has_adapter);
  }
  std::ofstream(stores.own + "/o/tiny/Q4_0/model.json", std::ios::binary) << bytes;
  for (const auto& model : tempo9::store::OwnStore(stores.own).list()) {
    T9_CHECK(!model.name.empty());
    T9_CHECK(fs::path(model.path).lexically_normal().string().starts_with(stores.own + "/"));
  }
  return 0;
}
