// A libFuzzer target, run by scripts/fuzz. It is compiled in one module with Sources/HTTP.
//
// The input is what a client sends: request after request on one connection. A property that does
// not hold ends the process, which libFuzzer reports with the input that did it.

/// Checks one input. Called by libFuzzer, which vouches for the bytes while the call lasts.
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
  /// Limits that a fuzzer's short inputs reach.
  fileprivate static let tiny: Limits = {
    var limits = Limits()
    limits.requestLine = 24
    limits.headerSection = 64
    limits.headerFields = 3
    limits.chunkLine = 8
    return limits
  }()
}

/// Reads requests until the input ends or one is refused, as the server does.
private func checkConnection(_ input: UnsafeRawBufferPointer, _ limits: Limits) {
  var bytes = input
  while !bytes.isEmpty {
    let whole = Parsed(bytes, pieces: [], limits)
    for pieces in cuts(of: bytes) {
      check(Parsed(bytes, pieces: pieces, limits) == whole, "where the bytes are cut changes nothing")
    }
    switch whole {
    case .incomplete: return
    case .refused(let problem):
      check(!problem.response.bodyIsEmpty, "a refusal has a document")
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

/// How many bytes the body takes, or nil when it isn't all there or is refused.
private func bodySize(_ body: RequestHead.Body, _ bytes: UnsafeRawBufferPointer, _ limits: Limits) -> Int? {
  switch body {
  case .none: 0
  case .length(let length): length <= bytes.count ? length : nil
  case .chunked: checkChunks(bytes, limits)
  }
}

// MARK: Heads

/// What the parser made of the bytes, in a form that can be compared.
private enum Parsed: Equatable {
  case incomplete
  case head(RequestHead, consumed: Int)
  case refused(Problem)

  /// Shows the parser the bytes up to each of the ascending places in turn, and then all.
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

/// An accepted head is what it says, can be read in one way only, and is inside the limits.
private func checkHead(_ head: RequestHead, consumed: Int, of bytes: UnsafeRawBufferPointer, _ limits: Limits) {
  let text = head.bytes
  check(Array(bytes[..<consumed].suffix(head.size)) == text, "a head is the bytes that came")
  check(bytes[..<(consumed - head.size)].allSatisfy { $0 == cr || $0 == lf }, "only empty lines stand before a head")
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
    check(again.isSame(as: head), "a head on its own is the same head")
  } else {
    check(false, "a head on its own is a head")
  }
}

/// The framing against the fields, read a second time and by other means.
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
    check(codings.isEmpty, "a coded body isn't overlooked")
    check(lengths.allSatisfy { $0.allSatisfy { $0 == "0" } }, "a body isn't overlooked")
  case .length(let length):
    check(length > 0, "a length is at least 1")
    check(lengths.count == 1 && Int(lengths[0]) == length, "a length is the one that was sent")
  case .chunked:
    let named = codings.joined(separator: ",").lowercased().filter { !", \t".contains($0) }
    check(head.isVersion11, "the chunked coding is of HTTP/1.1")
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
    fatalError("the table is sound, but: \(error)")
  }
}()

/// No path and no field brings routing down, and a match fits its route.
private func checkRouting(_ head: RequestHead) {
  _ = ContentCoding.preferred(by: head)
  _ = CORSPolicy(origins: ["https://app.example"]).preflightFields(for: head, allow: "GET")
  guard head.targetForm == .path else {
    check((try? router.match(head)) != nil, "a target that is no path has an answer")
    return
  }
  check(head.path.isEmpty || head.path.utf8.first == slash, "a path begins with a slash")
  guard let segments = try? PathSegments(of: head) else {
    check(head.path.utf8.contains(UInt8(ascii: "%")), "only percent-encoding makes a path unreadable")
    return
  }
  let slashes = head.path.utf8.count(where: { $0 == slash })
  check(segments.places.count == (head.path == "/" ? 0 : slashes), "only slashes that came as such cut a path")
  guard case .route(let index, let parameters) = try? router.match(head) else { return }
  let route = router.routes[index]
  check(route.method == head.method || (route.method == .get && head.method == .head), "the method fits")
  for name in ["slug", "id", "suite", "key"] where route.pattern.contains("{\(name)}") {
    check(parameters[name]?.isEmpty == false, "a parameter isn't empty")
  }
}

// MARK: Chunks

/// What the decoder made of the bytes.
private struct Decoded: Equatable {
  var data: [UInt8] = []
  var consumed = 0
  var isDone = false
  var refusal: ProblemKind?

  /// Hands the decoder what has come up to each of the ascending places, less what it is done with.
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
      check(consumed <= end, "the decoder takes no more than there is")
    }
    self.data = data
    isDone = decoder.isDone
    check(decoder.decoded == data.count, "the decoder counts what it hands on")
    // After a refusal nobody asks how far it came.
    if refusal != nil { consumed = 0 }
  }
}

/// The size of the coded body, or nil when it isn't all there or is refused.
@discardableResult
private func checkChunks(_ bytes: UnsafeRawBufferPointer, _ limits: Limits) -> Int? {
  let whole = Decoded(bytes, pieces: [], limits)
  for pieces in cuts(of: bytes) {
    check(Decoded(bytes, pieces: pieces, limits) == whole, "where a coded body is cut changes nothing")
  }
  check(whole.data.count <= bytes.count, "decoding makes nothing up")
  return whole.isDone ? whole.consumed : nil
}

/// What is coded in chunks of any sizes comes out again, and what follows is left alone.
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
  check(whole.isDone && whole.consumed == size && whole.data.elementsEqual(data), "what is coded comes out again")
}

// MARK: Helpers

private let cr = UInt8(ascii: "\r")
private let lf = UInt8(ascii: "\n")
private let slash = UInt8(ascii: "/")

/// Ways to cut the bytes: after each one, and at a few places that hang on the bytes themselves, so
/// that the same input is always cut in the same way.
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
