// Whose request it is. Sessions share the places of the batch (sched/): an agent with many requests
// does not keep the others waiting. A key says nothing but equal or not.
#pragma once

#include "engine/engine.h"
#include "server/http/message.h"
#include "server/json_body.h"

namespace tempo9::server {

// As the client's headers say; 0: they do not.
uint64_t session_of(const http::Request& request);
// As a field of the body says (prompt_cache_key, metadata.user_id). Absent or not a string: stays.
void read_session(const Fields& fields, std::string_view key, engine::GenerateRequest* request);

}  // namespace tempo9::server
