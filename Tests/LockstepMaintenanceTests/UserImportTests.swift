import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepComposition
@testable import LockstepStore
@testable import LockstepTime

@Suite("Importing the users of another system", .timeLimit(.minutes(10)))
struct UserImportTests {
  /// Made with bcrypt, passlib and Werkzeug from PyPI, for `password`.
  private static let hashes = [
    "$2b$05$5zuXVEz5QSgbwBfH5O4lyuroyBdpQ/FB4Crbgca5w2lvKaBRlkNPC",
    "$pbkdf2-sha256$50$MwaglFJKqZXyXgthDKE0xg$dU1UkTIKpoNWPPbmPc2OHCYQSQDbYfnKq6ZrqW818b4",
    "$scrypt$ln=6,r=8,p=2$BCBkzNm79/5/r7UW4vw/hw$uh9j2A9zLEyP2XQIJmcqQ8x5IFL8NUQCqXk9GiG5C/4",
    "$argon2id$v=19$m=64,t=3,p=1$tYjxc+hpGlM6s+Hzc0gxsg$pk2XP62dCWRI4fpkXMbrhZGJhVYhjBFYSjPbjVKuO0o",
  ]
  private static let password = "Grüße, 世界 🔑"

  private static func add(_ users: [ImportedUser], to fixture: ServerFixture) async throws -> [Int] {
    try await fixture.withChannel { try UserImport.add(users, over: $0) { _ in } }
  }

  private static func user(_ name: String, _ hash: String?) throws -> ImportedUser {
    ImportedUser(try EmailAddress("\(name)@example.com"), passwordHash: hash.map { PasswordHash($0) })
  }

  private static func logIn(_ name: String, _ password: String, _ users: ServerFixture) async throws -> RawResponse {
    let body: JSON = ["email": .string("\(name)@example.com"), "password": .string(password)]
    return try await users.ask("POST", "/v1/sessions", body: body.encoded())
  }

  @Test("Passwords may have any length after an import of passwords, and only then")
  func shortestPassword() async throws {
    try await ServerFixture.run { users in
      let shortest = { try await users.rows("SELECT shortest_password FROM store") }
      #expect(try await shortest() == [["8"]])
      _ = try await Self.add([try Self.user("ada", nil)], to: users)
      #expect(try await shortest() == [["8"]])
      _ = try await Self.add([try Self.user("grace", Self.hashes[0])], to: users)
      #expect(try await shortest() == [["1"]])
    }
  }

  @Test("Imported users log in with their old passwords, and get a new hash with the first login")
  func passwords() async throws {
    try await ServerFixture.run { users in
      let imported = try Self.hashes.enumerated().map { try Self.user("user\($0)", $1) }
      #expect(try await Self.add(imported, to: users) == [])
      for index in Self.hashes.indices {
        #expect(try await Self.logIn("user\(index)", "wrong password", users).status == 401)
        let device = try Device(try await Self.logIn("user\(index)", Self.password, users), users)
        #expect(try await device.put("/v1/favorites/a", "{}").status == 201)
        #expect(try await Self.logIn("user\(index)", Self.password, users).status == 201)
      }
      let stored = try await users.rows("SELECT password_hash FROM users").compactMap(\.first)
      #expect(stored.count == 4 && stored.allSatisfy { $0.hasPrefix("$argon2id$v=19$m=8,t=1,p=1$") })
      #expect(Set(stored).isDisjoint(with: Self.hashes))
    }
  }

  @Test("Users keep the time of their sign-up and the proof of their address, and a disabled one stays disabled")
  func members() async throws {
    try await ServerFixture.run({ $0.administratorToken = "admin" }) { users in
      var (ada, bob) = (try Self.user("ada", Self.hashes[0]), try Self.user("bob", Self.hashes[0]))
      ada.isEmailVerified = true
      ada.createdAt = Timestamp("1990-01-02T03:04:05.000Z")
      bob.isDisabled = true
      #expect(try await Self.add([ada, bob], to: users) == [])
      let me = try Device(try await Self.logIn("ada", Self.password, users), users)
      let account = try await me.get("/v1/me").json
      #expect(account["createdAt"] == "1990-01-02T03:04:05.000Z" && account["emailVerified"] == true)
      #expect(try await Self.logIn("bob", Self.password, users).status == 403)
    }
  }

  @Test("A taken address is left out, in any case, so that an import can be repeated")
  func repetition() async throws {
    try await ServerFixture.run { users in
      _ = try await users.signUp("ada")
      let imported = try [Self.user("Ada", Self.hashes[0]), Self.user("bob", Self.hashes[0]), Self.user("eve", nil)]
      #expect(try await Self.add(imported, to: users) == [0])
      #expect(try await Self.add(imported, to: users) == [0, 1, 2])
      #expect(try await users.count("users") == 3)
      #expect(try await users.logIn("ada").user.isEmpty == false)
      #expect(try await Self.logIn("eve", "", users).status == 401)
    }
  }

  @Test("More users than one transaction takes are imported, also into a store without a server")
  func manyUsers() async throws {
    try await ServerFixture.run { users in
      await users.stop()
      let imported = try (0..<450).map { try Self.user("user\($0)", Self.hashes[3]) }
      #expect(try await Self.add(imported, to: users) == [])
      try await users.restart()
      #expect(try await users.count("users") == 450)
      #expect(try await Self.logIn("user449", Self.password, users).status == 201)
    }
  }
}
