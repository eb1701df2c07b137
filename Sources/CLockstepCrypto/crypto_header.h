// libcrypto (OpenSSL 3) and libcrypt, loaded at run time and never linked. Only a server with the
// tokens of other issuers, or with users who were imported with their password hashes, needs them.
#ifndef LOCKSTEP_CCRYPTO_H
#define LOCKSTEP_CCRYPTO_H

#include <crypt.h>
#include <dlfcn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCKSTEP_CRYPTO_FUNCTIONS(USE)                                                             \
  USE(OPENSSL_init_crypto) USE(OPENSSL_cleanse) USE(ERR_clear_error)                               \
  USE(EVP_PKEY_CTX_new_from_name) USE(EVP_PKEY_CTX_free) USE(EVP_PKEY_fromdata_init)               \
  USE(EVP_PKEY_fromdata) USE(EVP_PKEY_free) USE(EVP_MD_CTX_new) USE(EVP_MD_CTX_free)               \
  USE(EVP_DigestVerifyInit_ex) USE(EVP_DigestVerify) USE(PKCS5_PBKDF2_HMAC) USE(EVP_sha1)          \
  USE(EVP_sha256) USE(EVP_sha512) USE(EVP_CIPHER_CTX_new) USE(EVP_CIPHER_CTX_free)                 \
  USE(EVP_aes_256_ctr) USE(EVP_EncryptInit_ex) USE(EVP_EncryptUpdate)

// The functions of libcrypto, with their types from its headers.
typedef struct lockstep_crypto {
#define LOCKSTEP_MEMBER(name) __typeof__(name) *name;
  LOCKSTEP_CRYPTO_FUNCTIONS(LOCKSTEP_MEMBER)
#undef LOCKSTEP_MEMBER
} lockstep_crypto;

// The function of libcrypt for bcrypt.
typedef struct lockstep_crypt {
  __typeof__(crypt_rn) *crypt_rn;
} lockstep_crypt;

static inline int lockstep_crypto_find(void *library, const char *name, void *place, char *error, size_t length) {
  void *symbol = dlsym(library, name);
  // POSIX allows a data pointer from dlsym to be used as a function pointer.
  memcpy(place, &symbol, sizeof symbol);
  if (!symbol) snprintf(error, length, "it has no %s", name);
  return symbol != NULL;
}

static inline void *lockstep_crypto_open(const char *file, char *error, size_t length) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(error, length, "%s", reason ? reason : "it cannot be loaded");
  }
  return library;
}

// Loads libcrypto for the life of the process. Returns 0 and a reason, or 1 and the functions.
static inline int lockstep_crypto_load(const char *file, lockstep_crypto *crypto, char *error, size_t length) {
  void *library = lockstep_crypto_open(file, error, length);
  int found = library != NULL;
#define LOCKSTEP_FIND(name) found = found && lockstep_crypto_find(library, #name, &crypto->name, error, length);
  LOCKSTEP_CRYPTO_FUNCTIONS(LOCKSTEP_FIND)
#undef LOCKSTEP_FIND
  if (!found) return 0;
  // Without this option, the library releases its tables when the process exits, while other threads
  // may still use them.
  if (crypto->OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) == 1) return 1;
  snprintf(error, length, "it cannot be set up");
  return 0;
}

// Loads libcrypt in the same way.
static inline int lockstep_crypt_load(const char *file, lockstep_crypt *crypt, char *error, size_t length) {
  void *library = lockstep_crypto_open(file, error, length);
  return library && lockstep_crypto_find(library, "crypt_rn", &crypt->crypt_rn, error, length);
}

// MARK: Public keys

// Makes a public key of one type from its parameters. Returns NULL if they are not valid.
static inline EVP_PKEY *lockstep_key_make(const lockstep_crypto *crypto, const char *type, OSSL_PARAM *parameters) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = crypto->EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  if (context && crypto->EVP_PKEY_fromdata_init(context) == 1 &&
      crypto->EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
    key = NULL;
  crypto->EVP_PKEY_CTX_free(context);
  crypto->ERR_clear_error();
  return key;
}

// Copies a number from network byte order into the machine's.
static inline void lockstep_store_number(unsigned char *to, const unsigned char *from, size_t length) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (size_t i = 0; i < length; i++) to[i] = from[length - 1 - i];
#else
  memcpy(to, from, length);
#endif
}

// The largest modulus of RSA that a key may have, in bytes.
enum { lockstep_rsa_bytes = 1024, lockstep_rsa_exponent_bytes = 8 };

// An RSA key. The numbers are in network byte order, with at most the bytes above.
static inline EVP_PKEY *lockstep_key_rsa(const lockstep_crypto *crypto, const unsigned char *modulus, size_t length,
                                         const unsigned char *exponent, size_t exponent_length) {
  unsigned char n[lockstep_rsa_bytes], e[lockstep_rsa_exponent_bytes];
  if (length > sizeof n || exponent_length > sizeof e) return NULL;
  lockstep_store_number(n, modulus, length);
  lockstep_store_number(e, exponent, exponent_length);
  OSSL_PARAM parameters[] = {
    {OSSL_PKEY_PARAM_RSA_N, OSSL_PARAM_UNSIGNED_INTEGER, n, length, OSSL_PARAM_UNMODIFIED},
    {OSSL_PKEY_PARAM_RSA_E, OSSL_PARAM_UNSIGNED_INTEGER, e, exponent_length, OSSL_PARAM_UNMODIFIED},
    {NULL, 0, NULL, 0, 0},
  };
  return lockstep_key_make(crypto, "RSA", parameters);
}

// A key of the curve P-256. `point` has 65 bytes: the number 4, x and y. The library refuses a point
// that is not on the curve.
static inline EVP_PKEY *lockstep_key_p256(const lockstep_crypto *crypto, const unsigned char *point) {
  OSSL_PARAM parameters[] = {
    {OSSL_PKEY_PARAM_GROUP_NAME, OSSL_PARAM_UTF8_STRING, (void *)"prime256v1", 10, OSSL_PARAM_UNMODIFIED},
    {OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING, (void *)point, 65, OSSL_PARAM_UNMODIFIED},
    {NULL, 0, NULL, 0, 0},
  };
  return lockstep_key_make(crypto, "EC", parameters);
}

// A key of Ed25519, of 32 bytes. The library does not check the point.
static inline EVP_PKEY *lockstep_key_ed25519(const lockstep_crypto *crypto, const unsigned char *point) {
  OSSL_PARAM parameters[] = {
    {OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING, (void *)point, 32, OSSL_PARAM_UNMODIFIED},
    {NULL, 0, NULL, 0, 0},
  };
  return lockstep_key_make(crypto, "ED25519", parameters);
}

static inline void lockstep_key_free(const lockstep_crypto *crypto, EVP_PKEY *key) { crypto->EVP_PKEY_free(key); }

// Whether the signature is valid. `digest` is NULL for Ed25519. `is_pss` selects PSS for an RSA key, with a
// salt as long as the digest and the same digest for the mask. Several threads may use a key at a time.
static inline int lockstep_verify(const lockstep_crypto *crypto, EVP_PKEY *key, const char *digest, int is_pss,
                                  const unsigned char *signature, size_t signature_length,
                                  const unsigned char *message, size_t message_length) {
  OSSL_PARAM parameters[] = {
    {OSSL_SIGNATURE_PARAM_PAD_MODE, OSSL_PARAM_UTF8_STRING, (void *)"pss", 3, OSSL_PARAM_UNMODIFIED},
    {OSSL_SIGNATURE_PARAM_PSS_SALTLEN, OSSL_PARAM_UTF8_STRING, (void *)"digest", 6, OSSL_PARAM_UNMODIFIED},
    {OSSL_SIGNATURE_PARAM_MGF1_DIGEST, OSSL_PARAM_UTF8_STRING, (void *)digest, digest ? strlen(digest) : 0,
     OSSL_PARAM_UNMODIFIED},
    {NULL, 0, NULL, 0, 0},
  };
  EVP_MD_CTX *context = crypto->EVP_MD_CTX_new();
  int is_valid =
      context &&
      crypto->EVP_DigestVerifyInit_ex(context, NULL, digest, NULL, NULL, key, is_pss ? parameters : NULL) == 1 &&
      crypto->EVP_DigestVerify(context, signature, signature_length, message, message_length) == 1;
  crypto->EVP_MD_CTX_free(context);
  crypto->ERR_clear_error();
  return is_valid;
}

// MARK: Password hashes

// The hash function of PBKDF2, named by the size of its output.
enum { lockstep_sha1 = 20, lockstep_sha256 = 32, lockstep_sha512 = 64 };

// PBKDF2 with HMAC. Returns 0 if memory is short.
static inline int lockstep_pbkdf2(const lockstep_crypto *crypto, int hash, const char *password, int password_length,
                                  const unsigned char *salt, int salt_length, int iterations, unsigned char *output,
                                  int output_length) {
  const EVP_MD *digest = hash == lockstep_sha1     ? crypto->EVP_sha1()
                         : hash == lockstep_sha256 ? crypto->EVP_sha256()
                                                   : crypto->EVP_sha512();
  int code = crypto->PKCS5_PBKDF2_HMAC(password, password_length, salt, salt_length, iterations, digest, output_length,
                                       output);
  crypto->ERR_clear_error();
  return code == 1;
}

// Encrypts with AES-256 in counter mode, from a counter of zero. Returns 0 if memory is short.
static inline int lockstep_aes_ctr(const lockstep_crypto *crypto, const unsigned char *key, const unsigned char *input,
                                   int length, unsigned char *output) {
  static const unsigned char counter[16] = {0};
  int written = 0;
  EVP_CIPHER_CTX *context = crypto->EVP_CIPHER_CTX_new();
  int is_done = context && crypto->EVP_EncryptInit_ex(context, crypto->EVP_aes_256_ctr(), NULL, key, counter) == 1 &&
                crypto->EVP_EncryptUpdate(context, output, &written, input, length) == 1 && written == length;
  crypto->EVP_CIPHER_CTX_free(context);
  crypto->ERR_clear_error();
  return is_done;
}

// Hashes a password with libcrypt by a setting such as `$2b$10$` and 22 characters of salt. `output` has room
// for CRYPT_OUTPUT_SIZE bytes. Returns 0 if memory is short or the library does not accept the setting.
static inline int lockstep_crypt_hash(const lockstep_crypt *crypt, const char *password, const char *setting,
                                      char *output) {
  struct crypt_data *data = (struct crypt_data *)calloc(1, sizeof *data);
  if (!data) return 0;
  const char *hash = crypt->crypt_rn(password, setting, data, (int)sizeof *data);
  int is_done = hash && strlen(hash) < CRYPT_OUTPUT_SIZE;
  if (is_done) strcpy(output, hash);
  // The data holds parts of the password.
  explicit_bzero(data, sizeof *data);
  free(data);
  return is_done;
}

#endif
