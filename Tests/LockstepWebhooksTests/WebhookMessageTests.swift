import LockstepJSON
import LockstepTime
import Testing

@testable import LockstepWebhooks

@Suite("Messages of webhooks", .timeLimit(.minutes(10)))
struct WebhookMessageTests {
  private func fields(_ message: WebhookMessage, seconds: Int64, _ secrets: String...) throws -> [String: String] {
    let time = Timestamp(millisecondsSince1970: seconds * 1000 + 999)
    let fields = message.fields(at: time, secrets: try secrets.map { text in try WebhookSecret(text) })
    return Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) })
  }

  @Test("The signature is that of the libraries of Standard Webhooks")
  func vector() throws {
    // From the tests of these libraries.
    let message = WebhookMessage(id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body: Array(#"{"test": 2432232314}"#.utf8))
    #expect(
      try fields(message, seconds: 1_614_265_330, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") == [
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      ]
    )
  }

  @Test("While a secret is replaced, both secrets sign")
  func rotation() throws {
    let message = WebhookMessage(id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body: Array(#"{"test": 2432232314}"#.utf8))
    let new = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
    let both = try fields(message, seconds: 1_614_265_330, new, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    let signatures = try #require(both["webhook-signature"]).split(separator: " ")
    #expect(signatures.count == 2)
    #expect(try signatures.first.map(String.init) == fields(message, seconds: 1_614_265_330, new)["webhook-signature"])
    #expect(signatures.last == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test("The code is that of RFC 4231, for a key as long as a receiver may choose")
  func authenticationCodes() throws {
    // Test case 4 of RFC 4231: a key of 25 bytes from 1 to 25, and 50 times the byte 0xCD.
    let secret = try WebhookSecret("whsec_" + Base64.text((1...25).map { UInt8($0) }))
    let code = secret.authenticationCode(of: [UInt8](repeating: 0xCD, count: 50))
    let digits = code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    #expect(digits == "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b")
  }

  @Test("The id, the time and each byte of the body are signed")
  func signed() throws {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    let bodies = ["{}", "{ }", "{}\n"].map { WebhookMessage(id: "a", body: Array($0.utf8)) }
    var signatures = Set(try bodies.map { try fields($0, seconds: 1, secret)["webhook-signature"] })
    signatures.insert(try fields(bodies[0], seconds: 2, secret)["webhook-signature"])
    signatures.insert(
      try fields(WebhookMessage(id: "b", body: bodies[0].body), seconds: 1, secret)["webhook-signature"]
    )
    #expect(signatures.count == 5)
  }

  @Test("The body has the type, the time of the event and the data, in this order")
  func body() {
    let time = Timestamp(millisecondsSince1970: 1_700_000_000_123)
    let body = WebhookMessage.body(type: "user.created", at: time, data: ["user": "u1", "note": "ü\"\n"])
    #expect(
      String(decoding: body, as: UTF8.self)
        == #"{"type":"user.created","timestamp":"2023-11-14T22:13:20.123Z","data":{"user":"u1","note":"ü\"\n"}}"#
    )
  }
}
