// POST /v1/completions: the request. What the reply looks like is in openai_completions_reply.cc.
#include "server/dialects/openai_completions.h"

#include <utility>

#include "server/errors.h"
#include "server/infill.h"
#include "server/structure.h"

namespace tempo9::server::openai {
namespace {

constexpr size_t kMaxChoices = 1024;  // prompts x n
constexpr uint32_t kDefaultMaxTokens = 16;

struct CompletionJob {
  engine::GenerateRequest request;  // without its prompt
  int64_t n = 1;
  CompletionReplyOptions reply;
};

CompletionPrompt prompt_from_text(const Service& service, const std::string& text,
                                  bool add_special) {
  CompletionPrompt prompt;
  prompt.text = text;
  const tokenizer::Tokenizer& tokenizer = service.tokenizer();
  // Whoever writes a raw prompt also writes its control tokens (fill-in-the-middle, templates by
  // hand).
  tokenizer.encode(text, {.add_special = add_special, .parse_control = true}, &prompt.ids);
  if (add_special && !prompt.ids.empty() && prompt.ids.front() == tokenizer.bos()) {
    prompt.bos_added = !text.starts_with(token_bytes(service, tokenizer.bos()));
  }
  return prompt;
}

Result<CompletionPrompt> prompt_from_ids(const Service& service, const Json& array,
                                         const std::string& where) {
  const Json holder{{where, array}};
  Fields fields(holder);
  CompletionPrompt prompt;
  fields.read(where, 0, service.tokenizer().size() - 1, &prompt.ids);
  T9_TRY(fields.status());
  prompt.text = service.tokenizer().decode(prompt.ids, /*spell_control=*/true);
  prompt.is_ids = true;
  return prompt;
}

Result<std::vector<CompletionPrompt>> read_prompts(const Json* value, const Service& service,
                                                   bool add_special) {
  constexpr std::string_view kExpected =
      "a string, an array of strings, of token ids, or of arrays of token ids";
  if (value == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, "prompt: found nothing, expected {}", kExpected);
  }
  std::vector<CompletionPrompt> prompts;
  if (value->is_string()) {
    prompts.push_back(prompt_from_text(service, value->get<std::string>(), add_special));
    return prompts;
  }
  if (!value->is_array() || value->empty() || value->size() > (1u << 20)) {
    return make_error(ErrorCode::kInvalidArgument, "prompt: found {}, expected {}",
                      describe(*value), kExpected);
  }
  if (value->front().is_number()) {
    T9_TRY(auto prompt, prompt_from_ids(service, *value, "prompt"));
    prompts.push_back(std::move(prompt));
    return prompts;
  }
  if (value->size() > kMaxChoices) {
    return make_error(ErrorCode::kInvalidArgument, "prompt: found {} prompts, expected at most {}",
                      value->size(), kMaxChoices);
  }
  for (size_t i = 0; i < value->size(); ++i) {
    const Json& element = (*value)[i];
    if (element.type() != value->front().type() || !(element.is_string() || element.is_array())) {
      return make_error(ErrorCode::kInvalidArgument,
                        "prompt[{}]: found {}, expected prompt to be {}", i, describe(element),
                        kExpected);
    }
    if (element.is_string()) {
      prompts.push_back(prompt_from_text(service, element.get<std::string>(), add_special));
    } else {
      T9_TRY(auto prompt, prompt_from_ids(service, element, fmt::format("prompt[{}]", i)));
      prompts.push_back(std::move(prompt));
    }
  }
  return prompts;
}

void read_completion_logprobs(Fields& fields, CompletionJob* job) {
  const Json* value = fields.find("logprobs");
  if (value == nullptr || (value->is_boolean() && !value->get<bool>())) return;
  int64_t n = 0;
  fields.read("logprobs", 0, 20, &n);
  job->request.n_logprobs = static_cast<uint32_t>(n);
  job->reply.logprobs = true;
}

// best_of: so many are written, and the n likeliest of them, by logprob a token, go back.
void read_choices(Fields& fields, CompletionJob* job) {
  fields.read("n", 1, 128, &job->n);
  job->reply.n_shown = static_cast<size_t>(job->n);
  const int64_t n = job->n;
  fields.read("best_of", n, 128, &job->n);
  if (job->n == n) return;
  if (job->reply.streamed) fields.fail("best_of", "n, when the reply is streamed");
  if (!job->request.n_logprobs) job->request.n_logprobs = 0;
}

// The reply then stands between each prompt and the suffix.
Status read_suffix(Fields& fields, const Service& service, CompletionReplyOptions* reply) {
  std::string suffix;
  fields.read("suffix", &suffix);
  T9_TRY(fields.status());
  if (suffix.empty()) return {};
  if (reply->echo && reply->logprobs) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "suffix: found echo with logprobs beside it, expected one of them: the tokens "
        "of such a prompt are not those of its text");
  }
  for (CompletionPrompt& prompt : reply->prompts) {
    if (prompt.is_ids) {
      return make_error(ErrorCode::kInvalidArgument,
                        "suffix: found a prompt of token ids beside it, expected a prompt of text");
    }
    T9_TRY(prompt.ids, encode_infill(service, prompt.text, suffix));
  }
  return {};
}

Result<CompletionJob> read_completion_job(const Json& body, const Service& service) {
  CompletionJob job;
  Fields fields(body);
  engine::GenerateRequest& request = job.request;
  CompletionReplyOptions& reply = job.reply;
  reply.model = read_model(fields, service);
  const StreamOptions stream = read_stream_options(fields);
  reply.streamed = stream.stream;
  reply.include_usage = stream.include_usage;
  request.max_tokens = kDefaultMaxTokens;
  read_generation(fields, service, &request);
  read_completion_logprobs(fields, &job);
  read_choices(fields, &job);
  fields.read("echo", &reply.echo);
  fields.read("return_tokens_as_token_ids", &reply.tokens_as_ids);
  fields.read("return_token_ids", &reply.return_token_ids);
  bool add_special = true;
  fields.read("add_special_tokens", &add_special);
  bool skip_special = true;
  fields.read("skip_special_tokens", &skip_special);
  Structure structure = read_format(fields, "response_format");
  if (structure.kind == Structure::Kind::kNone) structure = read_structured_outputs(fields);
  T9_TRY(fields.status());
  T9_TRY(hold_to(service, structure, {}, &request));

  request.spell_control = !skip_special;
  request.prompt_logprobs = reply.echo && reply.logprobs;
  reply.spell_control = request.spell_control;
  reply.ignore_eos = request.ignore_eos;
  reply.n_per_prompt = static_cast<size_t>(job.n);
  T9_TRY(reply.prompts, read_prompts(fields.find("prompt"), service, add_special));
  T9_TRY(read_suffix(fields, service, &reply));
  if (reply.prompts.size() * reply.n_per_prompt > kMaxChoices) {
    return make_error(ErrorCode::kInvalidArgument,
                      "n: found {} prompts x {} choices, expected at most {} in all",
                      reply.prompts.size(), job.n, kMaxChoices);
  }
  return job;
}

}  // namespace

void completions(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(openai_error(body.error()));
  auto job = read_completion_job(*body, *service);
  if (!job) return exchange->respond(openai_error(job.error()));

  std::vector<engine::GenerateRequest> requests;
  for (const CompletionPrompt& prompt : job->reply.prompts) {
    engine::GenerateRequest request = job->request;
    request.prompt = prompt.ids;
    request.match_text = prompt.text;
    if (request.prompt.empty()) {
      return exchange->respond(openai_error(
          Error{ErrorCode::kInvalidArgument,
                "prompt: found a prompt without tokens, expected at least one token"}));
    }
    if (const Status fits = check_length(*service, request); !fits) {
      return exchange->respond(openai_error(fits.error()));
    }
    add_choices(std::move(request), job->n, &requests);
  }
  auto reply = make_completion_reply(service, std::move(job->reply));
  generate(service, exchange, std::move(requests), std::move(reply));
}

}  // namespace tempo9::server::openai
