import LockstepHTTP
import LockstepHTTPServer
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepLogging
@testable import LockstepMaintenance
@testable import LockstepMiddleware
@testable import LockstepRoutes
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync
@testable import LockstepTime

@Suite("The memory of streamed responses", .timeLimit(.minutes(10)))
struct StreamedPieceTests {
  /// Notes whether each piece belongs to the writer alone.
  private final class Owner: BodyWriter {
    let pieces = LockedState<[(bytes: Int, isAlone: Bool)]>([])

    func write(_ bytes: consuming [UInt8]) async throws {
      let before = bytes.withUnsafeBufferPointer { $0.baseAddress }
      // If another reference exists, the first change copies the array.
      bytes.withUnsafeMutableBufferPointer { $0[0] = $0[0] }
      let after = bytes.withUnsafeBufferPointer { $0.baseAddress }
      pieces.withLock { [count = bytes.count] in $0.append((count, before == after)) }
    }
  }

  @Test("A stream keeps nothing of a piece that it has written")
  func pieces() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for number in 0..<12 {
        let value = #""\#(number) \#(String(repeating: "x", count: 240_000))""#
        #expect(try await ada.put("/v1/defaults/standard/k", value).status < 300)
      }
      let services = try #require(users.running.withLock { $0 }?.services.users)
      let user = UserID(try #require(UUIDv7(ada.user)))
      let export = UserExport(
        store: services.storage.id,
        account: { _, _ in ["user": "x"] },
        states: services.modules.tables,
        present: { _ in nil },
        registered: { .none },
        readers: services.storage.readers,
        own: []
      )
      let contents = try #require(try await export.contents(of: user, from: nil))
      let owner = Owner()
      try await export.write(contents, of: user, from: nil, to: owner)
      let pieces = owner.pieces.withLock { $0 }
      #expect(pieces.filter { $0.bytes > 240_000 }.count >= 10)
      #expect(pieces.allSatisfy { $0.isAlone })
    }
  }

  @Test("With an access log, a response that may be sent again does not keep its body a second time")
  func loggedResponse() throws {
    final class Body: Sendable {}
    final class Valid: ResponseValidity {
      func holds(at arrival: Int64) -> Bool { true }
      var fields: HeaderFields { HeaderFields() }
    }
    var parser = RequestParser(limits: Limits())
    let text = Array(StubbedServer.request("GET", "/", []).utf8)
    guard case .head(let head, _) = try text.withUnsafeBytes({ try parser.parse($0) }) else {
      Issue.record("no request")
      return
    }
    let peer = PeerAddress(host: "::1", port: 1)
    let request = Request(head: head, body: .bytes([]), peer: peer, arrival: 0, loop: 0)
    let lines = LockedState<[String]>([])
    let logger = Logger(level: .info, format: .text, now: { Timestamp(millisecondsSince1970: 0) }) { line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    let recorder = RequestRecorder(
      metrics: RequestMetrics(loops: 1).shard(ofLoop: 0),
      accessLog: AccessLog(logger),
      router: try Router([]),
      monotonic: { 0 }
    )
    weak var body: Body?
    func validity() -> LoggedValidity {
      let kept = Body()
      body = kept
      let response = Response(status: .ok, body: .stream { _ in _ = kept })
      return LoggedValidity(Valid(), recorder, request, response, route: nil, ids: RequestIDs(start: 0, loop: 0))
    }
    let logged = validity()
    #expect(body == nil)
    #expect(logged.holds(at: 0))
    #expect(lines.withLock { $0 }.first?.contains("status=200 bytes=null") == true)
  }
}
