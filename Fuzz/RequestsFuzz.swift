import LockstepHTTP

// A libFuzzer target for scripts/fuzz, compiled in one module with the code that reads queries,
// cursors, preconditions, wait preferences and the client's address.
//
// The lines of the input are the query, If-Match, If-None-Match, Prefer and X-Forwarded-For.
// Missing lines are empty. If a property does not hold, the process ends, and libFuzzer reports the
// input.

/// Checks one input. libFuzzer keeps the bytes valid during the call.
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

/// The parsed request, or nil if the parser refuses it.
private func request(_ target: String, _ fields: String...) -> Request? {
  let text = (["GET \(target) HTTP/1.1", "Host: h"] + fields + ["", ""]).joined(separator: "\r\n")
  var parser = RequestParser(limits: Limits())
  let parsed = Array(text.utf8).withUnsafeBytes { try? parser.parse($0) }
  guard case .head(let head, _) = parsed else { return nil }
  return Request(head: head, body: .bytes([]), peer: PeerAddress(host: "::1", port: 1), arrival: 0, loop: 0)
}

/// Checks that a cursor has exactly one text.
private func checkCursor(_ text: String) {
  guard let cursor = Cursor(text) else { return }
  check(cursor.text.utf8.elementsEqual(text.utf8), "a cursor has one form")
  check(Cursor(cursor.text) == cursor, "a written cursor reads back equal")
  check(cursor.isValidated(by: text), "a cursor matches its own tag")
  check(cursor.revision.number >= 0 && cursor.registered.number >= 0, "no number of a cursor is negative")
}

/// Checks that numbers in a query are within their limits and equal their text.
private func checkQuery(_ query: String) {
  guard let parameters = try? QueryParameters(Array(query.utf8)[...]) else { return }
  for name in ["since", "at", "wait", "limit", ""] {
    guard let text = try? parameters.text(name) else { continue }
    guard let number = try? parameters.integer(name, in: 1...1_000) else { continue }
    check((1...1_000).contains(number), "a number is within its limits")
    check(Int(text) == number, "a number equals its text")
  }
}

private func checkWait(_ request: Request) {
  guard let query = try? request.query, let wait = try? WaitPreference(of: request, query, upTo: 55) else { return }
  check((0...55).contains(wait.seconds), "a wait does not exceed the limit")
  check(wait.deadline(for: request) >= request.arrival, "a wait does not end before it begins")
}

/// Checks that a trusted proxy names a valid address, and that an untrusted one names none.
private func checkClient(_ request: Request) {
  guard let trusted = TrustedProxies(["::1", "10.0.0.0/8"].compactMap { IPNetwork($0) }),
    let others = TrustedProxies([IPNetwork("::2")].compactMap { $0 })
  else { return check(false, "the networks are valid") }
  let client = trusted.named(request).peer.host
  check(IPAddress(client)?.description == client, "an address has one form")
  check(others.named(request).peer == request.peer, "an untrusted proxy has no effect")
}

/// Checks that `If-None-Match` forbids a write to a matching resource, and that weak tags never
/// match strongly.
private func checkPreconditions(_ texts: [String]) {
  guard let request = request("/", "If-Match: \(texts[1])", "If-None-Match: \(texts[2])"),
    let preconditions = try? Preconditions(of: request.head)
  else { return }
  for text in texts {
    guard let cursor = Cursor(text) else { continue }
    let representation = Representation(cursor: cursor, body: [])
    let isFresh = preconditions.isFresh(representation)
    if isFresh { check(!preconditions.allowsWrite(to: cursor), "If-None-Match forbids the write") }
    if let tag = preconditions.freshTag(for: representation) {
      check(isFresh && cursor.isValidated(by: tag), "the matching tag is valid")
    }
    if case .these(let tags)? = preconditions.ifMatch, tags.allSatisfy(\.isWeak) {
      check(!preconditions.allowsWrite(to: cursor), "a weak tag matches nothing")
    }
  }
  if preconditions.ifMatch != nil {
    check(!preconditions.allowsWrite(to: nil), "If-Match does not match a missing resource")
  }
}

private func check(_ isTrue: Bool, _ property: StaticString) {
  precondition(isTrue, "does not hold: \(property)")
}
