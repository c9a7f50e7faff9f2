// Where things go and what is there already: disk, port, Ollama's store.
#pragma once

#include <cstdint>
#include <string>

#include "cli/doctor/report.h"

namespace tempo9::cli {

// The KV cache on disk. folder: empty if it is off. Nothing is written.
Check check_kv_disk(const std::string& folder, uint64_t cap_bytes);

// Where `tempo9 pull` puts models. n_bytes: of one that is to be fetched; 0: none.
Check check_models_folder(const std::string& folder, uint64_t n_bytes);

// Whether a server could listen on that port of 127.0.0.1; if not, who does.
Check check_port(uint16_t port);

// Ollama's store: found, and models that can be read. None is fine.
Check check_ollama(const std::string& folder);

}  // namespace tempo9::cli
