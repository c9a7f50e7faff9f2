#include "server/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tempo9::server {
namespace {

struct Lines {
  std::vector<std::string> lines;
  Log log(LogLevel level, LogFormat format) {
    return Log(level, format, [this](std::string_view line) { lines.emplace_back(line); });
  }
};

http::AccessRecord record(int status, std::string path = "/v1/chat/completions") {
  return {.id = "req_1",
          .method = "POST",
          .path = std::move(path),
          .status = status,
          .gone = false,
          .seconds = 0.01234,
          .notes = {{"prompt_tokens", 12}, {"first_token_ms", 3.5}}};
}

TEST(Log, OneJsonObjectALine) {
  Lines out;
  out.log(LogLevel::kInfo, LogFormat::kJson).write(record(200));
  ASSERT_EQ(out.lines.size(), 1u);
  EXPECT_TRUE(out.lines[0].ends_with("}\n"));
  Json json = Json::parse(out.lines[0]);
  EXPECT_EQ(json["time"].get<std::string>().size(), std::string("2026-11-30T04:18:07.301Z").size());
  json.erase("time");
  EXPECT_EQ(
      json.dump(),
      R"({"level":"info","message":"request","method":"POST","path":"/v1/chat/completions","status":200,"ms":12.3,"prompt_tokens":12,"first_token_ms":3.5,"request_id":"req_1"})");
}

TEST(Log, TextForPeople) {
  Lines out;
  http::AccessRecord left = record(0);
  left.gone = true;
  out.log(LogLevel::kInfo, LogFormat::kText).write(left);
  EXPECT_EQ(out.lines.at(0).substr(25),
            "tempo9 info: request method=POST path=/v1/chat/completions status=0 client_left=true "
            "ms=12.3 prompt_tokens=12 first_token_ms=3.5 request_id=req_1\n");
}

TEST(Log, WhatStrangersSendBeginsNoLine) {
  Lines out;
  const Log log = out.log(LogLevel::kDebug, LogFormat::kText);
  log.write(LogLevel::kWarning, "a\nb\x1b[31m", {{"path", "/x\n2026 tempo9 error: y"}});
  EXPECT_EQ(out.lines.at(0).substr(25),
            "tempo9 warning: a b [31m path=\"/x\\n2026 tempo9 error: y\"\n");
}

TEST(Log, LevelsAreBounds) {
  for (const auto& [level, n_lines] :
       {std::pair(LogLevel::kError, 1u), std::pair(LogLevel::kWarning, 3u),
        std::pair(LogLevel::kInfo, 5u), std::pair(LogLevel::kDebug, 6u)}) {
    Lines out;
    const Log log = out.log(level, LogFormat::kText);
    log.write(LogLevel::kError, "e");
    log.write(LogLevel::kWarning, "w");
    log.write(record(500));
    log.write(record(200));
    log.write(record(503));
    log.write(record(200, "/health"));
    EXPECT_EQ(out.lines.size(), n_lines);
  }
}

TEST(Log, Names) {
  EXPECT_EQ(log_level_from("warning"), LogLevel::kWarning);
  EXPECT_EQ(log_level_from("WARNING"), std::nullopt);
  EXPECT_EQ(log_format_from("json"), LogFormat::kJson);
  EXPECT_EQ(log_format_from(""), std::nullopt);
}

}  // namespace
}  // namespace tempo9::server
