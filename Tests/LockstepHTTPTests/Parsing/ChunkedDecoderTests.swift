@testable import LockstepHTTP
import Testing

@Suite("A chunked body is decoded or refused", .timeLimit(.minutes(10)))
struct ChunkedDecoderTests {
  /// Decodes a complete chunked body. Returns its data and the number of bytes after it.
  private func decode(_ text: String, limits: Limits = Limits()) throws(Problem) -> (
    data: String, left: Int, isDone: Bool
  ) {
    var decoder = ChunkedDecoder(limits: limits)
    var data: [UInt8] = []
    let bytes = Array(text.utf8)
    let used = try decoder.decode(bytes, into: &data)
    #expect(decoder.decoded == data.count)
    return (String(decoding: data, as: UTF8.self), bytes.count - used, decoder.isDone)
  }

  private func refusal(of text: String, limits: Limits = Limits()) -> Problem? {
    do {
      _ = try decode(text, limits: limits)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "The announced size of a chunk is counted before its data arrives, and only once",
    arguments: [
      ("", 0), ("5", 0), ("5\r\n", 5), ("5\r\nab", 5), ("5\r\nabcde", 5), ("5\r\nabcde\r\n", 5),
      ("5\r\nabcde\r\nA\r\n", 15),
      ("5\r\nabcde\r\n7fffffffffffffff\r\n", Int.max), ("0\r\n\r\n", 0),
    ]
  )
  func announced(text: String, count: Int) throws {
    var decoder = ChunkedDecoder(limits: Limits())
    var data: [UInt8] = []
    _ = try decoder.decode(Array(text.utf8), into: &data)
    #expect(decoder.announced == count)
  }

  @Test(
    "The decoded data equals the data that was encoded",
    arguments: [
      ("0\r\n\r\n", ""),
      ("1\r\na\r\n0\r\n\r\n", "a"),
      ("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde"),
      ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
      ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
      ("00001\r\na\r\n0000\r\n\r\n", "a"),
      ("10\r\n0123456789abcdef\r\n0\r\n\r\n", "0123456789abcdef"),
      ("4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"),
      ("5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"),
    ]
  )
  func data(coded: String, data: String) throws {
    let result = try decode(coded)
    #expect(result.data == data)
    #expect(result.left == 0)
    #expect(result.isDone)
  }

  @Test(
    "Extensions are ignored",
    arguments: [
      "1;a", "1;a=b", "1;a=\"b\"", "1;a=\"b;c\\\"d\"", "1 ;a", "1\t;\ta = b", "1;a;b;c=d", "1;", "1;a=\"é\"",
      "1;" + String(repeating: "x", count: 1022),
    ]
  )
  func extensions(size: String) throws {
    #expect(try decode("\(size)\r\nz\r\n0\r\n\r\n").data == "z")
    #expect(try decode("1\r\nz\r\n\("0" + size.dropFirst())\r\n\r\n").data == "z")
  }

  @Test(
    "Trailer fields are checked and ignored",
    arguments: ["A: b\r\n", "A:\r\nB: c\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Host: x\r\n"]
  )
  func trailers(fields: String) throws {
    let result = try decode("1\r\nz\r\n0\r\n\(fields)\r\n")
    #expect(result.data == "z")
    #expect(result.isDone)
  }

  @Test("Bytes after the body are left for the next request")
  func leftOver() throws {
    let result = try decode("1\r\nz\r\n0\r\n\r\nGET / HTTP/1.1\r\n")
    #expect(result.data == "z")
    #expect(result.left == 16)
    #expect(result.isDone)
  }

  @Test("A decoder consumes nothing after the end of the body")
  func done() throws {
    var decoder = ChunkedDecoder(limits: Limits())
    var data: [UInt8] = []
    #expect(try decoder.decode(Array("0\r\n\r\n".utf8), into: &data) == 5)
    #expect(try decoder.decode(Array("1\r\nz\r\n".utf8), into: &data) == 0)
    #expect(data.isEmpty)
  }

  @Test("No bytes give no data")
  func empty() throws {
    let result = try decode("")
    #expect(result.left == 0)
    #expect(!result.isDone)
  }

  @Test(
    "A broken chunk is refused, and the detail says why",
    arguments: [
      ("\r\n", "hexadecimal"), ("x\r\n", "hexadecimal"), (";a\r\n", "hexadecimal"), (" 1\r\n", "hexadecimal"),
      ("-1\r\n", "hexadecimal"), ("+1\r\n", "hexadecimal"), ("\u{661}\r\n", "hexadecimal"), ("0x1\r\n", "extension"),
      ("1 \r\n", "extension"), ("1g\r\n", "extension"), ("1.0\r\n", "extension"), ("1,a\r\n", "extension"),
      ("1;a\u{0}\r\n", "extension"), ("1;a=\"\r\"\r\n", "extension"), ("1\r\r\n", "extension"),
      ("1\n", "bare line feed"),
      ("1;a=\"\n\"\r\n", "bare line feed"), ("\n", "bare line feed"), ("1\r\nab\r\n", "longer than its size"),
      ("1\r\na\n", "longer than its size"), ("1\r\na\r\r\n", "longer than its size"),
      ("1\r\na0", "longer than its size"),
      ("2\r\na\r\n0\r\n", "longer than its size"), ("0\r\nA\r\n", "no colon"), ("0\r\nA : b\r\n", "space between"),
      ("0\r\n A: b\r\n", "folded"), ("0\r\nA: b\r\n c\r\n", "folded"), ("0\r\n: b\r\n", "no name"),
      ("0\r\nA: \u{0}\r\n", "control character"), ("0\r\nA: b\n", "bare line feed"), ("0\r\n\n", "bare line feed"),
    ]
  )
  func refusals(coded: String, saying: String) throws {
    let problem = try #require(refusal(of: coded))
    #expect(problem.kind == .malformedRequest)
    #expect(problem.detail.contains(saying), "\(problem.detail)")
  }

  @Test(
    "A size beyond 64 bits is too large and does not wrap around",
    arguments: [
      "8000000000000000", "ffffffffffffffff", "10000000000000000", "10000000000000001",
      "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
    ]
  )
  func hugeSizes(size: String) {
    #expect(refusal(of: "\(size)\r\nz")?.kind == .payloadTooLarge)
  }

  @Test("The largest 64-bit size is accepted, and leading zeros do not count")
  func largestSize() throws {
    #expect(try decode("7fffffffffffffff\r\nabc").data == "abc")
    #expect(try decode(String(repeating: "0", count: 1000) + "3\r\nabc\r\n").data == "abc")
  }

  @Test("A line may be exactly as long as the limit, whether its end has arrived or not")
  func lineLimit() throws {
    var limits = Limits()
    limits.chunkLine = 10
    #expect(try decode("1;\(String(repeating: "x", count: 8))\r\nz\r\n0\r\n\r\n", limits: limits).data == "z")
    #expect(try !decode("1;\(String(repeating: "x", count: 8))\r", limits: limits).isDone)
    for end in ["", "\r\n", "\n"] {
      let problem = refusal(of: "1;\(String(repeating: "x", count: 20))" + end, limits: limits)
      #expect(problem?.detail == "A line of the chunked coding is longer than 10 bytes.")
    }
    #expect(
      refusal(of: "0\r\nA: \(String(repeating: "x", count: 8))\r\n\r\n", limits: limits)?.kind == .malformedRequest
    )
  }

  @Test("Trailer fields have the same limits as header fields")
  func trailerLimits() {
    var limits = Limits()
    limits.headerFields = 2
    #expect(refusal(of: "0\r\nA:\r\nB:\r\n\r\n", limits: limits) == nil)
    #expect(refusal(of: "0\r\nA:\r\nB:\r\nC:\r\n\r\n", limits: limits)?.kind == .headersTooLarge)
    limits.headerFields = 100
    limits.headerSection = 8
    #expect(refusal(of: "0\r\nA:\r\nB:\r\n\r\n", limits: limits) == nil)
    #expect(refusal(of: "0\r\nA:\r\nB:x\r\n\r\n", limits: limits)?.kind == .headersTooLarge)
  }

  @Test("Extensions and leading zeros of all chunks together are limited to the size of a header section")
  func paddingLimit() throws {
    var limits = Limits()
    limits.headerSection = 10
    for padded in ["1;" + String(repeating: "x", count: 19), String(repeating: "0", count: 20) + "1"] {
      #expect(try decode("\(padded)\r\na\r\n\(padded)\r\nb\r\n1\r\nc\r\n0\r\n\r\n", limits: limits).data == "abc")
      let problem = refusal(
        of: "\(padded)\r\na\r\n\(padded)\r\nb\r\n1;\(String(repeating: "x", count: 15))\r\n",
        limits: limits
      )
      #expect(problem?.kind == .malformedRequest)
      #expect(problem?.detail.contains("longer than 10 bytes") == true)
    }
  }

  @Test("Any number of chunks with one byte and a short extension is accepted")
  func manyShortExtensions() throws {
    let coded = String(repeating: "1;n=1\r\nx\r\n", count: 10_000) + "0\r\n\r\n"
    #expect(try decode(coded).data.utf8.count == 10_000)
  }
}
