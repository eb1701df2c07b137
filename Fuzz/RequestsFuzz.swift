import LockstepHTTP

// A libFuzzer target, run by scripts/fuzz. It is compiled in one module with what reads the parts
// of a request that the parser of HTTP leaves as they are: queries, cursors, preconditions, how
// long a client wants to wait and whom a proxy names.
//
// The input's lines are the query, If-Match, If-None-Match, Prefer and X-Forwarded-For; what is
// left out is empty. A property that does not hold ends the process, which libFuzzer reports with
// the input that did it.

/// Checks one input. Called by libFuzzer, which vouches for the bytes while the call lasts.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRequests(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
  let input = UnsafeRawBufferPointer(start: start, count: count)
  let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 4, omittingEmptySubsequences: false)
  let texts = lines.map { String(decoding: $0, as: UTF8.self) } + ["", "", "", "", ""]
  for text in texts { checkCursor(text) }
  checkPreconditions(texts)
  if let request = request("/v1/favorites?\(texts[0])", "Prefer: \(texts[3])") {
    checkQuery(request.head.query)
    checkWait(request)
  }
  if let request = request("/", "X-Forwarded-For: \(texts[4])") { checkClient(request) }
  return 0
}

/// A request, as the parser reads it; nil where it refuses it.
private func request(_ target: String, _ fields: String...) -> Request? {
  let text = (["GET \(target) HTTP/1.1", "Host: h"] + fields + ["", ""]).joined(separator: "\r\n")
  var parser = RequestParser(limits: Limits())
  let parsed = Array(text.utf8).withUnsafeBytes { try? parser.parse($0) }
  guard case .head(let head, _) = parsed else { return nil }
  return Request(head: head, body: .bytes([]), peer: PeerAddress(host: "::1", port: 1), arrival: 0, loop: 0)
}

/// A text that reads as a cursor is written as the same text, and stands for itself alone.
private func checkCursor(_ text: String) {
  guard let cursor = Cursor(text) else { return }
  check(cursor.text.utf8.elementsEqual(text.utf8), "a cursor has one form")
  check(Cursor(cursor.text) == cursor, "what is written reads back equal")
  check(cursor.isValidated(by: text), "a tag stands for what it was made of")
  check(cursor.revision >= 0 && cursor.registered >= 0, "no number of a cursor is negative")
}

/// A query reads the same every time, and a parameter that is there once has a value.
private func checkQuery(_ query: String) {
  guard let parameters = try? QueryParameters(query) else { return }
  for name in ["since", "at", "wait", "limit", ""] {
    guard let text = try? parameters.text(name) else { continue }
    guard let number = try? parameters.integer(name, in: 1...1_000) else { continue }
    check((1...1_000).contains(number), "a number is within its bounds")
    check(Int(text) == number, "a number is what is written")
  }
}

private func checkWait(_ request: Request) {
  guard let query = try? request.query, let wait = try? WaitPreference(of: request, query, upTo: 55) else { return }
  check((0...55).contains(wait.seconds), "nobody is held for longer than the most")
  check(wait.deadline(for: request) >= request.arrival, "a wait doesn't end before it begins")
}

/// Whom a trusted proxy names is an address; who isn't trusted names nobody.
private func checkClient(_ request: Request) {
  guard let trusted = TrustedProxies(["::1", "10.0.0.0/8"].compactMap { IPNetwork($0) }),
    let others = TrustedProxies([IPNetwork("::2")].compactMap { $0 })
  else { return check(false, "a network is one") }
  let client = trusted.named(request).peer.host
  check(IPAddress(client)?.description == client, "a client has one form")
  check(others.named(request).peer == request.peer, "nobody else is believed")
}

/// What is fresh isn't to be written where `If-None-Match` forbids it, and weak tags match nothing
/// strongly.
private func checkPreconditions(_ texts: [String]) {
  guard let request = request("/", "If-Match: \(texts[1])", "If-None-Match: \(texts[2])"),
    let preconditions = try? Preconditions(of: request.head)
  else { return }
  for text in texts {
    guard let cursor = Cursor(text) else { continue }
    let isFresh = preconditions.isFresh(cursor)
    if isFresh { check(!preconditions.allowsWrite(to: cursor), "what must not match doesn't") }
    if let tag = preconditions.freshTag(for: cursor) {
      check(isFresh && cursor.isValidated(by: tag), "the tag that is fresh is one that was sent")
    }
    if case .these(let tags)? = preconditions.ifMatch, tags.allSatisfy(\.isWeak) {
      check(!preconditions.allowsWrite(to: cursor), "a weak tag matches nothing")
    }
  }
  if preconditions.ifMatch != nil { check(!preconditions.allowsWrite(to: nil), "nothing matches what isn't there") }
}

private func check(_ isTrue: Bool, _ property: StaticString) {
  precondition(isTrue, "does not hold: \(property)")
}
