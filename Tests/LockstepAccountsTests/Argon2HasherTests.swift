import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("The Argon2id hasher", .timeLimit(.minutes(10)))
struct Argon2HasherTests {
  /// The smallest strength that libsodium accepts, so that the tests are quick.
  private static let weak = Argon2Strength(memoryKiB: 8, passes: 1)

  private func withHasher(
    _ strength: Argon2Strength = weak,
    threads: Int = 1,
    capacity: Int = 100,
    _ body: (Argon2Hasher, HashingPool) async throws -> Void
  ) async throws {
    let workers = try HashingPool(threads: threads, capacity: capacity)
    try await body(Argon2Hasher(try Sodium(), strength: strength, workers: workers), workers)
    workers.shutDown()
  }

  @Test("A hash matches its password and no other")
  func verify() async throws {
    try await withHasher { hasher, _ in
      let hash = try await hasher.hash(Password("correct horse"))
      #expect(try await hasher.verify(Password("correct horse"), against: hash))
      #expect(try await !hasher.verify(Password("correct horsE"), against: hash))
      #expect(try await !hasher.verify(Password("correct horse\0"), against: hash))
      #expect(try await !hasher.verify(Password(""), against: hash))
      #expect(!hasher.isOutdated(hash))
    }
  }

  @Test("Passwords differ if any of their bytes differ", arguments: ["a\0b", "\0", "ö", "👩‍👩‍👧", ""])
  func bytes(text: String) async throws {
    try await withHasher { hasher, _ in
      let hash = try await hasher.hash(Password(text))
      #expect(try await hasher.verify(Password(text), against: hash))
      #expect(try await !hasher.verify(Password(text + "\0"), against: hash))
      #expect(try await !hasher.verify(Password(text + "x"), against: hash))
    }
  }

  @Test("Two hashes of the same password have different salts")
  func salt() async throws {
    try await withHasher { hasher, _ in
      let hashes = [try await hasher.hash(Password("x")), try await hasher.hash(Password("x"))]
      #expect(hashes[0] != hashes[1])
    }
  }

  @Test("The default is 19 MiB and two passes")
  func defaults() async throws {
    try await withHasher(Argon2Strength()) { hasher, _ in
      let hash = try await hasher.hash(Password("x"))
      #expect(hash.text.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
      #expect(!hasher.isOutdated(hash))
      #expect(!hasher.isOutdated(hasher.dummy), "the dummy takes the same work")
    }
  }

  @Test("The dummy is a well-formed hash of the same strength that matches no password")
  func dummy() async throws {
    try await withHasher { hasher, _ in
      #expect(hasher.dummy.text.hasPrefix("$argon2id$v=19$m=8,t=1,p=1$"))
      #expect(!hasher.isOutdated(hasher.dummy))
      let (real, dummy) = (try await hasher.hash(Password("x")).text, hasher.dummy.text)
      #expect(real.split(separator: "$").map(\.count) == dummy.split(separator: "$").map(\.count))
      #expect(try await !hasher.verify(Password("x"), against: hasher.dummy))
      #expect(try await !hasher.verify(Password(""), against: hasher.dummy))
    }
  }

  @Test("A hash of another strength is outdated and still matches its password")
  func outdated() async throws {
    try await withHasher { old, _ in
      let hash = try await old.hash(Password("x"))
      try await withHasher(Argon2Strength(memoryKiB: 16, passes: 2)) { new, _ in
        #expect(new.isOutdated(hash))
        let isRight = try await new.verify(Password("x"), against: hash)
        #expect(isRight)
      }
    }
  }

  @Test(
    "A text that is not a hash matches no password",
    arguments: [
      "", "x", "$argon2id$", "$argon2id$v=19$m=8,t=1,p=1$AAAA$AAAA", "$2b$10$abcdefghijklmnopqrstuv",
      String(repeating: "$", count: 1_000), "$argon2id$v=19$m=8,t=1,p=1$" + String(repeating: "A", count: 500),
    ]
  )
  func noHash(text: String) async throws {
    try await withHasher { hasher, _ in
      let isRight = try await hasher.verify(Password(""), against: PasswordHash(text))
      #expect(!isRight)
      #expect(hasher.isOutdated(PasswordHash(text)))
    }
  }

  @Test("The hasher throws an error if too many computations wait, or after its shutdown")
  func overloaded() async throws {
    try await withHasher(capacity: 1) { hasher, workers in
      let (isRunning, gate) = (ThreadGate(), ThreadGate())
      async let running: Void = workers.run(for: .administrator) {
        isRunning.open()
        gate.pass()
      }
      await isRunning.opened()
      // One place is left for two computations. One of them is refused while the other waits.
      let outcomes = await withTaskGroup(of: AccountsError?.self) { group in
        for _ in 0..<2 { group.addTask { await Self.failure { _ = try await hasher.hash(Password("x")) } } }
        let first = await group.next()
        gate.open()
        return [first, await group.next()]
      }
      #expect(outcomes == [.overloaded, .some(nil)])
      try await running
      workers.shutDown()
      await #expect(throws: AccountsError.store(.closed)) { try await hasher.hash(Password("x")) }
    }
  }

  private static func failure(_ body: () async throws -> Void) async -> AccountsError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? AccountsError
    }
  }

  @Test("Too little memory is an error and not a crash")
  func memory() async throws {
    // More than the address space.
    try await withHasher(Argon2Strength(memoryKiB: 1 << 32, passes: 1)) { hasher, _ in
      await #expect(throws: AccountsError.outOfMemory) { try await hasher.hash(Password("x")) }
    }
  }
}
