import Glibc
import LockstepJSON

/// A fixed pair of keys, with which tests sign tokens. The private keys are public, so they are good for tests only.
package struct TestKey: Sendable {
  package let id: String
  /// The public key as a JSON Web Key with the members `kty` and `kid`, and its numbers.
  package let publicKey: JSONObject
  private let privateKey: [UInt8]

  package static let rsa = named("rsa-1")
  package static let otherRSA = named("rsa-2")
  /// Its prime numbers are made as those of a chip with the weakness ROCA.
  package static let roca = named("roca-1")
  package static let ec = named("ec-1")
  package static let otherEC = named("ec-2")
  package static let ed25519 = named("ed-1")
  package static let otherEd25519 = named("ed-2")

  private static func named(_ id: String) -> TestKey {
    guard let json = try? JSON(parsing: PackageResources.test_keys_json),
      let entry = json.arrayValue?.first(where: { $0["public"]?["kid"] == .string(id) }),
      let publicKey = entry["public"]?.objectValue, let privateKey = entry["private"]?.stringValue
    else { preconditionFailure("test-keys.json has no key \(id)") }
    return TestKey(id: id, publicKey: publicKey, privateKey: Base64Text.decode(privateKey))
  }

  /// The algorithm that the key signs with unless a test says another.
  package var algorithm: String {
    switch publicKey["kty"] {
    case "RSA": "RS256"
    case "EC": "ES256"
    default: "EdDSA"
    }
  }

  /// The same key with another id.
  package func named(_ id: String) -> TestKey {
    var publicKey = publicKey
    publicKey["kid"] = .string(id)
    return TestKey(id: id, publicKey: publicKey, privateKey: privateKey)
  }

  /// Signs by `RS256`, `PS256`, `ES256` or `EdDSA`, whichever fits the key.
  package func sign(_ message: [UInt8], algorithm: String) -> [UInt8] {
    SigningLibrary.shared.sign(message, privateKey, algorithm)
  }

  private init(id: String, publicKey: JSONObject, privateKey: [UInt8]) {
    (self.id, self.publicKey, self.privateKey) = (id, publicKey, privateKey)
  }
}

/// The functions of libcrypto for signatures. The server has none of them.
///
/// `@unchecked Sendable`: the pointers are set once, and each call has memory of its own.
private struct SigningLibrary: @unchecked Sendable {
  private typealias ReadKey =
    @convention(c) (
      UnsafeMutablePointer<OpaquePointer?>?, UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int
    ) -> OpaquePointer?
  private typealias Begin =
    @convention(c) (
      OpaquePointer?, UnsafeMutablePointer<OpaquePointer?>?, UnsafePointer<CChar>?, OpaquePointer?, OpaquePointer?,
      OpaquePointer?, OpaquePointer?
    ) -> Int32
  private typealias SetNumber = @convention(c) (OpaquePointer?, Int32) -> Int32
  private typealias Sign =
    @convention(c) (
      OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?, UnsafePointer<UInt8>?, Int
    ) -> Int32
  private typealias MakeContext = @convention(c) () -> OpaquePointer?
  private typealias Free = @convention(c) (OpaquePointer?) -> Void

  static let shared = SigningLibrary()

  private let readKey: ReadKey
  private let freeKey: Free
  private let makeContext: MakeContext
  private let freeContext: Free
  private let begin: Begin
  private let sign: Sign
  private let setPadding: SetNumber
  private let setSaltLength: SetNumber

  private init() {
    guard let library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL) else {
      preconditionFailure("tests need libcrypto.so.3 (Debian's package libssl3)")
    }
    // Each type is the one that OpenSSL's headers declare.
    func find<Function>(_ name: String, _ type: Function.Type) -> Function {
      guard let symbol = dlsym(library, name) else { preconditionFailure("libcrypto.so.3 has no \(name)") }
      return unsafeBitCast(symbol, to: type)
    }
    readKey = find("d2i_AutoPrivateKey", ReadKey.self)
    freeKey = find("EVP_PKEY_free", Free.self)
    makeContext = find("EVP_MD_CTX_new", MakeContext.self)
    freeContext = find("EVP_MD_CTX_free", Free.self)
    begin = find("EVP_DigestSignInit_ex", Begin.self)
    sign = find("EVP_DigestSign", Sign.self)
    setPadding = find("EVP_PKEY_CTX_set_rsa_padding", SetNumber.self)
    setSaltLength = find("EVP_PKEY_CTX_set_rsa_pss_saltlen", SetNumber.self)
  }

  func sign(_ message: [UInt8], _ key: [UInt8], _ algorithm: String) -> [UInt8] {
    let key = key.withUnsafeBufferPointer { bytes in
      var start = bytes.baseAddress
      return readKey(nil, &start, bytes.count)
    }
    let context = makeContext()
    defer {
      freeContext(context)
      freeKey(key)
    }
    var options: OpaquePointer?
    var isReady = begin(context, &options, algorithm == "EdDSA" ? nil : "SHA256", nil, nil, key, nil) == 1
    // PSS is padding 6, and -1 stands for a salt as long as the digest.
    if algorithm == "PS256" { isReady = isReady && setPadding(options, 6) == 1 && setSaltLength(options, -1) == 1 }
    var signature = [UInt8](repeating: 0, count: 1024)
    var length = signature.count
    guard isReady, sign(context, &signature, &length, message, message.count) == 1 else {
      preconditionFailure("the key does not sign by \(algorithm)")
    }
    signature.removeLast(signature.count - length)
    return algorithm == "ES256" ? Self.raw(signature) : signature
  }

  /// r and s of 32 bytes each, from DER.
  private static func raw(_ der: [UInt8]) -> [UInt8] {
    var (place, raw) = (2, [UInt8]())
    for _ in 0..<2 {
      let length = Int(der[place + 1])
      let number = der[place + 2..<place + 2 + length].drop { $0 == 0 }
      raw += [UInt8](repeating: 0, count: 32 - number.count) + number
      place += 2 + length
    }
    return raw
  }
}
