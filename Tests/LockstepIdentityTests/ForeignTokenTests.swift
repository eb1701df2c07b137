import LockstepCryptography
import LockstepTestSupport
import Testing

@testable import LockstepIdentity

/// Tokens that PyJWT made with the keys of `TestKey`. They expire in 2096.
@Suite("Tokens of another implementation", .timeLimit(.minutes(10)))
struct ForeignTokenTests {
  static let tokens: [(algorithm: String, token: String)] = [
    (
      "RS256",
      "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYS0xIiwidHlwIjoiSldUIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwi"
        + "YXVkIjpbImFwcCIsImFjY291bnQiXSwic3ViIjoiN2M5ZTY2NzktNzQyNS00MGRlLTk0NGItZTA3ZmMxZjkwYWU3IiwiZXhwIjo0"
        + "MDAwMDAwMDAwLCJzaWQiOiI1ZjJjNmExZS05M2Q0LTRjMWItOGYzOS0yYzNmNWQ2ZTdhODAiLCJlbWFpbF92ZXJpZmllZCI6dHJ1"
        + "ZSwiZW1haWwiOiJhbm5AZXhhbXBsZS5jb20ifQ.FxLZRk7RXRdRrKNCsrp-E3QTOXnaEuQ7t2NhGXlNTX9Ss9KsTmoRrtzyK_fx-"
        + "bOcbx0qHMcX2KF9wHlPjrxmIXr_c-Zqy0IyeVWmWn5YRsLZrlj9E-Py6x2hd42IdSVN7Ed2WiT3i7b3brjIo4fJOsbLsm_RqWs_d"
        + "qiANuoQJJStHTti8d7eM1OfLLVrYC3tiylRcpyxJInCnmkWb1TPeytbFSkw62PBSojY7KL2Ev9d-RdqUfR2Hd-uuIkWxWmxhUnQ1"
        + "qXZPn4iC-GhorAg9GJ1l6cT6FnGkSN66sG_upuQ33GZyqVxAul8yHK_asbGMr9uOMePiqfOLoLKAKr6RQ"
    ),
    (
      "PS256",
      "eyJhbGciOiJQUzI1NiIsImtpZCI6InJzYS0xIiwidHlwIjoiSldUIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwi"
        + "YXVkIjpbImFwcCIsImFjY291bnQiXSwic3ViIjoiN2M5ZTY2NzktNzQyNS00MGRlLTk0NGItZTA3ZmMxZjkwYWU3IiwiZXhwIjo0"
        + "MDAwMDAwMDAwLCJzaWQiOiI1ZjJjNmExZS05M2Q0LTRjMWItOGYzOS0yYzNmNWQ2ZTdhODAiLCJlbWFpbF92ZXJpZmllZCI6dHJ1"
        + "ZSwiZW1haWwiOiJhbm5AZXhhbXBsZS5jb20ifQ.AKUuMpqzG1RU4tGq98Z6EzHG4AVdH45-F9zEtt1YMGbYf-N-pGSHFd9315lnV"
        + "yKvw5x0ympAOnfx4ZLZ-dCCGHv62XWhXT6e10oPlAlGHwsViRESCwrxJaSxzPhU0JLnLIjbSlFHifqAf45kiVufY8jVyaaYetVlW"
        + "zK_bxk-183AG0ZnZeGcAQAxFi-4c9CI8zzSJC8zJTfNybv1qSYjuiIDcQ3XzbrR2-mrWlG207My8Fbsqv7JpuUY31IlOOL4MMLhz"
        + "mCi-XyMMiS6rcbUy7cCFaXVlUH3vMtH2YM7rgBiU7j5_cQ0_2CB17zJRKJ1stUthaq92doIpKb-r941hg"
    ),
    (
      "ES256",
      "eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjLTEiLCJ0eXAiOiJKV1QifQ.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiY"
        + "XVkIjpbImFwcCIsImFjY291bnQiXSwic3ViIjoiN2M5ZTY2NzktNzQyNS00MGRlLTk0NGItZTA3ZmMxZjkwYWU3IiwiZXhwIjo0M"
        + "DAwMDAwMDAwLCJzaWQiOiI1ZjJjNmExZS05M2Q0LTRjMWItOGYzOS0yYzNmNWQ2ZTdhODAiLCJlbWFpbF92ZXJpZmllZCI6dHJ1Z"
        + "SwiZW1haWwiOiJhbm5AZXhhbXBsZS5jb20ifQ.wSlOMO198q_bYjghsR_OP1F2Yq29sB8OWGTuj09eKBcM82GkJ63V1WkwDU-cEn"
        + "jgE7OUop8qHKwSqR-bJOdtUA"
    ),
    (
      "EdDSA",
      "eyJhbGciOiJFZERTQSIsImtpZCI6ImVkLTEiLCJ0eXAiOiJKV1QifQ.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiY"
        + "XVkIjpbImFwcCIsImFjY291bnQiXSwic3ViIjoiN2M5ZTY2NzktNzQyNS00MGRlLTk0NGItZTA3ZmMxZjkwYWU3IiwiZXhwIjo0M"
        + "DAwMDAwMDAwLCJzaWQiOiI1ZjJjNmExZS05M2Q0LTRjMWItOGYzOS0yYzNmNWQ2ZTdhODAiLCJlbWFpbF92ZXJpZmllZCI6dHJ1Z"
        + "SwiZW1haWwiOiJhbm5AZXhhbXBsZS5jb20ifQ.CkWW60oIyffoLdY3P0A0bo-gDQVyEZk2X1wBY5sUYU3oH-04M3t_a12zyaomGV"
        + "cEbBymBN0MKAiK8-Vh_jZ8Dw"
    ),
  ]

  @Test("A token by each algorithm is valid", arguments: tokens)
  func verifies(algorithm: String, token: String) async throws {
    let fixture = try Fixture()
    let identity = try await fixture.verify(token).get()
    #expect(identity.subject == "7c9e6679-7425-40de-944b-e07fc1f90ae7")
  }
}
