import CLockstepSodium

/// libsodium, initialised.
package struct Sodium: Sendable {
  package struct Unavailable: Error, Equatable, CustomStringConvertible {
    package var description: String {
      "libsodium could not be initialised: the system provides no random numbers. Check that /dev/urandom exists."
    }
  }

  /// Initialises libsodium. May be called any number of times, from any thread.
  package init() throws(Unavailable) {
    if sodium_init() < 0 { throw Unavailable() }
  }

  /// 64 unpredictable bits.
  package func randomWord() -> UInt64 {
    var word: UInt64 = 0
    randombytes_buf(&word, MemoryLayout<UInt64>.size)
    return word
  }
}
