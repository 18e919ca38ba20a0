#include "calibration/fingerprint.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <memory>
#include <vector>

#include "base/check.h"

namespace nextscale {
namespace {

constexpr int64_t kValues = 64;  // of a tensor

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    NS_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "SHA-256");
  }
  void Add(const void* bytes, size_t size) {
    NS_CHECK(EVP_DigestUpdate(context_.get(), bytes, size) == 1, "SHA-256");
  }
  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    NS_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1, "SHA-256");
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

Status AddValues(const TensorSource& source, const TensorInfo& tensor, Sha256& hash) {
  const int64_t n = tensor.shape.elements();
  if (n == 0 || !IsFloat(tensor.dtype)) return absl::OkStatus();
  const int64_t rows = tensor.shape.rank() == 0 ? 1 : tensor.shape[0], width = n / rows;
  std::vector<bf16_t> row(width);
  int64_t held = -1;
  for (int64_t i = 0; i < kValues; ++i) {
    const int64_t at = i * n / kValues;
    if (at / width != held) {
      held = at / width;
      NS_RETURN_IF_ERROR(source.ReadRows(tensor, held, held + 1, DType::kBF16, row.data()));
    }
    hash.Add(&row[at % width], sizeof(bf16_t));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::string> ModelFingerprint(const TensorSource& transformer) {
  Sha256 hash;
  for (const TensorInfo* tensor : transformer.List()) {
    const std::string head = fmt::format("{}\n{}\n", tensor->name, fmt::join(tensor->shape.dims(), ","));
    hash.Add(head.data(), head.size());
    NS_RETURN_IF_ERROR(AddValues(transformer, *tensor, hash));
  }
  return hash.Hex();
}

}  // namespace nextscale
