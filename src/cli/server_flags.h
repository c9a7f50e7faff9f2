// The flags of `tempo9 serve` that say where the server listens, who may ask, and what it logs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "server/server.h"

namespace CLI {
class App;
}

namespace tempo9::cli {

class ServerFlags {
 public:
  // The app keeps references to this.
  void add_to(CLI::App* app);
  // Once the app has parsed. Errors: kInvalidArgument for wrong usage, naming the flag; kIo for a
  // file that cannot be read.
  Result<server::ServerOptions> read(const Environment& environment) const;

 private:
  Status read_keys(const Environment& environment, std::vector<std::string>* keys) const;

  std::optional<std::string> host_, port_, unix_socket_;
  std::optional<std::string> api_key_, api_key_file_;
  std::string tls_cert_, tls_key_;
  std::vector<std::string> allow_origins_, allow_hosts_;
  std::string log_level_ = "warning", log_format_ = "text";
};

}  // namespace tempo9::cli
