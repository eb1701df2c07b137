import Glibc
import LockstepJSON
import LockstepTestSupport
import Synchronization
import Testing

/// A server on one port and one store, which a test ends and starts again.
final class RestartingServer: Sendable {
  private struct Contents: Sendable {
    var process: LockstepProcess?
    var port = 0
    var starts = 0
  }

  private let folder: TemporaryDirectory
  private let contents = Mutex(Contents())

  init(in folder: TemporaryDirectory) { self.folder = folder }

  var port: Int { contents.withLock { $0.port } }
  var address: String { "http://127.0.0.1:\(port)" }

  /// Starts the server. Another process may have the port for a while.
  func start() async throws {
    for attempt in 1... {
      let (port, name) = contents.withLock { contents in
        contents.starts += 1
        return (contents.port, "server-\(contents.starts)")
      }
      let options = ["--threads", "1", "--log-level", "error", "--data", folder.file("lockstep.db")]
      let process = try LockstepProcess(["serve", "--port", "\(port)"] + options, in: folder, name: name)
      do {
        let found = try await process.port()
        contents.withLock { ($0.process, $0.port) = (process, found) }
        return
      } catch  where attempt < 20 {
        try await Task.sleep(for: .milliseconds(250))
      }
    }
  }

  /// Ends the server, with SIGTERM or with SIGKILL.
  func end(_ signal: Int32) async {
    let process = contents.withLock { $0.process.take() }
    process?.send(signal)
    #expect(await process?.ended() == (signal == SIGTERM ? .exit(0) : .signal(signal)))
  }

  /// Copies the store to a file that `restore` can put back.
  func backUp(_ name: String) async throws { try await command("backup", "--to", folder.file(name)) }

  /// Puts a backup back while the server is down, and starts the server again.
  func restore(_ name: String) async throws {
    await end(SIGTERM)
    try await command("restore", "--from", folder.file(name), "--force")
    try await start()
  }

  private func command(_ words: String...) async throws {
    let data = ["--data", folder.file("lockstep.db")]
    let process = try LockstepProcess([words[0]] + data + words.dropFirst(), in: folder, name: "command")
    #expect(await process.ended() == .exit(0), "\(process.errors)")
  }

  /// A resource of the user of a token.
  func json(_ path: String, _ token: String) async throws -> JSON {
    let client = try RawClient(port: port)
    defer { client.close() }
    try await client.send("GET \(path) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n\r\n")
    return try JSON(parsing: try await client.response().body)
  }
}
