import Foundation
import Glibc
import LockstepClient
import LockstepReactor
import LockstepTestSupport
import LockstepTime
import Synchronization
import Testing
import WatchingClient
import WatchingModule

@Suite("The example of continuing to watch, over HTTP", .timeLimit(.minutes(10)))
struct ContinueWatchingTests {
  /// A run of the app on a device of the user, with a clock that the test sets.
  private struct Run: Sendable {
    let client: LockstepClient
    let store: WatchingStore
    let actions: WatchingActions

    init(_ port: Int, _ file: String, token: MemoryCredentials, now: @escaping @Sendable () -> Timestamp) throws {
      let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
      client = try LockstepClient(url, store: .file(file), credentials: token, modules: [.watching])
      let dispatcher = WatchingDispatcher()
      store = WatchingStore(dispatcher: dispatcher)
      actions = WatchingActions(client, dispatcher, errors: ErrorAction(ErrorDispatcher()), now: now)
    }

    var row: [String] { store.videos.value.map { "\($0.id) at \($0.position)" } }

    /// Runs the app until `body` returns.
    func run(isOnline: Bool = true, _ body: () async throws -> Void) async rethrows {
      try await withThrowingTaskGroup(of: Void.self) { group in
        if isOnline { group.addTask { await client.run() } }
        group.addTask { await actions.follow() }
        defer { group.cancelAll() }
        try await body()
      }
    }
  }

  /// Another client, which uses plain HTTP, is at the beginning of a video. When a device shows this, it has got all
  /// earlier changes too.
  private static func put(_ id: String, _ token: String, _ port: Int) async throws {
    let client = try RawClient(port: port)
    defer { client.close() }
    let body = #"{"position":1}"#
    try await client.send(
      "PUT /v1/watching/\(id) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    )
    #expect(try await client.response().status == 201)
  }

  @Test("Two devices show the same row, and the old position of a device that was offline does not win")
  func twoDevices() async throws {
    let folder = try TemporaryDirectory()
    let (process, port) = try await LockstepProcess.serving(in: folder, binary: "ContinueWatching")
    let time = Mutex<Int64>(1_700_000_000_000)
    let now: @Sendable () -> Timestamp = {
      let milliseconds = time.withLock { time in
        time += 1_000
        return time
      }
      return Timestamp(millisecondsSince1970: milliseconds)
    }
    let (phoneToken, televisionToken) = (MemoryCredentials(), MemoryCredentials())
    func phone() throws -> Run { try Run(port, folder.file("phone.db"), token: phoneToken, now: now) }
    let television = try Run(port, folder.file("television.db"), token: televisionToken, now: now)

    let first = try phone()
    try await first.client.signUp(email: "ada@example.com", password: "correct horse")
    try await television.client.logIn(email: "ada@example.com", password: "correct horse")
    let token = try #require(phoneToken.token())
    try await television.run {
      try await first.run {
        await first.actions.watch("geyser", at: 5)
        try await Self.put("trailer", token, port)
        await eventually { first.row == ["trailer at 1", "geyser at 5"] && television.row == first.row }
      }
      // The app is opened without a network, and is closed before there is one.
      let second = try phone()
      await second.run(isOnline: false) {
        await withTaskGroup(of: Void.self) { group in
          group.addTask { await second.actions.watch("aurora", at: 10) }
          await eventually { second.row.contains("aurora at 10") }
          group.cancelAll()
        }
      }
      await television.actions.watch("aurora", at: 900)
      await television.actions.watch("geyser", at: 20)
      let third = try phone()
      try await third.run {
        await eventually { third.client.status.pending == 0 }
        try await Self.put("news", token, port)
        await eventually { third.row == television.row && television.row.count == 4 }
        #expect(third.row == ["news at 1", "trailer at 1", "geyser at 20", "aurora at 900"])
      }
    }
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }
}
