import LockstepTestSupport
import Testing

@testable import LockstepWebhooks

@Suite("Secrets of webhooks", .timeLimit(.minutes(10)))
struct WebhookSecretTests {
  /// A secret of this many bytes, and its text.
  private func text(bytes: [UInt8]) -> String { "whsec_" + Base64.text(bytes) }

  @Test("A secret of 24 to 64 bytes is read and written", arguments: [24, 25, 32, 63, 64])
  func lengths(count: Int) throws {
    let text = text(bytes: (0..<count).map { UInt8($0) })
    #expect(try WebhookSecret(text).text == text)
  }

  @Test("Shorter and longer secrets are refused", arguments: [0, 1, 23, 65, 100, 10_000])
  func wrongLengths(count: Int) {
    let text = text(bytes: [UInt8](repeating: 7, count: count))
    #expect(throws: WebhookSecretError()) { try WebhookSecret(text) }
  }

  @Test(
    "Other spellings are refused",
    arguments: [
      "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      "whsec_ MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS-",
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAA", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAB==",
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwü===", "whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ]
  )
  func spellings(text: String) {
    #expect(throws: WebhookSecretError()) { try WebhookSecret(text) }
  }

  @Test("New secrets are valid and differ")
  func new() throws {
    let secrets = (0..<100).map { _ in WebhookSecret.make() }
    #expect(Set(secrets.map(\.text)).count == 100)
    for secret in secrets { #expect(try WebhookSecret(secret.text) == secret) }
  }

  @Test("No description shows a secret")
  func descriptions() throws {
    let secret = try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    var shown = "\(secret) \(String(reflecting: secret)) \([secret])"
    dump(secret, to: &shown)
    #expect(!shown.contains("MfKQ") && !shown.contains("49, 242"), "\(shown)")
  }

  @Test("base64 of random bytes is read back")
  func base64() {
    let seed = TestSeed.make(for: "WebhookSecretTests.base64")
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<2000 {
      let bytes = (0..<numbers.below(100)).map { _ in UInt8(numbers.below(256)) }
      #expect(Base64.decoded(Substring(Base64.text(bytes))) == bytes, "seed \(seed)")
    }
    #expect(Base64.text(Array("light work".utf8)) == "bGlnaHQgd29yaw==")
  }
}
