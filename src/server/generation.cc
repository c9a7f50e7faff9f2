#include "server/generation.h"

#include <atomic>
#include <cmath>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "server/cache_report.h"
#include "server/session.h"

namespace tempo9::server {
namespace {

// Rendered bytes that may wait for a slow reader. Above it events stay in the queue, which holds
// text and ids only.
constexpr size_t kHighWater = 256 << 10;
// Choices that may wait in the engine before newcomers are sent away: two of the largest embedding
// requests.
constexpr uint32_t kMaxWaiting = 4096;
// How often silence is measured: a sign of life leaves at most this much after kKeepAlive.
constexpr std::chrono::milliseconds kTick{1'000};

// Owned by the sinks, the exchange's callbacks and the posted tasks; ends when the last of them is
// gone. Everything but queue_ and draining_ belongs to the exchange's strand.
class Generation : public std::enable_shared_from_this<Generation> {
 public:
  Generation(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange,
             std::unique_ptr<Reply> reply, std::shared_ptr<const CallList> call_list)
      : service_(std::move(service)),
        exchange_(std::move(exchange)),
        reply_(std::move(reply)),
        call_list_(std::move(call_list)) {}

  void start(std::vector<engine::GenerateRequest> requests) {
    choices_.resize(requests.size());
    n_left_ = requests.size();
    const bool explains = wants_cache_report(exchange_->request());
    const uint64_t session = session_of(exchange_->request());
    tells_timing_ = wants_timing(exchange_->request());
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].explain_cache = explains;
      if (session != 0) requests[i].session = session;
      if (call_list_) choices_[i].undecided = Undecided{call_list_->probe(), requests[i], {}};
      const Status submitted = submit(i, std::move(requests[i]));
      if (!submitted) {
        cancel_all();
        done_ = true;
        exchange_->respond(reply_->error(submitted.error()));
        return;
      }
    }
    exchange_->on_gone([self = shared_from_this()] { self->abandon(); });
    if (exchange_->gone()) return abandon();
    exchange_->on_drain([self = shared_from_this()] { self->drain(); });
    if (reply_->streamed) {
      exchange_->start_stream(reply_->stream_type, reply_->headers);
      reply_->started(*exchange_);
    }
    watch_silence();
  }

 private:
  // Of a reply, while it is open whether it begins with a call that is to be begun again.
  struct Undecided {
    std::unique_ptr<chat::CallProbe> probe;
    engine::GenerateRequest request;
    std::vector<engine::Event> held;
  };
  struct Choice {
    std::optional<engine::RequestId> id;
    bool stopped = false;  // by us
    bool ended = false;
    engine::Usage usage;     // so far
    double last_tokens = 0;  // when, as Timing::now
    std::optional<Undecided> undecided;
    // Of a reply that was begun again.
    uint32_t attempt = 0;
    uint32_t n_opening = 0;  // tokens that were written for the model
    engine::Usage first;     // when the first attempt was given up
  };
  struct Item {
    size_t choice;
    uint32_t attempt;
    engine::Event event;
  };

  Status submit(size_t choice, engine::GenerateRequest request) {
    const uint32_t attempt = choices_[choice].attempt;
    T9_TRY(choices_[choice].id,
           service_->engine().submit(std::move(request), [self = shared_from_this(), choice,
                                                          attempt](engine::Event&& event) {
             self->enqueue({choice, attempt, std::move(event)});
           }));
    return {};
  }

  // Engine thread.
  void enqueue(Item item) {
    struct Loss {  // when there is no memory to pass it on: the next tick finds that
      ~Loss() {
        if (flag != nullptr) *flag = true;
      }
      std::atomic<bool>* flag;
    } loss{&has_lost_};
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(item));
      wake = !std::exchange(draining_, true);
    }
    if (wake) exchange_->post([self = shared_from_this()] { self->drain(); });
    loss.flag = nullptr;
  }

  std::optional<Item> next() {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) {
      draining_ = false;
      return std::nullopt;
    }
    Item item = std::move(queue_.front());
    queue_.pop_front();
    return item;
  }

  void drain() {
    while (!done_) {
      // Stays "draining": no task is posted for new events, on_drain comes back here.
      if (exchange_->n_pending() > kHighWater) return;
      std::optional<Item> item = next();
      if (!item) return;
      if (item->attempt != choices_[item->choice].attempt) continue;
      handle(item->choice, std::move(item->event));
    }
    const std::lock_guard lock(mutex_);
    queue_.clear();
  }

  void handle(size_t index, engine::Event&& event) {
    Choice& choice = choices_[index];
    if (choice.ended) return;
    if (choice.undecided && keep_back(index, event)) return;
    deliver(index, std::move(event));
  }

  // True: the event waits, or its reply was begun again. False: it may leave; what waited has left
  // if the question is decided.
  bool keep_back(size_t index, engine::Event& event) {
    using Answer = chat::CallProbe::Answer;
    Undecided& reply = *choices_[index].undecided;
    const Answer answer = event.text.empty() ? Answer::kOpen : reply.probe->feed(event.text);
    if (answer == Answer::kAlone && !event.finish && begin_again(index, event.usage)) return true;
    if (answer == Answer::kOpen && !event.finish) {
      if (event.text.empty() && reply.held.empty()) return false;
      reply.held.push_back(std::move(event));
      return true;
    }
    std::vector<engine::Event> held = std::move(reply.held);
    choices_[index].undecided.reset();
    for (engine::Event& waited : held) {
      deliver(index, std::move(waited));
      if (done_) return true;
    }
    return false;
  }

  // Nothing of the reply has left yet. False when it has to go on as it is.
  bool begin_again(size_t index, const engine::Usage& usage) {
    Choice& choice = choices_[index];
    const Undecided& reply = *choice.undecided;
    auto begun = CallList::begin(*service_, reply.request, reply.probe->list_opening());
    if (!begun) return false;
    const engine::RequestId given_up = *choice.id;
    ++choice.attempt;
    if (!submit(index, std::move(begun->request))) {
      --choice.attempt;
      return false;
    }
    service_->engine().cancel(given_up);
    choice.undecided.reset();
    choice.first = usage;
    choice.n_opening = begun->n_tokens;
    engine::Event opening;
    opening.text = std::move(begun->opening);
    deliver(index, std::move(opening));
    return true;
  }

  // The opening counts as written by the model, and the prompt as the first attempt found it.
  static engine::Usage joined(const Choice& choice, const engine::Usage& second) {
    engine::Usage usage = choice.first;
    usage.completion_tokens = choice.n_opening + second.completion_tokens;
    usage.timing.now += second.timing.now;
    return usage;
  }

  void deliver(size_t index, engine::Event&& event) {
    Choice& choice = choices_[index];
    if (choice.ended) return;
    if (choice.n_opening > 0) event.usage = joined(choice, event.usage);
    measure(&choice, event);
    event.usage.tells_timing = tells_timing_;
    const bool last = event.finish.has_value();
    if (last) {
      using engine::FinishReason;
      if (choice.stopped) {
        event.finish->reason = FinishReason::kStop;
      } else if (event.finish->reason == FinishReason::kError ||
                 event.finish->reason == FinishReason::kCancelled) {
        fail(event);
        return;
      }
      choice.ended = true;
      service_->metrics().finished(event.finish->reason, event.usage);
      note(event.usage);
    }
    const Reply::Next verdict = reply_->on_event(*exchange_, index, std::move(event));
    if (!last && verdict == Reply::Next::kStopChoice && !choice.stopped) {
      choice.stopped = true;
      service_->engine().cancel(*choice.id);
    }
    if (last && --n_left_ == 0) {
      done_ = true;
      reply_->on_end(*exchange_);
    }
  }

  void fail(const engine::Event& event) {
    done_ = true;
    service_->metrics().finished(event.finish->reason, event.usage);
    cancel_all();
    Error error{ErrorCode::kInternal, "the engine failed while it generated this reply"};
    if (event.finish->reason == engine::FinishReason::kCancelled) {
      error = {ErrorCode::kCancelled, "the server is shutting down"};
    } else {
      if (event.finish->error) error.code = event.finish->error->code;
      if (event.finish->error && !event.finish->error->message.empty())
        error.message = event.finish->error->message;
      service_->log(fmt::format("{} failed: {}", exchange_->request().path, error.message));
    }
    if (reply_->streamed) {
      exchange_->reset();
    } else {
      exchange_->respond(reply_->error(error));
    }
  }

  // There was no memory to hand an event over, and nothing else comes.
  void fail_lost() {
    engine::Event event;
    event.finish.emplace().reason = engine::FinishReason::kError;
    event.finish->error = Error{ErrorCode::kResourceExhausted,
                                "the server had no memory left for this request; try again"};
    for (Choice& choice : choices_) choice.ended |= choice.stopped;
    fail(event);
  }

  void abandon() {
    done_ = true;
    cancel_all();
    service_->metrics().client_left();
    for (const Choice& choice : choices_) {
      if (choice.id && !choice.ended) {
        service_->metrics().finished(engine::FinishReason::kCancelled, choice.usage);
      }
    }
  }

  void cancel_all() {
    for (const Choice& choice : choices_) {
      if (choice.id && !choice.ended) service_->engine().cancel(*choice.id);
    }
  }

  void measure(Choice* choice, const engine::Event& event) {
    choice->usage = event.usage;
    if (event.tokens.empty()) return;
    const double now = event.usage.timing.now;
    if (choice->last_tokens == 0) {
      service_->metrics().first_token(now);
    } else {
      service_->metrics().tokens(now - choice->last_tokens, event.tokens.size());
    }
    choice->last_tokens = now;
  }

  // For the log.
  void note(const engine::Usage& usage) {
    exchange_->note("prompt_tokens", usage.prompt_tokens);
    exchange_->note("cached_tokens", usage.cached_tokens);
    exchange_->note("generated_tokens", usage.completion_tokens);
    exchange_->note("queue_ms", std::round(usage.timing.started * 1e4) / 10);
    exchange_->note("first_token_ms", std::round(usage.timing.first_token * 1e4) / 10);
  }

  void watch_silence() {
    exchange_->after(kTick, [self = shared_from_this()] {
      if (self->done_) return;
      if (self->has_lost_) return self->fail_lost();
      if (!self->reply_->streamed) return self->watch_silence();
      self->silence_ = std::exchange(self->reply_->wrote, false) ? kTick : self->silence_ + kTick;
      if (self->silence_ >= kKeepAlive) {
        self->reply_->keep_alive(*self->exchange_);
        self->silence_ = {};
      }
      self->watch_silence();
    });
  }

  std::shared_ptr<const Service> service_;
  std::shared_ptr<http::Exchange> exchange_;
  std::unique_ptr<Reply> reply_;
  std::shared_ptr<const CallList> call_list_;  // may be null
  std::vector<Choice> choices_;
  size_t n_left_ = 0;
  std::chrono::milliseconds silence_{0};
  bool done_ = false;
  bool tells_timing_ = false;

  std::atomic<bool> has_lost_{false};  // an event; set by the engine's thread
  std::mutex mutex_;
  std::deque<Item> queue_;  // mutex_
  bool draining_ = false;   // mutex_: a drain() runs, is posted, or waits for on_drain
};

}  // namespace

void generate(std::shared_ptr<const Service> service, std::shared_ptr<http::Exchange> exchange,
              std::vector<engine::GenerateRequest> requests, std::unique_ptr<Reply> reply,
              std::shared_ptr<const CallList> call_list) {
  if (service->engine().stats().n_waiting > kMaxWaiting) {
    exchange->respond(reply->error(Error{ErrorCode::kResourceExhausted,
                                         "too many requests are waiting; try again in a moment"}));
    return;
  }
  auto generation = std::make_shared<Generation>(std::move(service), std::move(exchange),
                                                 std::move(reply), std::move(call_list));
  generation->start(std::move(requests));
}

}  // namespace tempo9::server
