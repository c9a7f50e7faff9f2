// The console: a page for browsers, whose files are in the binary (web/, embedded by
// cmake/T9Console.cmake). It asks the same routes as any client, with the same key.
#pragma once

#include <span>
#include <string_view>

#include "server/http/message.h"

namespace tempo9::server {

struct ConsoleFile {
  std::string_view path;  // "/console/app.js"
  std::string_view type;  // of its content
  std::string_view etag;  // with its quotes
  std::string_view body;
};

// All of them; "/console/index.html" is the page itself. In the generated console_files.cc.
std::span<const ConsoleFile> console_files();

// Is the console meant? Everything below /console, and "/" for those who want HTML: clients of
// Ollama look at "/", too, and find there what they look for. These need no key: the page asks for
// it.
bool is_console(const http::Request& request);

// For a GET or HEAD that is_console(). Also while the model is being loaded.
http::Response console_response(const http::Request& request);

}  // namespace tempo9::server
