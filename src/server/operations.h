// Routes beside the dialects: /health, /metrics, /tokenize, /detokenize, /apply-template.
#pragma once

#include <memory>

#include "server/http/message.h"
#include "server/service.h"

namespace tempo9::server {

void metrics(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void tokenize(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void detokenize(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange);
void apply_template(std::shared_ptr<const Service> service,
                    std::shared_ptr<http::Exchange> exchange);

}  // namespace tempo9::server
