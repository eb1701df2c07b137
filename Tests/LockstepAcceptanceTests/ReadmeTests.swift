import Glibc
import LockstepTestSupport
import Testing

@Suite("The README tells the truth", .timeLimit(.minutes(10)))
struct ReadmeTests {
  /// What stands behind `$ curl http://127.0.0.1:8080` in the README: the path, and the answer below it.
  private static func questions() throws -> [(path: String, answer: String)] {
    let lines = try text(of: "README.md").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let prompt = "$ curl http://127.0.0.1:8080"
    return lines.indices.filter { lines[$0].hasPrefix(prompt) }.map {
      (path: String(lines[$0].dropFirst(prompt.count)), answer: lines[$0 + 1])
    }
  }

  private static func text(of file: String) throws -> String {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let stream = try #require(fopen("/\(root)/\(file)", "r"))
    defer { fclose(stream) }
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = fread(&bytes, 1, bytes.count, stream)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  @Test("Its curl lines get the answers that it prints")
  func curlLines() async throws {
    let questions = try Self.questions()
    #expect(questions.count == 3)
    let (process, port) = try await LockstepProcess.serving(in: TemporaryDirectory())
    let client = try RawClient(port: port)
    for question in questions {
      try await client.send("GET \(question.path) HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.response().text == question.answer)
    }
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }
}
