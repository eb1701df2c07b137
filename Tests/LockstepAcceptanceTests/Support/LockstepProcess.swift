import Foundation
import Glibc
import Synchronization
import LockstepTestSupport
import Testing

/// A process of the real binary. A test starts it, and ends only this process, by its id.
final class LockstepProcess: Sendable {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// How the process ended.
  enum Ending: Equatable {
    case exit(Int32)
    case signal(Int32)
  }

  let id: pid_t
  let folder: TemporaryDirectory
  private let ending = Mutex<Ending?>(nil)
  private let name: String
  private let startedAt = ContinuousClock.now

  /// The path of a product. It was built beside the bundle of this test.
  static func path(of binary: String) -> String {
    var path = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &path, path.count)
    let own = String(decoding: path[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(binary).path
  }

  /// Shell code that replaces the shell with a program. If the tests run as root, the program gets
  /// none of root's capabilities.
  static let powerless = #"$([ "$(id -u)" = 0 ] && echo exec setpriv --bounding-set -all --inh-caps -all || echo exec)"#

  /// Starts the binary. Its output goes to files in the folder, unless `redirection` says something
  /// else, such as `2>&-`. `limit` is the limit on open files.
  init(
    _ arguments: [String],
    in folder: TemporaryDirectory,
    name: String = "run",
    redirection: String = "",
    limit: Int? = nil,
    variables: [String: String] = [:],
    descriptor: Int32? = nil,
    binary: String = "lockstep",
    isPowerless: Bool = false,
    workingFolder: String? = nil
  ) throws {
    self.folder = folder
    self.name = name
    let limiting = (limit.map { "ulimit -n \($0); " } ?? "") + (workingFolder.map { "cd '\($0)' && " } ?? "")
    // The shell replaces itself, so the process that was started is the binary.
    let script =
      "\(limiting)\(isPowerless ? Self.powerless : "exec") \"$0\" \"$@\" >'\(folder.file("\(name).out"))' 2>'\(folder.file("\(name).err"))' "
      + redirection
    let words = ["/bin/sh", "-c", script, Self.path(of: binary)] + arguments
    let environment = ["PATH=/usr/bin:/bin"] + variables.map { "\($0.key)=\($0.value)" }
    id = try ChildProcess.spawn(words, environment, passing: descriptor)
  }

  deinit {
    guard ending.withLock({ $0 }) == nil else { return }
    kill(id, SIGKILL)
    waitpid(id, nil, 0)
  }

  /// Starts a server on a free port with a store in the folder. Returns when it listens.
  static func serving(
    _ arguments: [String] = [],
    in folder: TemporaryDirectory,
    name: String = "run",
    redirection: String = "",
    limit: Int? = nil,
    descriptor: Int32? = nil,
    binary: String = "lockstep",
    isPowerless: Bool = false
  ) async throws -> (process: LockstepProcess, port: Int) {
    let process = try LockstepProcess(
      ["serve", "--port", "0", "--threads", "1", "--data", folder.file("lockstep.db")] + arguments,
      in: folder,
      name: name,
      redirection: redirection,
      limit: limit,
      descriptor: descriptor,
      binary: binary,
      isPowerless: isPowerless
    )
    return (process, try await process.port())
  }

  /// Reads the port from the line with the server's address. Beside the whole suite, a start can
  /// take most of a minute.
  func port() async throws -> Int {
    await eventually(patience: .seconds(300)) { self.output.hasSuffix("\n") || self.hasEnded }
    let start = "lockstep: listening on http://127.0.0.1:"
    guard output.hasPrefix(start), let port = Int(output.dropFirst(start.count).dropLast()) else {
      let state = ending.withLock { $0.map { "the process ended with \($0)" } ?? "the process still runs" }
      throw Failure(
        description: """
          The server does not listen \(ContinuousClock.now - startedAt) after its start; \(state).
          Standard output: \(output)
          Standard error: \(errors)
          """
      )
    }
    return port
  }

  /// The standard output so far.
  var output: String { text("\(name).out") }
  /// The standard error so far.
  var errors: String { text("\(name).err") }

  private func text(_ file: String) -> String {
    String(decoding: (try? folder.contents(of: file)) ?? [], as: UTF8.self)
  }

  func send(_ signal: Int32) {
    guard ending.withLock({ $0 }) == nil else { return }
    kill(id, signal)
  }

  /// Waits until the process has ended.
  func ended() async -> Ending? {
    await eventually { self.hasEnded }
    return ending.withLock { $0 }
  }

  var hasEnded: Bool {
    ending.withLock { ending in
      if ending != nil { return true }
      var status: Int32 = 0
      guard waitpid(id, &status, WNOHANG) == id else { return false }
      ending = status & 0x7F == 0 ? .exit(status >> 8 & 0xFF) : .signal(status & 0x7F)
      return true
    }
  }
}
