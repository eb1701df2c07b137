// A libFuzzer target for scripts/fuzz, compiled in one module with Sources/LockstepJSON.
//
// If a property does not hold, the process ends, and libFuzzer reports the input.

/// Checks one input. libFuzzer keeps the bytes valid during the call.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
  let input = UnsafeRawBufferPointer(start: start, count: count)
  _ = found(in: Array(input))
  if let value = checkParsing(input) {
    checkRoundTrip(value)
    checkFinding(in: value)
    checkPatching(value, with: value)
  }
  // The first byte says where to split the rest, so that mutations also move the split.
  guard let first = input.first else { return 0 }
  let rest = UnsafeRawBufferPointer(rebasing: input.dropFirst())
  let cut = rest.count * Int(first) / 255
  if let document = try? JSON(parsing: UnsafeRawBufferPointer(rebasing: rest.prefix(cut))),
    let patch = try? JSON(parsing: UnsafeRawBufferPointer(rebasing: rest.dropFirst(cut)))
  {
    checkPatching(document, with: patch)
  }
  return 0
}

/// Checks that parsing gives the same value for bytes and for a string, and that errors have a
/// place.
private func checkParsing(_ input: UnsafeRawBufferPointer) -> JSON? {
  do throws(JSONParseError) {
    let value = try JSON(parsing: input)
    check(value.depth <= 128, "the depth limit holds")
    let text = String(decoding: input, as: UTF8.self)
    check((try? JSON(parsing: text)) == value, "a text that parses is UTF-8")
    return value
  } catch {
    check((0...input.count).contains(error.byteOffset), "an error is inside the text")
    check(error.line >= 1 && error.column >= 1, "lines and columns count from one")
    check(!error.description.isEmpty, "an error has a description")
    return nil
  }
}

/// Checks that a written value reads back equal, and that its text stays the same.
private func checkRoundTrip(_ value: JSON) {
  let compact = value.encoded()
  check(compact.count == value.encodedByteCount, "the predicted size is correct")
  guard let again = try? JSON(parsing: compact) else {
    check(false, "a written value can be read")
    return
  }
  check(again == value, "a written value reads back equal")
  check(again.hashValue == value.hashValue, "equal values hash the same")
  check(again.encoded() == compact, "writing is stable")
}

private let paths = [[], ["a"], ["a", "0"], ["0"], ["0", "a"], ["1", "1"], ["b", "a", "c"], ["\""]]

/// The text at each path. Reads the parts of the text as values too.
private func found(in text: [UInt8]) -> [[UInt8]] {
  let finder = JSONPathFinder(paths)
  var places = Array(repeating: 0..<1, count: paths.count)
  return text.withUnsafeBufferPointer { text in
    places.withUnsafeMutableBufferPointer { finder.find(in: text, places: $0) }
    return places.map { place in
      let value = JSONText(UnsafeBufferPointer(rebasing: text[place]))
      _ = (value.kind, value.number, value.withString { $0.count })
      _ = value.contains { $0.count < 0 }
      return Array(text[place])
    }
  }
}

/// Checks that the values at paths are found in the text.
private func checkFinding(in value: JSON) {
  for (path, text) in zip(paths, found(in: value.encoded())) {
    let expected = try? JSONPointer(tokens: path).resolve(in: value)
    check(text == expected?.encoded() ?? [], "the value at a path is found")
  }
}

/// Checks the guarantees of patches about size, depth and repetition.
private func checkPatching(_ document: JSON, with patch: JSON) {
  let merged = document.mergePatched(with: patch)
  check(merged.mergePatched(with: patch) == merged, "a merge patch is idempotent")
  check(merged.depth <= max(document.depth, patch.depth), "merging does not increase the depth")

  let limits = JSONPatchLimits(maximumOperations: 200, maximumByteCount: 1 << 16, maximumWork: 1 << 20)
  guard let patch = try? JSONPatch(parsing: patch, limits: limits) else { return }
  if let patched = try? patch.applied(to: document, limits: limits) {
    let largest = max(limits.maximumByteCount, document.encodedByteCount)
    check(patched.encodedByteCount <= largest, "the size limit holds")
    check(patched.depth <= max(limits.maximumDepth, document.depth), "the depth limit holds")
    check((try? patch.applied(to: document, limits: limits)) == patched, "patching is deterministic")
    checkRoundTrip(patched)
  }
}

private func check(_ isTrue: Bool, _ property: StaticString) {
  precondition(isTrue, "does not hold: \(property)")
}
