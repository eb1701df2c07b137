import LockstepTestSupport
import Testing

@testable import LockstepCryptography

private let hash = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
private let bcrypt = "$2b$05$5zuXVEz5QSgbwBfH5O4lyuroyBdpQ/FB4Crbgca5w2lvKaBRlkNPC"

@Suite("Refused password hashes", .timeLimit(.minutes(10)))
struct ForeignPasswordHashRefusalTests {
  private func error(_ text: String) -> ForeignPasswordHashError? {
    do throws(ForeignPasswordHashError) {
      _ = try ForeignPasswordHash(text)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "A text without a known form is refused",
    arguments: [
      "", "$", "$$", "$$$$", "secret", "$1$salt$hash", "$6$salt$hash", "$5$rounds=1000$salt$hash", "$2$05$x",
      "$2x$05$x",
      "$argon2i$v=19$m=64,t=3,p=1$c2FsdHNhbHQ$aGFzaA", "md5$salt$hash", "sha1$salt$hash", "{SSHA}x",
      "5f4dcc3b5aa765d61d8327deb882cf99", "pbkdf2", "scrypt-x$1", String(repeating: "$", count: 2000),
    ]
  )
  func unknownForms(text: String) {
    #expect(error(text) == .unknownForm)
  }

  static let malformedTexts: [(text: String, form: String)] = [
    (bcrypt + "C", "bcrypt"), (String(bcrypt.dropLast()), "bcrypt"), (bcrypt.replacing("/", with: "+"), "bcrypt"),
    (bcrypt.replacing("$05", with: "$03"), "bcrypt"), (bcrypt.replacing("$05", with: "$+5"), "bcrypt"),
    (bcrypt.replacing("$05", with: "$5$"), "bcrypt"), (String(bcrypt.dropLast()) + "D", "bcrypt"),
    ("bcrypt$" + bcrypt.dropFirst(), "bcrypt"), ("bcrypt_sha256$$2b$12$short", "bcrypt"),
    ("$pbkdf2-sha256$0$c2FsdA$\(hash)", "PBKDF2"), ("$pbkdf2-sha256$-1$c2FsdA$\(hash)", "PBKDF2"),
    ("$pbkdf2-sha256$01$c2FsdA$\(hash)", "PBKDF2"), ("$pbkdf2-sha256$1e3$c2FsdA$\(hash)", "PBKDF2"),
    ("$pbkdf2-sha256$10$$\(hash)", "PBKDF2"), ("$pbkdf2-sha256$10$c2FsdA$", "PBKDF2"),
    ("$pbkdf2-sha256$10$c2FsdA$AAAA", "PBKDF2"), ("$pbkdf2-sha256$10$c2Fs!A$\(hash)", "PBKDF2"),
    ("$pbkdf2-sha256$10$c2FsdA$\(hash)$", "PBKDF2"), ("$pbkdf2-sha256$10$c2FsdA", "PBKDF2"),
    ("$pbkdf2-sha256$10$c2FsdA$\(hash.dropLast())B", "PBKDF2"), ("pbkdf2_md5$10$salt$\(hash)", "PBKDF2"),
    ("pbkdf2:sha256:10$salt$zz", "PBKDF2"), ("pbkdf2:sha256$salt$00", "a hash of Werkzeug"),
    ("$scrypt$ln=0,r=8,p=1$c2FsdA$\(hash)", "scrypt"), ("$scrypt$ln=64,r=8,p=1$c2FsdA$\(hash)", "scrypt"),
    ("$scrypt$ln=4,r=0,p=1$c2FsdA$\(hash)", "scrypt"), ("$scrypt$ln=4,r=8$c2FsdA$\(hash)", "scrypt"),
    ("$scrypt$r=8,ln=4,p=1$c2FsdA$\(hash)", "scrypt"), ("scrypt$1000$salt$8$1$\(hash)", "scrypt"),
    ("scrypt$1$salt$8$1$\(hash)", "scrypt"), ("scrypt$16384$salt$8$1", "scrypt of Django"),
    ("$firebase-scrypt$m=14,r=8$c2FsdA$Bw$AAAA$\(hash)", "Firebase's scrypt"),
    ("$firebase-scrypt$m=14,r=8$c2FsdA$Bw$\(hash)", "Firebase's scrypt"),
    ("$firebase-scrypt$m=14,r=8,p=1$c2FsdA$Bw$\(hash)$\(hash)", "Firebase's scrypt"),
    ("$firebase-scrypt$m=14,r=8$c2FsdA$!$\(hash)$\(hash)", "Firebase's scrypt"),
    ("$aspnet-identity$", "ASP.NET Core Identity"), ("$aspnet-identity$AAAA", "ASP.NET Core Identity"),
    ("$aspnet-identity$AQAAAAIAAABk/////61Kpt+hU8RRjY/H7Q==", "ASP.NET Core Identity"),
    ("$aspnet-identity$AQAAAAkAAABkAAAAEK1Kpt+hU8RRjY/H7W+FHCNbgq1XBP2sJ1/B5T/f", "ASP.NET Core Identity"),
    ("$argon2id$v=16$m=64,t=3,p=1$c2FsdHNhbHQ$\(hash)", "Argon2id"),
    ("$argon2id$v=19$m=64,t=0,p=1$c2FsdHNhbHQ$\(hash)", "Argon2id"),
    ("$argon2id$v=19$m=8,t=1,p=2$c2FsdHNhbHQ$\(hash)", "Argon2id"),
    ("$argon2id$v=19$m=64,t=1,p=1$c2FsdA$\(hash)", "Argon2id"),
  ]

  @Test("A text with a fault names its form", arguments: malformedTexts)
  func malformed(text: String, form: String) {
    guard case .malformed(form, let fault) = error(text) else {
      Issue.record("\(text): \(String(describing: error(text)))")
      return
    }
    #expect(!fault.isEmpty)
  }

  static let costlyTexts: [String] = [
    bcrypt.replacing("$05", with: "$15"), bcrypt.replacing("$05", with: "$31"), bcrypt.replacing("$05", with: "$99"),
    "$pbkdf2-sha256$2500001$c2FsdA$\(hash)", "$pbkdf2-sha512$1250001$c2FsdA$\(hash)",
    "$pbkdf2-sha1$1250001$c2FsdA$\(hash)", "$pbkdf2-sha256$9999999999$c2FsdA$\(hash)",
    "$scrypt$ln=17,r=8,p=1$c2FsdA$\(hash)", "$scrypt$ln=16,r=8,p=5$c2FsdA$\(hash)",
    "$scrypt$ln=63,r=8,p=1$c2FsdA$\(hash)", "$scrypt$ln=1,r=9999999999,p=1$c2FsdA$\(hash)",
    "$scrypt$ln=1,r=1,p=9999999999$c2FsdA$\(hash)",
    "$scrypt$ln=1,r=65,p=1$c2FsdA$\(hash)", "$scrypt$ln=1,r=1,p=65$c2FsdA$\(hash)",
    "scrypt:1073741824:8:1$salt$\(String(repeating: "00", count: 32))",
    "$firebase-scrypt$m=17,r=8$c2FsdA$Bw$\(hash)$\(hash)", "$argon2id$v=19$m=131073,t=1,p=1$c2FsdHNhbHQ$\(hash)",
    "$argon2id$v=19$m=65536,t=9,p=1$c2FsdHNhbHQ$\(hash)", "$argon2id$v=19$m=9999999999,t=1,p=1$c2FsdHNhbHQ$\(hash)",
    "$argon2id$v=19$m=64,t=9999999999,p=1$c2FsdHNhbHQ$\(hash)",
    "$aspnet-identity$AQAAAAL/////AAAAEK1Kpt+hU8RRjY/H7W+FHCNbgq1XBP2sJ1/B5T/fVWPCxqorAFTTDKypY8An0LVSeg==",
  ]

  @Test("A hash that would take too much memory or time is refused, with advice", arguments: costlyTexts)
  func tooCostly(text: String) {
    guard case .tooCostly = error(text) else {
      Issue.record("\(text): \(String(describing: error(text)))")
      return
    }
    #expect(error(text)?.description.hasSuffix("with `lockstep user reset-password`.") == true)
  }

  @Test("The defaults of common systems are accepted")
  func defaults() {
    for text in [
      bcrypt.replacing("$05", with: "$10"), bcrypt.replacing("$05", with: "$12"), bcrypt.replacing("$05", with: "$14"),
      // Django 5.2 and 6.0, Keycloak (64 bytes of output), OWASP's number for SHA-1, and ASP.NET Core.
      "pbkdf2_sha256$1000000$salt$\(hash)", "pbkdf2_sha256$1200000$salt$\(hash)",
      "$pbkdf2-sha256$600000$c2FsdA$\(hash)\(hash)", "$pbkdf2-sha512$210000$c2FsdA$\(hash)\(hash)",
      "$pbkdf2-sha1$1300000$c2FsdA$\(hash.prefix(27))", "scrypt$16384$salt$8$5$\(hash)",
      "$scrypt$ln=16,r=8,p=1$c2FsdA$\(hash)", "scrypt:32768:8:1$salt$\(String(repeating: "00", count: 64))",
      "$firebase-scrypt$m=14,r=8$c2FsdA$Bw$\(hash)$\(hash)", "$argon2id$v=19$m=102400,t=2,p=8$c2FsdHNhbHQ$\(hash)",
      "$argon2id$v=19$m=7168,t=5,p=1$c2FsdHNhbHQ$\(hash)",
    ] {
      #expect(error(text) == nil, "\(text)")
    }
  }

  @Test("No text ends the process")
  func randomTexts() {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "randomTexts"))
    let pieces = [
      "$", "$", "$", "2b", "05", "pbkdf2", "-sha256", "_sha256", ":", "scrypt", "ln=", "r=", "p=", "m=", "t=", ",", "8",
      "14",
      "firebase-scrypt", "aspnet-identity", "argon2id", "v=19", hash, "c2FsdA", "é", "\0", "=", "99999999999999999999",
      "-1", "bcrypt", bcrypt, "argon2",
    ]
    for _ in 0..<20_000 {
      let text = (0..<numbers.below(12)).map { _ in numbers.one(of: pieces) }.joined()
      _ = error(text)
    }
  }
}
