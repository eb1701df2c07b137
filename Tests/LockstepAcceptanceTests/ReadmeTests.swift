import Glibc
import LockstepTestSupport
import Testing

@Suite("The README", .timeLimit(.minutes(10)))
struct ReadmeTests {
  private static let address = "http://127.0.0.1:8080"
  private static let hasTools = access("/usr/bin/curl", X_OK) == 0 && access("/usr/bin/jq", X_OK) == 0

  @Test(
    "The printed commands, run in two terminals, print the printed output",
    .enabled(if: hasTools, "curl and jq are not installed"),
    .timeLimit(.minutes(10))
  )
  func twoTerminals() async throws {
    let (process, port) = try await LockstepProcess.serving(in: TemporaryDirectory())
    let scripts = try Self.blocks("sh", below: "terminal")
    let outputs = try Self.blocks("json", below: "prints")
    try #require(scripts.count == 2 && outputs.count == 2)

    async let first = Self.run(scripts[0], port: port)
    // The second terminal starts when the first one waits. The time limit ends this loop: a cancelled task does not sleep.
    let client = try RawClient(port: port)
    while true {
      try await client.send("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
      if try await client.response().text.contains("\nlockstep_waiting_requests 1\n") { break }
      try await Task.sleep(for: .milliseconds(10))
    }
    let second = try await Self.run(scripts[1], port: port)

    #expect(try await Self.withoutTimes(first) == Self.withoutTimes(outputs[0]))
    #expect(Self.withoutTimes(second) == Self.withoutTimes(outputs[1]))
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }

  @Test("The printed module is compiled and tested")
  func module() throws {
    let file = "Tests/LockstepCompositionTests/ReadmeModule.swift"
    #expect(try Self.blocks("swift", below: file) == [try Self.text(of: file)])
  }

  /// The code blocks of a language whose preceding line is an HTML comment that begins with `mark`.
  private static func blocks(_ language: String, below mark: String) throws -> [String] {
    let lines = try text(of: "README.md").split(separator: "\n", omittingEmptySubsequences: false)
    return lines.indices.dropFirst()
      .filter { lines[$0] == "```\(language)" && lines[$0 - 1].hasPrefix("<!-- \(mark)") }
      .map { lines[($0 + 1)...].prefix { $0 != "```" }.map { "\($0)\n" }.joined() }
  }

  private static func run(_ script: String, port: Int) async throws -> String {
    let script = script.replacing(address, with: "http://127.0.0.1:\(port)")
    return String(decoding: try await ChildProcess.run(["/bin/sh", "-c", script]), as: UTF8.self)
  }

  private static func withoutTimes(_ text: String) -> String {
    let text = text.hasSuffix("\n") ? text : text + "\n"
    return text.replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/, with: "<time>")
  }

  private static func text(of file: String) throws -> String {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let stream = try #require(fopen("/\(root)/\(file)", "r"))
    defer { fclose(stream) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, bytes.count, stream)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
