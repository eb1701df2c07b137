// A libFuzzer target for scripts/fuzz, compiled in one module with Sources/LockstepHTTP.
//
// The input is the bytes of one connection: a sequence of requests. If a property does not hold,
// the process ends, and libFuzzer reports the input.

/// Checks one input. libFuzzer keeps the bytes valid during the call.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
  let input = UnsafeRawBufferPointer(start: start, count: count)
  for limits in [Limits(), .tiny] {
    checkConnection(input, limits)
    checkChunks(input, limits)
  }
  checkChunkedRoundTrip(input)
  return 0
}

extension Limits {
  /// Limits so small that short inputs reach them.
  fileprivate static let tiny: Limits = {
    var limits = Limits()
    limits.requestLine = 24
    limits.headerSection = 64
    limits.headerFields = 3
    limits.chunkLine = 8
    return limits
  }()
}

/// Reads requests as the server does, until the input ends or a request is refused.
private func checkConnection(_ input: UnsafeRawBufferPointer, _ limits: Limits) {
  var bytes = input
  while !bytes.isEmpty {
    let whole = Parsed(bytes, pieces: [], limits)
    for pieces in cuts(of: bytes) {
      check(Parsed(bytes, pieces: pieces, limits) == whole, "the result does not depend on how the bytes are split")
    }
    switch whole {
    case .incomplete: return
    case .refused(let problem):
      check(!problem.response.bodyIsEmpty, "a refusal has a problem document")
      return
    case .head(let head, let consumed):
      checkHead(head, consumed: consumed, of: bytes, limits)
      checkRouting(head)
      bytes = bytes.slice(consumed..<bytes.count)
      guard let body = bodySize(head.body, bytes, limits) else { return }
      bytes = bytes.slice(body..<bytes.count)
    }
  }
}

/// The size of the body, or nil if it is incomplete or refused.
private func bodySize(_ body: RequestHead.Body, _ bytes: UnsafeRawBufferPointer, _ limits: Limits) -> Int? {
  switch body {
  case .none: 0
  case .length(let length): length <= bytes.count ? length : nil
  case .chunked: checkChunks(bytes, limits)
  }
}

// MARK: Heads

/// The parser's result, in a form that can be compared.
private enum Parsed: Equatable {
  case incomplete
  case head(RequestHead, consumed: Int)
  case refused(Problem)

  /// Gives the parser the bytes up to each of the ascending places in turn, and then all bytes.
  init(_ bytes: UnsafeRawBufferPointer, pieces: [Int], _ limits: Limits) {
    var parser = RequestParser(limits: limits)
    self = .incomplete
    for end in pieces + [bytes.count] {
      do throws(Problem) {
        guard case .head(let head, let consumed) = try parser.parse(bytes.slice(0..<end)) else { continue }
        self = .head(head, consumed: consumed)
      } catch {
        self = .refused(error)
      }
      return
    }
  }

  static func == (left: Parsed, right: Parsed) -> Bool {
    switch (left, right) {
    case (.incomplete, .incomplete): true
    case (.head(let left, let consumed), .head(let right, let otherConsumed)):
      consumed == otherConsumed && left.isSame(as: right)
    case (.refused(let left), .refused(let right)): left.kind == right.kind
    default: false
    }
  }
}

extension RequestHead {
  fileprivate func isSame(as other: RequestHead) -> Bool {
    bytes == other.bytes && method == other.method && isVersion11 == other.isVersion11
      && targetForm == other.targetForm && body == other.body && keepsAlive == other.keepsAlive
      && expectsContinue == other.expectsContinue && pathPlace == other.pathPlace && queryPlace == other.queryPlace
      && fieldPlaces.map(\.name) == other.fieldPlaces.map(\.name)
      && fieldPlaces.map(\.value) == other.fieldPlaces.map(\.value)
  }
}

/// Checks that an accepted head equals its bytes, is unambiguous and is within the limits.
private func checkHead(_ head: RequestHead, consumed: Int, of bytes: UnsafeRawBufferPointer, _ limits: Limits) {
  let text = head.bytes
  check(Array(bytes[..<consumed].suffix(head.size)) == text, "a head equals its bytes")
  check(bytes[..<(consumed - head.size)].allSatisfy { $0 == cr || $0 == lf }, "only empty lines precede a head")
  check(text.suffix(4) == [cr, lf, cr, lf], "a head ends in an empty line")
  check(!text.contains(0), "no NUL in a head")
  for (index, byte) in text.enumerated() {
    check(byte != lf || (index > 0 && text[index - 1] == cr), "no bare line feed in a head")
    check(byte != cr || (index + 1 < text.count && text[index + 1] == lf), "no bare carriage return in a head")
  }

  let lineEnd = text.firstIndex(of: lf).map { $0 - 1 } ?? 0
  check(lineEnd <= limits.requestLine, "the request line's limit holds")
  check(text.count - (lineEnd + 2) - 2 <= limits.headerSection, "the header section's limit holds")
  check(head.fieldPlaces.count <= limits.headerFields, "the limit on fields holds")
  check(head.fieldPlaces.count == text.count(where: { $0 == lf }) - 2, "every line is a field")

  checkFraming(head)
  if case .head(let again, _) = text.withUnsafeBytes({ Parsed($0, pieces: [], limits) }) {
    check(again.isSame(as: head), "a head parsed alone is the same")
  } else {
    check(false, "a head can be parsed alone")
  }
}

/// Compares the framing with the fields, which it reads again in another way.
private func checkFraming(_ head: RequestHead) {
  let fields = head.fieldPlaces.map { place in
    (
      String(decoding: head.bytes[place.name], as: UTF8.self).lowercased(),
      String(decoding: head.bytes[place.value], as: UTF8.self)
    )
  }
  func values(_ name: String) -> [String] { fields.filter { $0.0 == name }.map(\.1) }
  let lengths = values("content-length")
  let codings = values("transfer-encoding")
  check(lengths.isEmpty || codings.isEmpty, "never both Content-Length and Transfer-Encoding")
  check(lengths.count <= 1, "never two lengths")
  check(values("host").count <= 1, "never two hosts")
  check(!head.isVersion11 || values("host").count == 1, "HTTP/1.1 names the host")
  switch head.body {
  case .none:
    check(codings.isEmpty, "a coded body is recognized")
    check(lengths.allSatisfy { $0.allSatisfy { $0 == "0" } }, "a body is recognized")
  case .length(let length):
    check(length > 0, "a length is at least 1")
    check(lengths.count == 1 && Int(lengths[0]) == length, "a length equals its field")
  case .chunked:
    let named = codings.joined(separator: ",").lowercased().filter { !", \t".contains($0) }
    check(head.isVersion11, "only HTTP/1.1 has the chunked coding")
    check(named == "chunked", "chunked once, and nothing else")
  }
}

// MARK: Routing

private let router: Router = {
  let routes = [
    "/", "/healthz", "/problems/{slug}", "/v1/favorites", "/v1/favorites/{id}", "/v1/favorites/{id}/position",
    "/v1/defaults/{suite}/{key}",
  ]
  do {
    return try Router(
      routes.flatMap { pattern in
        [Method.get, .put].map { method in
          Route(method, pattern, summary: "") { _ in throw Problem(.notFound) }
        }
      }
    )
  } catch {
    fatalError("the table is valid, but: \(error)")
  }
}()

/// Checks that routing accepts any path and field, and that a match fits its route.
private func checkRouting(_ head: RequestHead) {
  _ = ContentCoding.preferred(by: head)
  _ = CORSPolicy(origins: ["https://app.example"]).preflightFields(for: head, allow: "GET")
  guard head.targetForm == .path else {
    check((try? router.match(head)) != nil, "a target without a path has a result")
    return
  }
  check(head.path.isEmpty || head.path.utf8.first == slash, "a path begins with a slash")
  guard let segments = try? PathSegments(of: head) else {
    check(head.path.utf8.contains(UInt8(ascii: "%")), "only percent-encoding makes a path unreadable")
    return
  }
  let slashes = head.path.utf8.count(where: { $0 == slash })
  check(segments.places.count == (head.path == "/" ? 0 : slashes), "only literal slashes split a path")
  guard case .route(let index, let parameters) = try? router.match(head) else { return }
  let route = router.routes[index]
  check(route.method == head.method || (route.method == .get && head.method == .head), "the method fits")
  for name in ["slug", "id", "suite", "key"] where route.pattern.contains("{\(name)}") {
    check(parameters[name]?.isEmpty == false, "a parameter is not empty")
  }
}

// MARK: Chunks

/// The decoder's result.
private struct Decoded: Equatable {
  var data: [UInt8] = []
  var consumed = 0
  var isDone = false
  var refusal: ProblemKind?

  /// Gives the decoder the bytes up to each of the ascending places, without the consumed ones.
  init(_ bytes: UnsafeRawBufferPointer, pieces: [Int], _ limits: Limits) {
    var decoder = ChunkedDecoder(limits: limits)
    var data: [UInt8] = []
    for end in pieces + [bytes.count] where !decoder.isDone {
      do throws(Problem) {
        consumed += try decoder.decode(bytes.slice(consumed..<end)) { data.append(contentsOf: $0) }
      } catch {
        refusal = error.kind
        break
      }
      check(consumed <= end, "the decoder consumes at most all bytes")
    }
    self.data = data
    isDone = decoder.isDone
    check(decoder.decoded == data.count, "the decoder counts its output")
    // After a refusal the position has no meaning.
    if refusal != nil { consumed = 0 }
  }
}

/// The size of the coded body, or nil if it is incomplete or refused.
@discardableResult
private func checkChunks(_ bytes: UnsafeRawBufferPointer, _ limits: Limits) -> Int? {
  let whole = Decoded(bytes, pieces: [], limits)
  for pieces in cuts(of: bytes) {
    check(Decoded(bytes, pieces: pieces, limits) == whole, "the result does not depend on how a coded body is split")
  }
  check(whole.data.count <= bytes.count, "the output is not longer than the input")
  return whole.isDone ? whole.consumed : nil
}

/// Checks that decoding reverses coding in chunks of any size, and leaves the next request
/// untouched.
private func checkChunkedRoundTrip(_ data: UnsafeRawBufferPointer) {
  var coded: [UInt8] = []
  var start = 0
  for end in (cuts(of: data).last ?? []) + [data.count] where end > start {
    coded += Array("\(String(end - start, radix: 16));a=\"b\"\r\n".utf8) + data[start..<end] + [cr, lf]
    start = end
  }
  coded += Array("0\r\nTrailer: x\r\n\r\n".utf8)
  let size = coded.count
  let whole = (coded + Array("GET".utf8)).withUnsafeBytes { Decoded($0, pieces: [], Limits()) }
  check(whole.isDone && whole.consumed == size && whole.data.elementsEqual(data), "decoding reverses coding")
}

// MARK: Helpers

private let cr = UInt8(ascii: "\r")
private let lf = UInt8(ascii: "\n")
private let slash = UInt8(ascii: "/")

/// Ways to split the bytes: after each byte, and at a few places that depend on the bytes, so that
/// the same input is always split in the same way.
private func cuts(of bytes: UnsafeRawBufferPointer) -> [[Int]] {
  guard bytes.count > 1 else { return [] }
  var random = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
  func place() -> Int {
    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return 1 + Int(random >> 33) % (bytes.count - 1)
  }
  let singles = (0..<3).map { _ in [place()] }
  return [Array(1..<bytes.count)] + singles + [[place(), place(), place()].sorted()]
}

extension Response {
  fileprivate var bodyIsEmpty: Bool {
    if case .bytes(let bytes) = body { bytes.isEmpty } else { true }
  }
}

private func check(_ holds: Bool, _ property: StaticString) {
  precondition(holds, "This does not hold: \(property)")
}
