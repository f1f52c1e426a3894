#include "crypto/mac.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/random.h>

#include <cerrno>
#include <memory>
#include <new>
#include <system_error>

#include "base/error.h"

namespace esper::crypto {
namespace {

struct Free {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

const unsigned char* data_of(storage::Bytes bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

std::string hex(const unsigned char* bytes, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

std::string mac_of(const MacKey& key, storage::Bytes first, storage::Bytes second) {
  const std::unique_ptr<EVP_MAC, Free> mac(EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr));
  const std::unique_ptr<EVP_MAC_CTX, Free> context(mac ? EVP_MAC_CTX_new(mac.get()) : nullptr);
  if (!context) throw std::bad_alloc();
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  std::array<unsigned char, 32> result{};
  std::size_t size = 0;
  const bool done = EVP_MAC_init(context.get(), data_of(key), key.size(), parameters) == 1 &&
                    EVP_MAC_update(context.get(), data_of(first), first.size()) == 1 &&
                    EVP_MAC_update(context.get(), data_of(second), second.size()) == 1 &&
                    EVP_MAC_final(context.get(), result.data(), &size, result.size()) == 1;
  ESPER_CHECK(done && size == result.size(), "libcrypto computes HMAC-SHA256");
  return hex(result.data(), result.size());
}

bool is_same_mac(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hex_of(const MacKey& key) { return hex(data_of(key), key.size()); }

MacKey new_key() {
  MacKey key;
  for (std::size_t filled = 0; filled < key.size();) {
    const auto got = ::getrandom(key.data() + filled, key.size() - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), "cannot get random bytes for a key");
    filled += static_cast<std::size_t>(got);
  }
  return key;
}

}  // namespace esper::crypto
