// A libFuzzer target. It is compiled in one module with the sources that it tests:
//
//   swiftc -O -sanitize=fuzzer,address -parse-as-library Sources/JSON/*.swift Fuzz/JSONFuzz.swift -o json-fuzz
//   ./json-fuzz -dict=Fuzz/json.dict <directory for finds> Fuzz/corpus/json
//
// A property that does not hold ends the process, which libFuzzer reports with the input that did
// it.

/// Checks one input. Called by libFuzzer, which vouches for the bytes while the call lasts.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
  let input = UnsafeRawBufferPointer(start: start, count: count)
  if let value = checkParsing(input) {
    checkRoundTrip(value)
    checkPatching(value, with: value)
  }
  // The first byte says where to cut, so that mutations move the cut as well.
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

/// Parsing never traps, agrees with itself whatever the text comes as, and says where faults are.
private func checkParsing(_ input: UnsafeRawBufferPointer) -> JSON? {
  do throws(JSONParseError) {
    let value = try JSON(parsing: input)
    check(value.depth <= JSONLimits.standard.maximumDepth, "the depth limit holds")
    let text = String(decoding: input, as: UTF8.self)
    check((try? JSON(parsing: text)) == value, "a text that parses is UTF-8")
    return value
  } catch {
    check((0...input.count).contains(error.byteOffset), "a fault is inside the text")
    check(error.line >= 1 && error.column >= 1, "lines and columns count from one")
    check(!error.description.isEmpty, "a fault has a sentence")
    return nil
  }
}

/// What is written reads back as the same value and is written the same again.
private func checkRoundTrip(_ value: JSON) {
  let compact = value.encoded()
  check(compact.count == value.encodedByteCount, "the measured size is the size")
  for text in [compact, value.encoded(.pretty)] {
    guard let again = try? JSON(parsing: text) else {
      check(false, "what is written can be read")
      return
    }
    check(again == value, "what is written reads back equal")
    check(again.hashValue == value.hashValue, "equal values hash the same")
    check(again.encoded() == compact, "writing is stable")
  }
}

/// Patches never trap and keep their promises about size, depth and repetition.
private func checkPatching(_ document: JSON, with patch: JSON) {
  let merged = document.mergePatched(with: patch)
  check(merged.mergePatched(with: patch) == merged, "a merge patch applied twice is applied once")
  check(merged.depth <= max(document.depth, patch.depth), "merging makes nothing deeper")

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
