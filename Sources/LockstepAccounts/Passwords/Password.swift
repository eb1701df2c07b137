import CLockstepSodium
import LockstepStore
import Synchronization

/// A password as somebody has typed it. It shows nowhere, and its bytes are wiped when nobody holds it any more.
///
/// Only this copy is wiped: those that the request was read through are freed like all memory. Hold it no longer than it
/// takes to hash it.
public final class Password: Sendable, Redacted {
  private let bytes: Mutex<[CChar]>

  /// A password of a text, compared byte for byte.
  public init(_ text: String) {
    bytes = Mutex(text.utf8.map(CChar.init(bitPattern:)))
  }

  deinit {
    bytes.withLock { bytes in
      let count = bytes.count
      sodium_memzero(&bytes, count)
    }
  }

  /// Its length in bytes of UTF-8.
  public var byteCount: Int { bytes.withLock { $0.count } }

  /// How many characters (Unicode scalars) it has.
  public var characterCount: Int {
    // All bytes but those that continue a character.
    bytes.withLock { bytes in bytes.count { UInt8(bitPattern: $0) & 0xC0 != 0x80 } }
  }

  /// Whether it's this address, in whatever case.
  func isSame(as address: EmailAddress) -> Bool {
    let text = bytes.withLock { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    return text.lowercased() == address.key
  }

  /// Lends the bytes, which must not be kept.
  func withBytes<Result>(_ body: ([CChar]) throws -> Result) rethrows -> Result {
    try body(bytes.withLock { $0 })
  }
}
