import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCommand
import LockstepCryptography
@testable import LockstepMaintenance
@testable import LockstepStore

@Suite("Files of users of another system", .timeLimit(.minutes(10)))
struct UserImportFileTests {
  /// As Firebase's console shows them, with the published example.
  private static let parameters = """
    hash_config {
      algorithm: SCRYPT,
      base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
      base64_salt_separator: Bw==,
      rounds: 8,
      mem_cost: 14,
    }
    """

  private static let export = """
    {"users": [
      {"localId": "1", "email": "Ada@Example.com", "emailVerified": true, "disabled": true,
       "passwordHash": "lSrfV15cpx95_sZS2W9c9Kp6i_LVgQNDNC_qzrCnh1SAyZvqmZqAjTdn3aoItz-VHjoZilo78198JAdRuid5lQ==",
       "salt": "42xEC-ixf3L2lw==", "createdAt": "1485324000000", "lastSignedInAt": "1486324313000",
       "providerUserInfo": []},
      {"localId": "2", "phoneNumber": "+15555550100"},
      {"localId": "3", "email": "bob@example.com", "passwordHash": "", "salt": ""}
    ]}
    """

  private func read(_ users: String, parameters: String? = nil) throws -> UserImportFile {
    let folder = try TemporaryDirectory()
    try folder.write(Array(users.utf8), to: "users")
    if let parameters { try folder.write(Array(parameters.utf8), to: "parameters") }
    return try UserImportFile(
      folder.file("users"),
      parameters.map { _ throws(CommandError) in try FirebaseHashing(folder.file("parameters")) }
    )
  }

  private func refusal(_ users: String, parameters: String? = nil) -> String? {
    do {
      _ = try read(users, parameters: parameters)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test(
    "An export of Firebase is read with the hash parameters of the console, in any of their forms",
    arguments: [
      parameters, parameters.filter { $0 != "," }, parameters.split(separator: "\n").joined(separator: "\r\n"),
      #"{"algorithm":"SCRYPT","base64_signer_key":"jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==","base64_salt_separator":"Bw==","rounds":8,"mem_cost":14}"#,
    ]
  )
  func firebase(parameters: String) throws {
    let file = try read(Self.export, parameters: parameters)
    #expect(file.users.map(\.address.text) == ["Ada@Example.com", "bob@example.com"])
    #expect(file.withoutAddress == 1)
    #expect(file.users.map(\.isEmailVerified) == [true, false] && file.users.map(\.isDisabled) == [true, false])
    #expect(file.users[0].createdAt?.millisecondsSince1970 == 1_485_324_000_000)
    let hash = try ForeignPasswordHash(try #require(file.users[0].passwordHash).text)
    for (password, isRight) in [("user1password", true), ("user2password", false)] {
      let matches = try Array(password.utf8).withUnsafeBytes { bytes throws(CryptographyError) in
        try hash.matches(bytes)
      }
      #expect(matches == isRight)
    }
    #expect(file.users[1].passwordHash == nil)
  }

  @Test("An export of Firebase is refused without its parameters, or with incomplete ones")
  func firebaseParameters() {
    #expect(refusal(Self.export)?.contains("--firebase-hashing") == true)
    let incomplete = refusal(Self.export, parameters: "hash_config { algorithm: SCRYPT, rounds: 8 }")
    #expect(incomplete?.contains("it has no base64_signer_key, base64_salt_separator, mem_cost") == true)
    #expect(refusal(Self.export, parameters: "hash_config { algorithm: BCRYPT }") != nil)
  }

  @Test("Lines of JSON are read, and empty lines and the ends of lines of Windows do not matter")
  func lines() throws {
    let hash = "$2b$05$5zuXVEz5QSgbwBfH5O4lyuroyBdpQ/FB4Crbgca5w2lvKaBRlkNPC"
    let file = try read(
      """
      {"email":"ada@example.com","passwordHash":"\(hash)","emailVerified":true,"createdAt":"2021-03-05T08:00:00Z"}\r

      {"email":"bob@example.com","passwordHash":null,"disabled":false}
      """
    )
    #expect(file.users.map(\.address.text) == ["ada@example.com", "bob@example.com"])
    #expect(file.users.map { $0.passwordHash?.text } == [hash, nil])
    #expect(file.places == ["line 1", "line 3"])
  }

  @Test("Every fault of a file is named with its line, and secrets are not repeated")
  func faults() throws {
    let text = try #require(
      refusal(
        """
        {"email":"ada@example.com"}
        {"email":"ADA@example.com"}
        {"email":"bob"}
        {"password":"secret horse"}
        []
        nonsense
        {"email":"c@example.com","passwordHash":"secret hash"}
        {"email":"d@example.com","passwordHash":7}
        {"email":"e@example.com","emailVerified":"yes"}
        {"email":"f@example.com","createdAt":"yesterday"}
        """
      )
    )
    for line in 2...10 { #expect(text.contains("line \(line): "), "\(line): \(text)") }
    #expect(!text.contains("line 1:") && !text.contains("secret horse") && !text.contains("secret hash"))
    #expect(text.contains("nothing was imported") && text.contains("it has the same address as line 1"))
  }
}
