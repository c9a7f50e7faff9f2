// Who listens on a port: tests/e2e/test_doctor.py.
#include "cli/doctor/places.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "base/testing/temp_folder.h"

namespace tempo9::cli {
namespace {

constexpr uint64_t kExbibyte = uint64_t{1} << 60;

TEST(DoctorPlaces, TheCacheOnDisk) {
  const TempFolder folder;
  EXPECT_EQ(check_kv_disk("", 5).level, Level::kOk);
  EXPECT_EQ(check_kv_disk("", 5).details["enabled"], false);
  const std::string path = folder.file("not/yet/there");
  const Check fine = check_kv_disk(path, 1);
  EXPECT_EQ(fine.level, Level::kOk) << fine.found;
  EXPECT_GT(fine.details["free_bytes"], 0u);
  EXPECT_FALSE(std::filesystem::exists(folder.file("not"))) << "only looked at";
  const Check full = check_kv_disk(path, kExbibyte);
  EXPECT_EQ(full.level, Level::kWarn);
  EXPECT_NE(full.advice.find("AS_KV_OFFLOAD_GB="), std::string::npos);
  folder.write("segment", "0123456789");
  EXPECT_EQ(check_kv_disk(folder.path(), 10).details["used_bytes"], 10);
  const Check file = check_kv_disk(folder.file("segment/below"), 1);
  EXPECT_EQ(file.level, Level::kWarn);
  EXPECT_NE(file.found.find("is no folder"), std::string::npos) << file.found;
}

TEST(DoctorPlaces, RoomForAModelThatIsToCome) {
  const TempFolder folder;
  EXPECT_EQ(check_models_folder(folder.path(), 0).level, Level::kOk);
  EXPECT_EQ(check_models_folder(folder.path(), 1).level, Level::kOk);
  const Check full = check_models_folder(folder.file("new"), kExbibyte);
  EXPECT_EQ(full.level, Level::kFail);
  EXPECT_NE(full.expected.find("for the model"), std::string::npos);
  const std::string file = folder.write("file", "");
  EXPECT_EQ(check_models_folder(file, 0).level, Level::kWarn);
  EXPECT_EQ(check_models_folder(file, 1).level, Level::kFail);
}

TEST(DoctorPlaces, APortThatIsFreeAndOneThatIsNot) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ASSERT_EQ(::listen(fd, 8), 0);
  const uint16_t port = ntohs(address.sin_port);
  const Check taken = check_port(port);  // nobody accepts: it gives up by itself
  EXPECT_EQ(taken.level, Level::kFail);
  EXPECT_NE(taken.found.find("does not speak HTTP"), std::string::npos) << taken.found;
  EXPECT_EQ(taken.details["listener"], "other");
  ::close(fd);
  const Check free = check_port(port);
  EXPECT_EQ(free.level, Level::kOk) << free.found;
  EXPECT_EQ(free.details["free"], true);
}

TEST(DoctorPlaces, OllamasStore) {
  const TempFolder folder;
  EXPECT_EQ(check_ollama(folder.file("none")).level, Level::kOk);
  EXPECT_EQ(check_ollama(folder.file("none")).details["found"], false);
  const auto add = [&](const std::string& name, char digit, const std::string& bytes) {
    const std::string digest(64, digit);
    std::filesystem::create_directories(
        folder.file("manifests/registry.ollama.ai/library/" + name));
    std::filesystem::create_directories(folder.file("blobs"));
    folder.write(
        "manifests/registry.ollama.ai/library/" + name + "/latest",
        R"({"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:)" +
            digest + "\"}]}");
    folder.write("blobs/sha256-" + digest, bytes);
  };
  add("good", 'a', "GGUF and more");
  const Check good = check_ollama(folder.path());
  EXPECT_EQ(good.level, Level::kOk) << good.found;
  EXPECT_EQ(good.details["models"], nlohmann::json({"good:latest"}));
  add("bad", 'b', "GGML");
  const Check bad = check_ollama(folder.path());
  EXPECT_EQ(bad.level, Level::kWarn);
  EXPECT_EQ(bad.details["unreadable"], nlohmann::json({"bad:latest"}));
  EXPECT_NE(bad.found.find("bad:latest"), std::string::npos);
}

}  // namespace
}  // namespace tempo9::cli
