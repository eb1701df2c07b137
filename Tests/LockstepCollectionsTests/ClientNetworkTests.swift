import Testing

@testable import LockstepCollections

@Suite("A client's network", .timeLimit(.minutes(10)))
struct ClientNetworkTests {
  @Test(
    "The network is the address for IPv4, the first 64 bits for IPv6, and the whole text for anything else",
    arguments: [
      ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("::FFFF:c000:0201", "192.0.2.1"),
      ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("2001:DB8:1:2::1", "2001:db8:1:2::/64"),
      ("::1", "0:0:0:0::/64"), ("fe80::1%eth0", "fe80:0:0:0::/64"), ("fe80::2%lo", "fe80:0:0:0::/64"),
      ("", ""), ("unix:/run/lockstep", "unix:/run/lockstep"), ("2001:db8::1::2", "2001:db8::1::2"),
      (String(repeating: "a", count: 100), String(repeating: "a", count: 64)),
    ]
  )
  func network(host: String, text: String) {
    #expect(ClientNetwork(host: host).description == text)
    #expect(ClientNetwork(host: host) == ClientNetwork(host: host))
  }

  @Test("Neighbors in IPv6 share a network, and in IPv4 they do not")
  func neighbours() {
    #expect(ClientNetwork(host: "2001:db8::1") == ClientNetwork(host: "2001:db8::ffff:1"))
    #expect(ClientNetwork(host: "2001:db8:0:1::1") != ClientNetwork(host: "2001:db8::1"))
    #expect(ClientNetwork(host: "192.0.2.1") != ClientNetwork(host: "192.0.2.2"))
  }
}
