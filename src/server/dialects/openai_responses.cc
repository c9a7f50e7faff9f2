// POST /v1/responses: the request.
#include "server/dialects/openai_responses.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "chat/exact_json.h"
#include "server/chat_job.h"
#include "server/dialects/openai_responses_input.h"
#include "server/dialects/openai_responses_items.h"
#include "server/errors.h"

namespace tempo9::server::openai {
namespace {

constexpr size_t kMaxMetadata = 16;

struct ResponseJob {
  ChatJob chat;
  ResponseReplyOptions reply;
};

// What the request says about the conversation, before it is rendered.
struct Conversation {
  chat::RenderInput input;
  chat::ToolChoice choice;
  bool parallel_calls = true;
  bool truncate = false;  // truncation "auto"
  std::vector<std::string> warnings;
};

// --- fields

void read_include(Fields& fields, ResponseReplyOptions* reply) {
  const Json* include = fields.find("include");
  if (include == nullptr) return;
  if (!include->is_array()) return fields.fail("include", "an array of strings");
  for (const Json& entry : *include) {
    if (!entry.is_string()) return fields.fail("include", "an array of strings");
    if (entry == "reasoning.encrypted_content") reply->encrypted_reasoning = true;
    if (entry == "message.output_text.logprobs") reply->logprobs = true;
  }
}

void read_text_format(Fields& fields, Structure* structure) {
  const Json* text = fields.find("text");
  if (text == nullptr) return;
  if (!text->is_object()) return fields.fail("text", "an object");
  Fields inner(*text, "text.");
  std::string verbosity;
  inner.read("verbosity", &verbosity);
  *structure = read_format(inner, "format");
  if (const Status status = inner.status(); !status) fields.fail(status.error());
}

void read_metadata(Fields& fields) {
  const Json* metadata = fields.find("metadata");
  if (metadata == nullptr) return;
  const bool fits = metadata->is_object() && metadata->size() <= kMaxMetadata &&
                    std::all_of(metadata->begin(), metadata->end(),
                                [](const Json& value) { return value.is_string(); });
  if (!fits) fields.fail("metadata", "an object of at most 16 strings");
}

void read_truncation(Fields& fields, bool* truncate) {
  std::string word;
  fields.read("truncation", &word);
  if (word.empty()) return;
  if (word != "auto" && word != "disabled")
    return fields.fail("truncation", "\"auto\" or \"disabled\"");
  *truncate = word == "auto";
}

void read_limits(Fields& fields, ResponseJob* job) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  std::optional<int64_t> value;
  fields.read("max_output_tokens", 1, std::numeric_limits<int64_t>::max(), &value);
  if (value) job->chat.request.max_tokens = static_cast<uint32_t>(std::min(*value, kMost));
  std::optional<int64_t> top;
  fields.read("top_logprobs", 0, 20, &top);
  if (top.value_or(0) > 0) job->reply.logprobs = true;
  if (job->reply.logprobs) job->chat.request.n_logprobs = static_cast<uint32_t>(top.value_or(0));
}

void refuse_unavailable(Fields& fields) {
  fields.refuse("background", "not available; leave it out, and keep the stream open");
  fields.refuse("conversation", "not available; use previous_response_id, or send the items");
  fields.refuse("prompt", "stored prompts are not available; send instructions and input");
}

// --- items

// An item as the store keeps it and input_items shows it: itself where it was a reference, with an
// id, and content as parts.
Json stored_item(const Json& item, const Service& service, const StoredItems& stored) {
  const auto id = referenced_id(item);
  const Json* found = id ? stored.find(*id) : nullptr;
  Json out = found != nullptr ? *found : item;
  if (field_of(out, "type").is_null()) out["type"] = "message";
  const bool is_message = out["type"] == "message";
  if (!field_of(out, "id").is_string()) out["id"] = service.make_id(is_message ? "msg_" : "item_");
  if (!is_message) return out;
  const bool assistant = field_of(out, "role") == "assistant";
  if (field_of(out, "status").is_null()) out["status"] = "completed";
  if (const Json content = field_of(out, "content"); content.is_string()) {
    Json part{{"type", assistant ? "output_text" : "input_text"}, {"text", content}};
    if (assistant) part["annotations"] = Json::array();
    out["content"] = Json::array({std::move(part)});
  }
  return out;
}

// The items before this request's own: what the earlier response saw and what it said.
Result<Json> earlier_items(Fields& fields, const Service& service) {
  std::string id;
  fields.read("previous_response_id", &id);
  T9_TRY(fields.status());
  if (id.empty()) return Json(Json::array());
  const auto stored = service.responses().get(id);
  if (stored == nullptr) {
    return make_error(
        ErrorCode::kNotFound,
        "previous_response_id: found {}, which is not stored here (it may be too old, "
        "deleted, or made with store: false); send the items themselves",
        dump(Json(id)));
  }
  Json items = *chat::parse_exactly(stored->items);
  Json response = *chat::parse_exactly(stored->response);
  for (Json& item : response["output"]) items.push_back(std::move(item));
  return items;
}

// instructions and input: a string is a message of that role.
Status read_items(const Json& value, const char* field, const char* role, ItemReader* reader) {
  if (value.is_null()) return {};
  if (value.is_string()) {
    return reader->read(Json{{"type", "message"}, {"role", role}, {"content", value}}, field);
  }
  if (!value.is_array()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{}: found {}, expected a string or an array of items", field,
                      describe(value));
  }
  for (size_t i = 0; i < value.size(); ++i) {
    T9_TRY(reader->read(value[i], fmt::format("{}[{}]", field, i)));
  }
  return {};
}

Status read_conversation(Fields& fields, const Json& body, const Service& service,
                         ResponseReplyOptions* reply, Conversation* out) {
  T9_TRY(reply->tools, ResponseTools::from_json(field_of(body, "tools")));
  T9_TRY(const Json earlier, earlier_items(fields, service));
  const Json& input = field_of(body, "input");
  if (input.is_null() && earlier.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "input: found nothing, expected a string or an array of items");
  }
  const Json& instructions = field_of(body, "instructions");
  StoredItems stored;
  stored.add(instructions, service.responses());
  stored.add(input, service.responses());
  ItemReader reader(
      &reply->tools, [&stored](const std::string& id) { return stored.find(id); }, &out->warnings);
  T9_TRY(read_items(instructions, "instructions", "system", &reader));
  T9_TRY(read_items(earlier, "previous_response_id", "user", &reader));
  T9_TRY(read_items(input, "input", "user", &reader));
  out->input.messages = std::move(reader.messages());
  // A request to warm up may be empty.
  if (out->input.messages.empty()) {
    out->input.messages.emplace_back();
    out->input.messages.back().role = "user";
  }
  T9_TRY(replace_media("input", &out->input.messages));
  out->input.tools = reply->tools.shown();
  if (!reply->store) return {};
  reply->items = earlier;
  if (input.is_string()) {
    reply->items.push_back(stored_item(
        Json{{"role", "user"}, {"content", input}, {"type", "message"}}, service, stored));
  } else if (input.is_array()) {
    for (const Json& item : input) reply->items.push_back(stored_item(item, service, stored));
  }
  return {};
}

// A choice of tools by the names that the model sees.
Result<chat::ToolChoice> read_tool_choice(const Json& value) {
  if (value.is_object()) {
    const Json type = value.value("type", Json());
    const bool known =
        type == "function" || type == "custom" || type == "allowed_tools" || type == "tool";
    if (type == "tool_search") {
      return chat::ToolChoice{chat::ToolChoice::Kind::kNamed, "tool_search", {}};
    }
    if (!known && type.is_string()) {
      return make_error(ErrorCode::kUnsupported,
                        "tool_choice: tools of type {} are not served here", dump(type));
    }
    Json named = value;
    const auto join = [](Json* tool) {
      if (!tool->is_object() || !field_of(*tool, "namespace").is_string() ||
          !field_of(*tool, "name").is_string()) {
        return;
      }
      (*tool)["name"] = ResponseTools::visible_name((*tool)["namespace"].get<std::string>(),
                                                    (*tool)["name"].get<std::string>());
    };
    join(&named);
    if (named.contains("tools") && named["tools"].is_array()) {
      for (Json& tool : named["tools"]) join(&tool);
    }
    return chat::tool_choice_from_json(named);
  }
  return chat::tool_choice_from_json(value);
}

// --- the prompt

// truncation "auto": the oldest messages behind the leading instructions go until the rest fits. A
// tool's result does not stand first.
Status prepare(const Service& service, Conversation& conversation, ChatJob* job) {
  const ChatJob plain = *job;
  const auto prepare_from = [&](size_t n_lead, size_t first) -> Status {
    *job = plain;
    chat::RenderInput input = conversation.input;
    const auto begin = input.messages.begin();
    input.messages.erase(begin + static_cast<ptrdiff_t>(n_lead),
                         begin + static_cast<ptrdiff_t>(first));
    return prepare_chat(service, std::move(input), conversation.choice, conversation.parallel_calls,
                        job);
  };
  T9_TRY(prepare_from(0, 0));
  const Status fits = check_length(service, job->request);
  if (fits || !conversation.truncate) return fits;

  const auto& messages = conversation.input.messages;
  size_t n_lead = 0;
  while (n_lead < messages.size() &&
         (messages[n_lead].role == "system" || messages[n_lead].role == "developer")) {
    ++n_lead;
  }
  std::vector<size_t> firsts;  // where the kept rest may begin
  for (size_t i = n_lead + 1; i < messages.size(); ++i) {
    if (messages[i].role != "tool") firsts.push_back(i);
  }
  // The earliest that fits: what fits from one place fits from every later one.
  size_t low = 0, high = firsts.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const Status prepared = prepare_from(n_lead, firsts[middle]);
    if (prepared && check_length(service, job->request)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low == firsts.size()) return fits;
  conversation.warnings.push_back(
      fmt::format("truncation: the oldest {} of {} messages were left out to fit the context",
                  firsts[low] - n_lead, messages.size()));
  return prepare_from(n_lead, firsts[low]);
}

// What the request settles of the response object, in the API's order.
Json response_object(const Json& body, const Service& service, const std::string& model,
                     const ResponseJob& job, const std::vector<std::string>& warnings) {
  const auto echo = [&body](const char* key, Json otherwise) {
    const Json& value = field_of(body, key);
    return value.is_null() ? std::move(otherwise) : value;
  };
  const Json& reasoning = field_of(body, "reasoning");
  Json response = Json::object();
  response["id"] = service.make_id("resp_");
  response["object"] = "response";
  response["created_at"] = unix_seconds();
  response["status"] = "in_progress";
  response["access_programs"] = nullptr;  // the types have it
  response["background"] = false;
  response["completed_at"] = nullptr;
  response["error"] = nullptr;
  response["incomplete_details"] = nullptr;
  response["instructions"] = echo("instructions", nullptr);
  response["max_output_tokens"] = echo("max_output_tokens", nullptr);
  response["max_tool_calls"] = echo("max_tool_calls", nullptr);
  response["model"] = model;
  response["output"] = Json::array();
  response["parallel_tool_calls"] = echo("parallel_tool_calls", true);
  response["previous_response_id"] = echo("previous_response_id", nullptr);
  response["prompt_cache_key"] = echo("prompt_cache_key", nullptr);
  response["reasoning"] = {
      {"effort", reasoning.is_object() ? field_of(reasoning, "effort") : Json()},
      {"summary", reasoning.is_object() ? field_of(reasoning, "summary") : Json()}};
  response["safety_identifier"] = echo("safety_identifier", nullptr);
  response["service_tier"] = "default";
  response["store"] = job.reply.store;
  response["temperature"] = echo("temperature", 1.0);
  response["text"] = echo("text", Json::object());
  if (!response["text"].contains("format")) response["text"]["format"] = {{"type", "text"}};
  response["tool_choice"] = echo("tool_choice", "auto");
  response["tools"] = echo("tools", Json::array());
  response["top_logprobs"] = echo("top_logprobs", 0);
  response["top_p"] = echo("top_p", 1.0);
  response["truncation"] = echo("truncation", "disabled");
  response["usage"] = nullptr;
  response["user"] = echo("user", nullptr);
  response["metadata"] = echo("metadata", Json::object());
  if (!warnings.empty()) response["warnings"] = warnings;
  return response;
}

Result<ResponseJob> read_response_job(const Json& body, const Service& service) {
  ResponseJob job;
  Conversation conversation;
  Fields fields(body);
  const std::string model = read_model(fields, service);
  job.reply.streamed = read_stream_options(fields).stream;
  read_generation(fields, service, &job.chat.request);
  read_include(fields, &job.reply);
  read_limits(fields, &job);
  read_text_format(fields, &job.chat.structure);
  read_metadata(fields);
  read_truncation(fields, &conversation.truncate);
  fields.read("store", &job.reply.store);
  fields.read("parallel_tool_calls", &conversation.parallel_calls);
  refuse_unavailable(fields);
  T9_TRY(fields.status());

  T9_TRY(service.chat_template());
  T9_TRY(
      read_template_kwargs(fields, &conversation.input.template_kwargs, &job.chat.thinking_budget));
  T9_TRY(conversation.choice, read_tool_choice(field_of(body, "tool_choice")));
  T9_TRY(read_conversation(fields, body, service, &job.reply, &conversation));
  T9_TRY(fields.status());
  job.chat.parser.parser.tools = job.reply.tools.loaded();
  T9_TRY(prepare(service, conversation, &job.chat));

  std::vector<std::string> warnings = job.reply.tools.warnings();
  warnings.insert(warnings.end(), conversation.warnings.begin(), conversation.warnings.end());
  job.reply.response = response_object(body, service, model, job, warnings);
  job.reply.parser = std::move(job.chat.parser);
  job.reply.one_call = job.chat.one_call;
  job.reply.ignore_eos = job.chat.request.ignore_eos;
  return job;
}

}  // namespace

void create_response(std::shared_ptr<const Service> service,
                     std::shared_ptr<http::Exchange> exchange) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(openai_error(body.error()));
  auto job = read_response_job(*body, *service);
  if (!job) return exchange->respond(openai_error(job.error()));
  std::vector<engine::GenerateRequest> requests;
  requests.push_back(std::move(job->chat.request));
  auto reply = make_response_reply(service, std::move(job->reply));
  generate(service, exchange, std::move(requests), std::move(reply), job->chat.call_list);
}

void count_response_tokens(std::shared_ptr<const Service> service,
                           std::shared_ptr<http::Exchange> exchange) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(openai_error(body.error()));
  auto job = read_response_job(*body, *service);
  if (!job) return exchange->respond(openai_error(job.error()));
  exchange->respond({.body = dump(Json{{"object", "response.input_tokens"},
                                       {"input_tokens", job->chat.request.prompt.size()}})});
}

}  // namespace tempo9::server::openai
