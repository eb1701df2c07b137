import Glibc
import Synchronization

/// A mail server for one connection that responds as a test says.
package final class FakeRelay: Sendable {
  package enum Step: Sendable {
    case reply(String)
    case silence
    case close
    /// Sends this text until the client closes the connection.
    case endless(String)
  }

  private let server: RawServer
  private let banner: Step
  /// For the first word of each command, and `.` for the end of the message.
  private let steps: [String: Step]
  private let received = Mutex<[String]>([])

  /// Commands without a step get the replies of a server that accepts everything.
  package init(banner: Step = .reply("220 fake"), _ steps: [String: Step] = [:]) throws {
    server = try RawServer()
    self.banner = banner
    self.steps = steps
  }

  package var url: String { "smtp://127.0.0.1:\(server.port)" }

  /// The lines that have arrived, also those of the message.
  package var lines: [String] { received.withLock { $0 } }

  /// Serves one connection until it is closed.
  package func serve() async {
    await aside { [self] in server.acceptOnce(converse) }
  }

  /// Lets `serve` return if no client has connected.
  package func stopAccepting() { server.stopAccepting() }

  private func converse(_ connection: Int32) {
    guard perform(banner, connection) else { return }
    var (buffer, isMessage) = ([UInt8](), false)
    while let line = nextLine(connection, &buffer) {
      received.withLock { $0.append(line) }
      if isMessage && line != "." { continue }
      let word = isMessage ? "." : String(line.prefix { $0 != " " && $0 != ":" }).uppercased()
      isMessage = false
      let step = steps[word] ?? Self.usual[word] ?? .reply("250 ok")
      if case .reply(let text) = step { isMessage = word == "DATA" && text.hasPrefix("354") }
      guard perform(step, connection) else { return }
      if case .reply = step, word == "QUIT" { return }
    }
  }

  private static let usual: [String: Step] = ["DATA": .reply("354 go on"), "QUIT": .reply("221 bye")]

  /// False if the conversation is over.
  private func perform(_ step: Step, _ connection: Int32) -> Bool {
    switch step {
    case .silence: return true
    case .close: return false
    case .reply(let text): return write(text + "\r\n", connection)
    case .endless(let text):
      while write(text, connection) {}
      return false
    }
  }

  private func write(_ text: String, _ connection: Int32) -> Bool {
    let bytes = Array(text.utf8)
    return send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  /// Nil once the client has closed the connection.
  private func nextLine(_ connection: Int32, _ buffer: inout [UInt8]) -> String? {
    while true {
      if let end = buffer.indices.dropLast().first(where: { buffer[$0] == 13 && buffer[$0 + 1] == 10 }) {
        defer { buffer.removeFirst(end + 2) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = recv(connection, &bytes, bytes.count, 0)
      guard count > 0 else { return nil }
      buffer += bytes[..<count]
    }
  }
}
