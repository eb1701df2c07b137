import CLockstepSodium
import LockstepThreading

/// Tokens whose signatures were verified, so that the next request with the same token takes a hash
/// and a look-up.
///
/// The key is the hash of the whole token. Another signature for the same claims is another token,
/// and is verified itself.
final class RememberedTokens: Sendable {
  struct Digest: Sendable, Hashable {
    fileprivate var words = SIMD4<UInt64>()

    /// BLAKE2b-256.
    init(of token: UnsafeRawBufferPointer) {
      withUnsafeMutableBytes(of: &words) { words in
        let (output, input) = (words.bindMemory(to: UInt8.self), token.bindMemory(to: UInt8.self))
        // Four words are 32 bytes, and never a null pointer.
        guard let digest = output.baseAddress else { return }
        crypto_generichash(digest, output.count, input.baseAddress, UInt64(input.count), nil, 0)
      }
    }

    /// One word is enough, because it is the word of a hash, and the table is seeded.
    func hash(into hasher: inout Hasher) { hasher.combine(words.x) }
  }

  struct Entry: Sendable {
    let identity: VerifiedIdentity
    let issuer: IssuerKeys
    /// The generation of the issuer's keys that verified the token.
    let generation: Int
  }

  private let capacity: Int
  private let entries: LockedState<GenerationalCache<Digest, Entry>>

  /// With a capacity of 0, no token is remembered.
  init(capacity: Int) {
    self.capacity = capacity
    entries = LockedState(GenerationalCache(capacity: capacity))
  }

  func entry(_ digest: Digest) -> Entry? { entries.withLock { $0.use(digest) } }

  func insert(_ entry: Entry, _ digest: Digest) {
    if capacity > 0 { entries.withLock { $0.insert(entry, for: digest) } }
  }

  func remove(_ digest: Digest) { entries.withLock { $0.remove(digest) } }
}
