// Our own store of models: what `tempo9 pull` fetched.
// Layout: <folder>/<name with "/" as folders>/<variant>/ holds the files and, once all are whole,
// model.json: {"name", "files": [{"name", "n_bytes", "sha256"}], "companions": [the same with
// "role"]}, the first file being the one to open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/source.h"

namespace tempo9::store {

struct OwnModel {
  std::string name;  // "owner/repo:Q4_K_M"
  std::string path;  // of the file to open
  uint64_t n_bytes = 0;
  std::vector<std::string> companions = {};  // their roles: "projector", "drafter"
};

class OwnStore {
 public:
  explicit OwnStore(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  // Whole ones, by name.
  std::vector<OwnModel> list() const;
  // name with its variant, or without it if there is one only. Case does not matter.
  // Errors: kNotFound, kInvalidArgument (several fit).
  Result<OwnModel> find(std::string_view name) const;
  // Makes the folder for a model's files. Errors: kIo.
  Result<std::string> prepare(const RemoteModel& model) const;
  // All files are there: from now on it is listed. Errors: kIo.
  Result<OwnModel> finish(const RemoteModel& model) const;
  // Removes a model, or what is there of one that is not whole. Errors: as find, kIo.
  Result<OwnModel> remove(std::string_view name) const;

 private:
  // Folders with files and no whole model in them: a fetch that broke off. path is one of the
  // files.
  std::vector<OwnModel> list_broken() const;
  Result<OwnModel> pick(std::vector<OwnModel> models, std::string_view name) const;

  std::string folder_;
};

}  // namespace tempo9::store
