import CLockstepSodium

/// libsodium, initialised.
public struct Sodium: Sendable {
  /// libsodium cannot be initialised.
  public struct Unavailable: Error, Equatable, CustomStringConvertible {
    /// The error with advice.
    public var description: String {
      "libsodium could not be initialised: the system gives no random numbers. Is /dev/urandom there?"
    }
  }

  /// Initialises libsodium. May be called any number of times, from any thread.
  public init() throws(Unavailable) {
    if sodium_init() < 0 { throw Unavailable() }
  }

  /// 64 unpredictable random bits.
  public func randomWord() -> UInt64 {
    var word: UInt64 = 0
    randombytes_buf(&word, MemoryLayout<UInt64>.size)
    return word
  }
}
