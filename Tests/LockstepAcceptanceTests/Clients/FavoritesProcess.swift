import Foundation
import Glibc
import LockstepTestSupport
import Testing

/// A process of the example for the terminal: an app on a device. A test sends commands, and kills it.
final class FavoritesProcess {
  private let process: LockstepProcess
  private let input: Int32
  private let output: String
  private var offset = 0
  private var rest = ""
  private var answer: [String] = []
  /// How many commands were sent.
  private(set) var sent = 0
  /// The lines of each command that has returned, without the changes that came meanwhile.
  private(set) var answers: [[String]] = []
  /// The lines with changes.
  private(set) var changes: [String] = []

  /// Starts the app with a store in the folder. `name` must be new.
  init(_ server: String, store: String, in folder: TemporaryDirectory, name: String, options: [String] = []) throws {
    let pipe = folder.file("\(name).in")
    guard mkfifo(pipe, 0o600) == 0 else { throw LockstepProcess.Failure(description: "mkfifo: errno \(errno)") }
    // Open for reading too, so that it can be opened before the app opens it.
    input = open(pipe, O_RDWR | O_CLOEXEC)
    output = folder.file("\(name).out")
    process = try LockstepProcess(
      ["--server", server, "--store", folder.file(store)] + options,
      in: folder,
      name: name,
      redirection: "<'\(pipe)'",
      binary: "FavoritesTerminal"
    )
  }

  deinit { close(input) }

  /// Sends a command. Does not wait for its answer.
  func send(_ line: String) throws {
    sent += 1
    let bytes = Array("\(line)\n".utf8)
    guard write(input, bytes, bytes.count) == bytes.count else {
      throw LockstepProcess.Failure(description: "write: errno \(errno)")
    }
  }

  /// Sends a command, and returns its answer.
  @discardableResult
  func perform(_ line: String) async throws -> [String] {
    try send(line)
    try await returned()
    return answers.last ?? []
  }

  /// Waits until all commands have returned.
  func returned() async throws {
    await eventually { self.read() == self.sent || self.process.hasEnded }
    if let failed = answers.first(where: { $0.last != "ok" }) {
      throw LockstepProcess.Failure(description: "A command failed: \(failed)")
    }
    if answers.count < sent {
      throw LockstepProcess.Failure(description: "The app has ended: \(process.output.suffix(500)) \(process.errors)")
    }
  }

  /// Waits until a change was printed.
  func expect(_ line: String, sourceLocation: SourceLocation = #_sourceLocation) async {
    await eventually({ self.hasPrinted(line) }, sourceLocation: sourceLocation)
    if !hasPrinted(line) { Issue.record("\(line) is not in \(changes)", sourceLocation: sourceLocation) }
  }

  private func hasPrinted(_ line: String) -> Bool {
    read()
    return changes.contains("* \(line)")
  }

  /// Reads what the app has printed. Returns how many commands have returned.
  @discardableResult
  func read() -> Int {
    let file = open(output, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return answers.count }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = pread(file, &buffer, buffer.count, off_t(offset))
      guard count > 0 else { return answers.count }
      offset += count
      var lines = (rest + String(decoding: buffer[..<count], as: UTF8.self)).split(
        separator: "\n",
        omittingEmptySubsequences: false
      )
      rest = String(lines.removeLast())
      for line in lines { note(String(line)) }
    }
  }

  private func note(_ line: String) {
    if line.hasPrefix("* ") { return changes.append(line) }
    answer.append(line)
    if line == "ok" || line.hasPrefix("error: ") {
      answers.append(answer)
      answer = []
    }
  }

  /// Kills the app, and reads what it has printed.
  func kill() async {
    process.send(SIGKILL)
    #expect(await process.ended() == .signal(SIGKILL))
    read()
  }

  /// Ends the app as a user does.
  func quit() async throws {
    try send("quit")
    #expect(await process.ended() == .exit(0), "\(process.errors)")
  }
}
