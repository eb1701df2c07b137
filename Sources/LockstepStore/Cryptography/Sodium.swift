import CLockstepSodium

/// libsodium, ready for use: whoever is handed one knows that it was initialised.
public struct Sodium: Sendable {
  /// libsodium can't work here.
  public struct Unavailable: Error, Equatable, CustomStringConvertible {
    /// What happened, and what to do.
    public var description: String {
      "libsodium could not be initialised: the system gives no random numbers. Is /dev/urandom there?"
    }
  }

  /// Initialises libsodium, which may be done any number of times, from any thread.
  public init() throws(Unavailable) {
    if sodium_init() < 0 { throw Unavailable() }
  }

  /// 64 random bits that nobody can foretell.
  public func randomWord() -> UInt64 {
    var word: UInt64 = 0
    randombytes_buf(&word, MemoryLayout<UInt64>.size)
    return word
  }
}
