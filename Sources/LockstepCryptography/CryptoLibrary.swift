import CLockstepCrypto

/// The functions of libcrypto, loaded when they are first needed.
///
/// `@unchecked Sendable`: the pointers are set once. Many threads may call libcrypto at a time, and
/// may share keys.
package final class CryptoLibrary: @unchecked Sendable {
  let functions: UnsafePointer<lockstep_crypto>

  static let file = "libcrypto.so.3"

  /// The library of this process. It stays loaded.
  private static let loaded = Result { () throws(CryptographyError) in try CryptoLibrary() }

  /// Loads the library, unless it is loaded already. Call it when the server starts, so that a
  /// missing library is reported then.
  @discardableResult
  package static func load() throws(CryptographyError) -> CryptoLibrary { try loaded.get() }

  init(file: String = CryptoLibrary.file) throws(CryptographyError) {
    let functions = UnsafeMutablePointer<lockstep_crypto>.allocate(capacity: 1)
    functions.initialize(to: lockstep_crypto())
    self.functions = UnsafePointer(functions)
    var reason = [CChar](repeating: 0, count: 512)
    guard lockstep_crypto_load(file, functions, &reason, reason.count) != 0 else {
      throw .libraryMissing(file: file, package: "libssl3", reason: text(reason))
    }
  }

  // Keys retain this object, so no key uses the functions any more.
  deinit { functions.deallocate() }
}

/// The function of libcrypt for bcrypt, loaded when it is first needed.
///
/// `@unchecked Sendable`: the pointer is set once, and each call has memory of its own.
struct CryptLibrary: @unchecked Sendable {
  let functions: lockstep_crypt

  static let file = "libcrypt.so.1"

  private static let loaded = Result { () throws(CryptographyError) in try CryptLibrary() }

  @discardableResult
  static func load() throws(CryptographyError) -> CryptLibrary { try loaded.get() }

  init(file: String = CryptLibrary.file) throws(CryptographyError) {
    var functions = lockstep_crypt()
    var reason = [CChar](repeating: 0, count: 512)
    guard lockstep_crypt_load(file, &functions, &reason, reason.count) != 0 else {
      throw .libraryMissing(file: file, package: "libcrypt1", reason: text(reason))
    }
    self.functions = functions
  }
}

private func text(_ characters: [CChar]) -> String {
  String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
