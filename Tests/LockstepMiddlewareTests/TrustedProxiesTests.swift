import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepMiddleware
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Only trusted proxies can name the client", .timeLimit(.minutes(10)))
struct TrustedProxiesTests {
  private static let proxies = ["10.0.0.0/8", "127.0.0.1", "fd00::/8"].compactMap { IPNetwork($0) }

  /// The connected address, the X-Forwarded-For fields, and the resulting client.
  private static let cases: [(peer: String, fields: [String], client: String)] = [
    ("127.0.0.1", ["192.0.2.7"], "192.0.2.7"), ("10.1.2.3", ["192.0.2.7"], "192.0.2.7"),
    ("::ffff:10.1.2.3", ["192.0.2.7"], "192.0.2.7"), ("fd00::1", ["2001:db8::7"], "2001:db8::7"),
    ("fd00::1%eth0", ["2001:DB8:0::7"], "2001:db8::7"),
    // Fields from an address that is not trusted are ignored.
    ("192.0.2.1", ["192.0.2.7"], "192.0.2.1"), ("127.0.0.2", ["192.0.2.7"], "127.0.0.2"),
    ("fe80::1", ["192.0.2.7"], "fe80::1"), ("unknown", ["192.0.2.7"], "unknown"),
    // An untrusted address may have invented all addresses to the left of it.
    ("127.0.0.1", ["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
    ("127.0.0.1", ["198.51.100.1", "192.0.2.7"], "192.0.2.7"),
    ("127.0.0.1", ["127.0.0.1, 192.0.2.7,10.0.0.1"], "192.0.2.7"),
    ("127.0.0.1", ["192.0.2.7, 10.9.9.9", "fd00::2"], "192.0.2.7"),
    // If all addresses are proxies, the first one is the client. A proxy's own health check looks
    // like this.
    ("127.0.0.1", ["10.0.0.2, 10.0.0.1"], "10.0.0.2"),
    ("127.0.0.1", [], "127.0.0.1"), ("127.0.0.1", ["", " , ,"], "127.0.0.1"),
    // Notations of addresses.
    ("127.0.0.1", ["192.0.2.7:4711"], "192.0.2.7"), ("127.0.0.1", ["[2001:db8::7]:4711"], "2001:db8::7"),
    ("127.0.0.1", ["[2001:db8::7]"], "2001:db8::7"), ("127.0.0.1", ["::ffff:192.0.2.7"], "192.0.2.7"),
    ("127.0.0.1", ["\t192.0.2.7 ,, "], "192.0.2.7"),
    // An invalid entry ends the search, because everything to the left of it is unknown.
    ("127.0.0.1", ["192.0.2.7, unknown"], "127.0.0.1"), ("127.0.0.1", ["192.0.2.7, _x, 10.0.0.1"], "10.0.0.1"),
    ("127.0.0.1", ["192.0.2.7 192.0.2.8"], "192.0.2.7"), ("127.0.0.1", ["192.0.2"], "127.0.0.1"),
    ("127.0.0.1", ["192.0.2.256"], "127.0.0.1"), ("127.0.0.1", ["192.0.2.07"], "127.0.0.1"),
    ("127.0.0.1", ["[2001:db8::7"], "127.0.0.1"), ("127.0.0.1", ["[2001:db8::7]80"], "127.0.0.1"),
    ("127.0.0.1", [":"], "127.0.0.1"), ("127.0.0.1", ["[]"], "127.0.0.1"), ("127.0.0.1", ["::1::"], "127.0.0.1"),
    ("127.0.0.1", ["\u{FF}\u{FE}"], "127.0.0.1"), ("127.0.0.1", ["192.0.2.7%eth0"], "127.0.0.1"),
    ("127.0.0.1", [String(repeating: "1", count: 5000)], "127.0.0.1"),
    // At most 32 entries are read, however many there are.
    ("127.0.0.1", [String(repeating: "198.51.100.1, ", count: 1000) + "192.0.2.7"], "192.0.2.7"),
    ("127.0.0.1", ["192.0.2.7, " + Array(repeating: "10.0.0.1", count: 31).joined(separator: ", ")], "192.0.2.7"),
    ("127.0.0.1", ["192.0.2.7, " + Array(repeating: "10.0.0.1", count: 32).joined(separator: ", ")], "10.0.0.1"),
  ]

  @Test("The client is the rightmost address that is not a proxy", arguments: cases)
  func client(peer: String, fields: [String], client: String) throws {
    let proxies = try #require(TrustedProxies(Self.proxies))
    let text = StubbedServer.request(
      "GET",
      "/",
      fields.map { "X-Forwarded-For: \($0)" } + ["Forwarded: for=203.0.113.1"]
    )
    var parser = RequestParser(limits: Limits())
    guard case .head(let head, _) = try Array(text.utf8).withUnsafeBytes({ try parser.parse($0) }) else {
      Issue.record("no request: \(text)")
      return
    }
    let peer = PeerAddress(host: peer, port: 1)
    let request = Request(head: head, body: .bytes([]), peer: peer, arrival: 0, loop: 0)
    #expect(proxies.named(request).peer.host == client)
  }

  @Test("Without trusted proxies, the fields are ignored")
  func none() {
    #expect(TrustedProxies([]) == nil)
  }

  @Test("The access log names the client, and an untrusted field does not change it", arguments: [true, false])
  func accessLog(isTrusted: Bool) async throws {
    try await StubbedServer.run {
      $0.accessLog = true
      if isTrusted { $0.trustedProxies = Self.proxies }
    } _: { gateway in
      _ = try await gateway.get("/healthz", ["X-Forwarded-For: 203.0.113.9, 2001:db8::7"])
      let line = try #require(gateway.log.requests.first)
      #expect(line.contains("client=\(isTrusted ? "2001:db8::7" : "127.0.0.1") "))
    }
  }

  @Test("Behind a trusted proxy, only the client that tries many passwords has to wait", arguments: [true, false])
  func passwords(isTrusted: Bool) async throws {
    try await ServerFixture.run {
      $0.accounts.attempts.perNetwork = RateLimit(requests: 1, seconds: 60, burst: 2)
      if isTrusted { $0.trustedProxies = Self.proxies }
    } _: { users in
      _ = try await users.signUp("ada")
      func logIn(from client: String, _ password: String) async throws -> Int {
        let body = #"{"email":"ada@example.com","password":"\#(password)"}"#
        return try await users.post("/v1/sessions", body, ["X-Forwarded-For: \(client)"]).status
      }
      for status in [401, 401, 429] { #expect(try await logIn(from: "192.0.2.1", "wrong one") == status) }
      #expect(try await logIn(from: "192.0.2.2", ServerFixture.password) == (isTrusted ? 201 : 429))
    }
  }

  @Test(
    "A network is an address and a number of bits",
    arguments: [
      ("10.1.2.3/8", "10.0.0.0/8", ["10.255.0.1", "::ffff:10.0.0.1"], ["11.0.0.1", "::10.0.0.1"]),
      ("192.0.2.1", "192.0.2.1", ["192.0.2.1"], ["192.0.2.0"]), ("192.0.2.1/32", "192.0.2.1", ["192.0.2.1"], []),
      ("0.0.0.0/0", "0.0.0.0/0", ["255.255.255.255"], ["::1"]), ("::/0", "::/0", ["::1", "1.2.3.4"], []),
      ("2001:db8::ff/64", "2001:db8::/64", ["2001:db8::1:2:3:4"], ["2001:db8:0:1::1"]),
      ("2001:db8:0:0:8000::/65", "2001:db8:0:0:8000::/65", ["2001:db8::8000:0:0:1"], ["2001:db8::1"]),
      ("::1", "::1", ["::1"], ["::2", "127.0.0.1"]), ("::ffff:10.0.0.0/104", "10.0.0.0/8", ["10.2.0.1"], ["11.0.0.1"]),
    ]
  )
  func networks(text: String, description: String, inside: [String], outside: [String]) throws {
    let network = try #require(IPNetwork(text))
    #expect(network.description == description)
    #expect(IPNetwork(network.description) == network)
    for address in inside { #expect(network.contains(try #require(IPAddress(address))), "\(address)") }
    for address in outside { #expect(!network.contains(try #require(IPAddress(address))), "\(address)") }
  }
}
