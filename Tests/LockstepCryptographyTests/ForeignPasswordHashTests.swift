import LockstepTestSupport
import Testing

@testable import LockstepCryptography

func matches(_ hash: ForeignPasswordHash, _ password: String) throws -> Bool {
  try Array(password.utf8).withUnsafeBytes { bytes throws(CryptographyError) in try hash.matches(bytes) }
}

@Suite("Password hashes of other systems", .timeLimit(.minutes(10)))
struct ForeignPasswordHashTests {
  static let password = "Grüße, 世界 🔑"

  /// Made with bcrypt, passlib, Django, argon2-cffi, Werkzeug and hashlib from PyPI, for `password`.
  static let generated: [String] = [
    "$2b$05$5zuXVEz5QSgbwBfH5O4lyuroyBdpQ/FB4Crbgca5w2lvKaBRlkNPC",
    "$2a$05$M5cy8Jw6vbN8xdtl60wwmuoWQaZY1.Xf7NTSdtBB1Mf7V7TEIfem2",
    "$2y$04$ieNCwD27EDfn2tUgjChsweKi9qWhLtGgMirpXvjc0BeQZnl2kMpY6",
    "$pbkdf2$50$fs85B0BoDUGoVYrxPmdsTQ$QXDVKhBENJxmxAXs1z4nDWiv20g",
    "$pbkdf2-sha256$50$MwaglFJKqZXyXgthDKE0xg$dU1UkTIKpoNWPPbmPc2OHCYQSQDbYfnKq6ZrqW818b4",
    "$pbkdf2-sha512$50$bk0pxXgv5ZyTsjamVKrVOg$"
      + "hFGK7W0yHAQ4dIFsLcMxCsCAm76/AHe8xK2JZ2.aGvyTK9vLQQ4NxT6sOlk0/761t5Bhm9fc1mirmsFMkbFOww",
    "$scrypt$ln=6,r=8,p=2$BCBkzNm79/5/r7UW4vw/hw$uh9j2A9zLEyP2XQIJmcqQ8x5IFL8NUQCqXk9GiG5C/4",
    "pbkdf2_sha256$60$seasalt12$TapJZYGAAJmpxI1bDIlT6sEuRY7601Q/IRFjbxOKPlI=",
    "pbkdf2_sha1$60$seasalt12$GPZoUI6JW53w6U/1S/69adsvhzI=",
    "scrypt$64$seasalt12$8$5$b9RqRhZEF7nb9P7iG5NIj04VKTY1oy4EfjPVqaPB8YmFUl6ikWE0dpuaYax+3ljaymmiaLvklaNxojjf4zQgUA==",
    "bcrypt$$2b$05$q82cZsQ3agCRxnVaDfp6.e4e32salL1FVI7fzPo4r0PHQRM68E4da",
    "bcrypt_sha256$$2b$05$l4raQe9VEDyy05dsw4f8yuJhFYIKNrFMuzh5d3ZpuHcRuCVwKfgDy",
    "argon2$argon2id$v=19$m=256,t=2,p=4$3eytCFF2kJ+yDoKf9fzcEA$jWTr+XaoXkl3M8QBZ5AWl1M98Hb2mRLD869B6iwUP/M",
    "$argon2id$v=19$m=64,t=3,p=1$tYjxc+hpGlM6s+Hzc0gxsg$pk2XP62dCWRI4fpkXMbrhZGJhVYhjBFYSjPbjVKuO0o",
    "pbkdf2:sha256:70$Z5ExRO289T0jtuFs$72bb73d0865832f2c38848d5fe2db8e47639aed967a00658cc3fec81a06fcbee",
    "scrypt:1024:8:1$B7Vr4uSovnd3IobX$187a6696808cfa698ae597d36ad9ad642a014d3ffc41309a261100f4c6bcd078"
      + "87778962e9e1f04b3e89b8101b177c206603b54f3097554ee733fde683b7ecdd",
    "$aspnet-identity$AQAAAAIAAABkAAAAEK1Kpt+hU8RRjY/H7W+FHCNbgq1XBP2sJ1/B5T/fVWPCxqorAFTTDKypY8An0LVSeg==",
    "$aspnet-identity$AQAAAAEAAABkAAAAED+Dn1zSCI+ERtpuIaObzanzieM83vrUj7PGsnrvRkn5p1L1/UW4SpUA13GFrszZQQ==",
    "$aspnet-identity$AD+Dn1zSCI+ERtpuIaObzampGrOJfEtUEdT/6IIWBFqUc75eIOHNrE2BqResHa5K8A==",
    "$pbkdf2-sha256$100$XHdglFc2difMkZ47qTK74Q==$"
      + "Ak38x2RfpFrllw0iMd9uGq99yShtPciRKVy4Yu1hQZQ0IRHOy3T6TxpdS1Yz2ce0Pr3AwGHTI95bP69LWJ/+OQ==",
  ]

  @Test("The old password matches a hash of each library, and no other does", arguments: generated)
  func generatedHashes(text: String) throws {
    let hash = try ForeignPasswordHash(text)
    try hash.loadLibrary()
    #expect(try matches(hash, Self.password))
    for other in ["", "Grüße", Self.password + " ", Self.password.uppercased(), "Grüße, 世界 🔑".decomposed] {
      #expect(try !matches(hash, other), "\(other)")
    }
  }

  @Test("The stored text gives the same hash again", arguments: generated)
  func storedText(text: String) throws {
    let hash = try ForeignPasswordHash(text)
    let again = try ForeignPasswordHash(hash.text)
    #expect(again == hash)
    #expect(again.text == hash.text)
    #expect(try matches(again, Self.password))
  }

  @Test("No hash with a changed character matches", arguments: generated)
  func changedCharacters(text: String) throws {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "changedCharacters"))
    for _ in 0..<20 {
      // The salt or the hash.
      var bytes = Array(text.utf8)
      let place = bytes.count - 1 - numbers.below(20)
      bytes[place] = numbers.one(of: Array("./+AZaz09$=".utf8))
      let changed = String(decoding: bytes, as: UTF8.self)
      guard let hash = try? ForeignPasswordHash(changed), hash != (try ForeignPasswordHash(text)) else { continue }
      #expect(try !matches(hash, Self.password), "\(changed)")
    }
  }

  /// The vectors of Openwall's crypt_blowfish and of py-bcrypt.
  static let bcryptVectors: [(text: String, password: String)] = [
    ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"),
    ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK", "U*U*"),
    ("$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", "U*U*U"),
    ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy", ""),
    ("$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s.", ""),
    ("$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe", "a"),
    ("$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i", "abc"),
    ("$2a$06$.rCVZVOThsIa97pEDOxvGuRRgzG64bvtJ0938xuqzv18d3ZpQhstC", "abcdefghijklmnopqrstuvwxyz"),
    ("$2a$06$fPIsBO8qRqkjj273rfaOI.HtSV9jLDpTbZn782DC6/t7qT67P6FfO", "~!@#$%^&*()      ~!@#$%^&*()PNBFRD"),
    (
      "$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui",
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789chars after 72 are ignored"
    ),
  ]

  @Test("bcrypt computes what the published vectors say", arguments: bcryptVectors)
  func publishedBcrypt(text: String, password: String) throws {
    #expect(try matches(ForeignPasswordHash(text), password))
    #expect(try !matches(ForeignPasswordHash(text), "x" + password))
  }

  @Test("bcrypt ignores what follows 72 bytes, and no password with a zero byte matches")
  func bcryptLimits() throws {
    let text = "$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui"
    let first = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    let hash = try ForeignPasswordHash(text)
    #expect(try matches(hash, first))
    #expect(try matches(hash, first + String(repeating: "é", count: 500)))
    #expect(try !matches(hash, String(first.dropLast())))
    #expect(try !matches(hash, first + "\0"))
    #expect(try !matches(ForeignPasswordHash("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"), "U*U\0"))
    #expect(try !matches(ForeignPasswordHash("$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"), "\0"))
  }

  @Test("PBKDF2 and scrypt compute what RFC 6070 and RFC 7914 say")
  func vectorsOfRFCs() throws {
    func check(_ method: String, _ salt: String, _ output: String, _ password: String) throws {
      #expect(try matches(ForeignPasswordHash("\(method)$\(salt)$\(output)"), password), "\(method) \(password)")
    }
    try check("pbkdf2:sha1:1", "salt", "0c60c80f961f0e71f3a9b524af6012062fe037a6", "password")
    try check("pbkdf2:sha1:2", "salt", "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957", "password")
    try check("pbkdf2:sha1:4096", "salt", "4b007901b765489abead49d926f721d065a429c1", "password")
    try check(
      "pbkdf2:sha1:4096",
      "saltSALTsaltSALTsaltSALTsaltSALTsalt",
      "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038",
      "passwordPASSWORDpassword"
    )
    try check("pbkdf2:sha1:4096", "sa\0lt", "56fa6aa75548099dcc37d7f03425e0c3", "pass\0word")
    try check(
      "pbkdf2:sha256:1",
      "salt",
      "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
        + "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
      "passwd"
    )
    try check(
      "pbkdf2:sha256:80000",
      "NaCl",
      "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56"
        + "a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d",
      "Password"
    )
    try check(
      "scrypt:1024:8:16",
      "NaCl",
      "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
        + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640",
      "password"
    )
    try check(
      "scrypt:16384:8:1",
      "SodiumChloride",
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887",
      "pleaseletmein"
    )
  }

  @Test("Firebase's scrypt computes what Firebase's README says, in either alphabet of Base64")
  func firebase() throws {
    let signerKey = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
    let output = "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="
    let text = "$firebase-scrypt$m=14,r=8$42xEC+ixf3L2lw==$Bw==$\(signerKey)$\(output)"
    let hash = try ForeignPasswordHash(text)
    #expect(try matches(hash, "user1password"))
    #expect(try !matches(hash, "user1passwore"))
    #expect(try !matches(hash, ""))
    #expect(hash.text == text.replacing("=", with: "").replacing("m14,r8", with: "m=14,r=8"))
    let other = String(text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    #expect(try ForeignPasswordHash(other) == hash)
  }

  @Test("A secret is in no description of a hash")
  func descriptions() throws {
    for text in Self.generated {
      let hash = try ForeignPasswordHash(text)
      var dumped = ""
      dump(hash, to: &dumped)
      for description in ["\(hash)", String(reflecting: hash), dumped] {
        #expect(!description.contains(text.suffix(20).prefix(8)), "\(description)")
      }
    }
  }
}

extension String {
  /// The same text with its accents as characters of their own.
  fileprivate var decomposed: String { replacing("ü", with: "u\u{308}") }
}
