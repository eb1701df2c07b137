import CLockstepSodium
import LockstepJSON
import LockstepStore
import Synchronization

/// A password as the user typed it. It never appears in logs.
///
/// Its bytes are wiped when it is released. The buffers of the request are not wiped.
public final class Password: Sendable, Redacted {
  private let bytes: Mutex<[CChar]>

  /// A password. `text` itself is not wiped.
  public init(_ text: String) {
    bytes = Mutex(text.utf8.map(CChar.init(bitPattern:)))
  }

  deinit {
    bytes.withLock { bytes in
      let count = bytes.count
      sodium_memzero(&bytes, count)
    }
  }

  /// The number of bytes in UTF-8.
  public var byteCount: Int { bytes.withLock { $0.count } }

  /// The number of Unicode scalars: all bytes except those that continue a character.
  public var characterCount: Int {
    bytes.withLock { bytes in bytes.count { UInt8(bitPattern: $0) & 0xC0 != 0x80 } }
  }

  /// Whether the password equals the e-mail address, ignoring case.
  func isSame(as address: EmailAddress) -> Bool {
    let text = bytes.withLock { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    return EmailAddress.key(of: text).hasSameBytes(as: address.key)
  }

  /// Passes the bytes to `body`, which must not keep them.
  func withBytes<Result>(_ body: ([CChar]) throws -> Result) rethrows -> Result {
    try body(bytes.withLock { $0 })
  }
}
