import Foundation
import LockstepClient

/// Measures a client with many writes that the server does not have yet. Each step is a process of its own, so that its
/// memory is that of one run of an app.
@main
enum OutboxBenchmark {
  static func main() async {
    do {
      switch CommandLine.arguments.dropFirst() {
      case let words where words.count == 3 && words.first == "enter": try await enter(Array(words.dropFirst()))
      case let words where words.count == 4 && words.first == "queue": try await queue(Array(words.dropFirst()))
      case let words where words.count == 3 && words.first == "open": try open(Array(words.dropFirst()))
      case let words where words.count == 3 && words.first == "send": try await send(Array(words.dropFirst()))
      default:
        print("usage: outbox-benchmark enter|queue|open|send URL FILE [COUNT]\n\nscripts/bench swift-client runs it.")
        exit(64)
      }
    } catch {
      FileHandle.standardError.write(Data("outbox-benchmark: \(error)\n".utf8))
      exit(70)
    }
  }

  private static func client(_ words: [String]) throws -> LockstepClient {
    guard let url = URL(string: words[0]) else { throw ClientFailure("\(words[0]) is not a URL.") }
    return try LockstepClient(url, store: .file(words[1]), credentials: FileCredentials(words[1] + "-token"))
  }

  private typealias Photo = ListEntry<[String: Int]>

  /// Signs a user up, and waits until the client has 1,000 favorites.
  private static func enter(_ words: [String]) async throws {
    let client = try client(words)
    try await client.signUp(email: "ada@example.com", password: "correct horse")
    let photos = client.list(of: Photo.self)
    for start in stride(from: 0, to: 1_000, by: 500) {
      try await client.perform { transaction in
        for number in start..<start + 500 {
          try transaction.add(Photo(id: "photo:\(number)", title: "The photo with the number \(number)"), in: photos)
        }
      }
    }
    try await run(client)
  }

  /// Writes without a connection: in turns to the list, and to a suite.
  private static func queue(_ words: [String]) async throws {
    let (client, count) = (try client(words), Int(words[2]) ?? 1)
    let (photos, settings) = (client.list(of: Photo.self), client.defaults())
    var times: [Duration] = []
    let began = ContinuousClock.now
    for number in 0..<count {
      let start = ContinuousClock.now
      if number.isMultiple(of: 2) {
        try await photos.update("photo:\(number % 1_000)", with: ["title": "offline \(number)"])
      } else {
        try await settings.increment("key\(number % 500)")
      }
      times.append(ContinuousClock.now - start)
    }
    report(ContinuousClock.now - began, times.suffix(100).sorted()[min(50, times.count - 1)])
  }

  /// Opens the file, and shows the list.
  private static func open(_ words: [String]) throws {
    let began = ContinuousClock.now
    let client = try client(words)
    let photos = client.list(of: Photo.self)
    guard photos.elements.count == 1_000 else { throw ClientFailure("The list is not complete.") }
    report(ContinuousClock.now - began)
  }

  /// Sends all, and waits until the server has confirmed the last one.
  private static func send(_ words: [String]) async throws {
    let client = try client(words)
    let began = ContinuousClock.now
    try await run(client)
    guard client.refusedWrites.isEmpty else { throw ClientFailure("\(client.refusedWrites[0].failure)") }
    report(ContinuousClock.now - began)
  }

  /// Runs a client until the server has everything.
  private static func run(_ client: LockstepClient) async throws {
    let running = Task { await client.run() }
    for await status in client.statuses where status.connection == .live && status.pending == 0 { break }
    running.cancel()
    await running.value
  }

  /// Prints the time in seconds, the time of one write in milliseconds, and the memory at its peak in MiB.
  private static func report(_ time: Duration, _ each: Duration? = nil) {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }?.split(separator: " ")
    let kilobytes = peak.flatMap { $0.count > 1 ? Double($0[1]) : nil } ?? 0
    let columns = [
      String(format: "%.2f", time / .seconds(1)), each.map { String(format: "%.2f", $0 / .milliseconds(1)) } ?? "–",
      String(format: "%.0f", kilobytes / 1_024),
    ]
    print(columns.joined(separator: " "))
  }
}
