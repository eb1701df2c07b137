@testable import LockstepHTTP
import Testing

@Suite("The version and the Connection field determine whether a connection is kept", .timeLimit(.minutes(10)))
struct KeepAliveTests {
  @Test(
    "Each combination of version and Connection has its result",
    arguments: [
      ([], true, false),
      (["close"], false, false),
      (["Close"], false, false),
      (["keep-alive"], true, true),
      (["Keep-Alive"], true, true),
      (["close, keep-alive"], false, false),
      (["keep-alive, close"], false, false),
      (["keep-alive", "close"], false, false),
      (["close", "keep-alive"], false, false),
      (["keep-alive, Upgrade, HTTP2-Settings"], true, true),
      (["upgrade"], true, false),
      (["upgrade , CLOSE"], false, false),
      ([""], true, false),
      ([","], true, false),
      (["closed"], true, false),
      (["clos"], true, false),
      (["keep-alive=5"], true, false),
      (["\"close\""], true, false),
    ] as [([String], Bool, Bool)]
  )
  func decisions(values: [String], in11: Bool, in10: Bool) throws {
    let fields = values.map { "Connection: \($0)" }
    #expect(try head("GET / HTTP/1.1", fields: fields).keepsAlive == in11)
    #expect(try head("GET / HTTP/1.0", fields: fields).keepsAlive == in10)
  }
}
