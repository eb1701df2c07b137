@testable import LockstepJSON
import LockstepTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct PatchLimitTests {
  @Test("The size limit stops a patch that keeps doubling the document")
  func doubling() throws {
    let doubling = try (0..<64).map { JSONPatch.Operation.copy(from: .root, to: try JSONPointer(parsing: "/\($0)")) }
    let limits = JSONPatchLimits(maximumByteCount: 1 << 20)
    let document: JSON = ["seed": "a few bytes"]
    let error = #expect(throws: JSONPatchError.self) { try JSONPatch(doubling).applied(to: document, limits: limits) }
    // The depth grows by one with each copy and the size doubles, so the size comes first.
    #expect(error?.kind == .tooLarge(limit: 1 << 20))
    #expect(error?.description == "Operation 15: The document would take more than 1048576 bytes.")
  }

  @Test("The depth limit stops a patch that deepens the document")
  func deepening() throws {
    let deepen = try (0..<8).map { level in
      let path = String(repeating: "/a", count: 1 << level)
      return JSONPatch.Operation.copy(from: .root, to: try JSONPointer(parsing: path))
    }
    let error = #expect(throws: JSONPatchError.self) { try JSONPatch(deepen).applied(to: ["a": [:]]) }
    #expect(error?.kind == .tooDeep(limit: 128))
  }

  @Test("Exactly the depth limit is allowed", arguments: [1, 2, 5])
  func exactDepth(_ limit: Int) throws {
    let limits = JSONPatchLimits(maximumDepth: limit)
    var value: JSON = 1
    for _ in 0..<limit { value = [value] }
    #expect(try JSONPatch([.replace(.root, value)]).applied(to: [], limits: limits).depth == limit)
    let oneDeeper = JSONPatch([.add(JSONPointer(tokens: ["a"]), value)])
    #expect(throws: JSONPatchError.self) { try oneDeeper.applied(to: [:], limits: limits) }
  }

  @Test("A patch with too many operations is rejected, parsed or built")
  func tooManyOperations() throws {
    let limits = JSONPatchLimits(maximumOperations: 2)
    let operation: JSON = ["op": "test", "path": "", "value": 1]
    #expect(throws: Never.self) { try JSONPatch(parsing: [operation, operation], limits: limits) }
    let formError = #expect(throws: JSONPatchFormatError.self) {
      try JSONPatch(parsing: [operation, operation, operation], limits: limits)
    }
    #expect(formError?.description == ": A JSON Patch must not have more than 2 operations.")
    let patch = JSONPatch(Array(repeating: .test(.root, 1), count: 3))
    let error = #expect(throws: JSONPatchError.self) { try patch.applied(to: 1, limits: limits) }
    #expect(error?.kind == .tooManyOperations(limit: 2))
  }

  @Test("The work limit stops a patch that moves megabytes")
  func tooMuchWork() throws {
    let document: JSON = ["a": ["big": .array(Array(repeating: 0, count: 10_000))], "b": [:]]
    let there = JSONPatch.Operation.move(
      from: try JSONPointer(parsing: "/a/big"),
      to: try JSONPointer(parsing: "/b/big")
    )
    let back = JSONPatch.Operation.move(
      from: try JSONPointer(parsing: "/b/big"),
      to: try JSONPointer(parsing: "/a/big")
    )
    let patch = JSONPatch((0..<5_000).flatMap { _ in [there, back] })
    let limits = JSONPatchLimits(maximumWork: 1 << 20)
    let error = #expect(throws: JSONPatchError.self) { try patch.applied(to: document, limits: limits) }
    #expect(error?.kind == .tooMuchWork(limit: 1 << 20))
    // Each move reads the 20,001 bytes once to measure them and once to take them out.
    #expect(error?.operationIndex == 26)
  }

  @Test("A patch uses up the work that its caller allows, and fails if that does not suffice")
  func allowedWork() throws {
    let document: JSON = ["a": .string(String(repeating: "x", count: 998))]
    let copy = JSONPatch.Operation.copy(from: JSONPointer(tokens: ["a"]), to: JSONPointer(tokens: ["b"]))
    var work = 3_000
    #expect(try JSONPatch([copy]).applied(to: document, work: &work)["b"] == document["a"])
    #expect(work == 1_998)
    #expect(throws: JSONPatchError.self) { try JSONPatch([copy, copy]).applied(to: document, work: &work) }
    #expect(work < 0)
    // The patch's own limit is lower.
    work = 10_000
    let limits = JSONPatchLimits(maximumWork: 100)
    #expect(throws: JSONPatchError.self) { try JSONPatch([copy]).applied(to: document, limits: limits, work: &work) }
    #expect(work == 8_999)
  }

  @Test("Ten thousand small changes of a large document are accepted")
  func manySmallChanges() throws {
    // With a copy of the document at each operation, eight times as many would allocate 64 times as
    // much.
    func document(_ count: Int) -> JSON { JSON.object(JSONObject((0..<count * 2).map { ("name\($0)", [JSON($0)]) })) }
    try expectLinearGrowth(from: 1250, of: document) { count, document in
      let operations = (0..<count).map { JSONPatch.Operation.add(JSONPointer(tokens: ["name\($0)", "-"]), "new") }
      let patched = try JSONPatch(operations).applied(to: document)
      #expect(patched["name\(count - 1)"] == [JSON(count - 1), "new"])
    }
  }

  @Test("A document that was too large may still shrink")
  func shrinking() throws {
    let limits = JSONPatchLimits(maximumByteCount: 8)
    let document: JSON = ["a": "a long string", "b": "another one"]
    let smaller = try JSONPatch([.remove(JSONPointer(tokens: ["a"]))]).applied(to: document, limits: limits)
    #expect(smaller == ["b": "another one"])
    let larger = JSONPatch([.add(JSONPointer(tokens: ["c"]), 1)])
    #expect(throws: JSONPatchError.self) { try larger.applied(to: document, limits: limits) }
  }

  @Test("The size is exact after any operations")
  func exactAccount() throws {
    var random = SeededNumbers(seed: testSeed)
    var checked = 0
    for _ in 0..<300 {
      let document: JSON = ["list": [1, [2], "three"], "map": ["a": 1, "b": [:]]]
      var current = document
      var operations: [JSONPatch.Operation] = []
      var largest = document.encodedByteCount
      for _ in 0..<12 {
        let operation = randomOperation(using: &random)
        guard let next = try? JSONPatch([operation]).applied(to: current) else { continue }
        current = next
        operations.append(operation)
        largest = max(largest, current.encodedByteCount)
      }
      guard largest > document.encodedByteCount else { continue }
      // With the size of the largest intermediate document as its limit the patch works; with a
      // byte less it fails.
      let patch = JSONPatch(operations)
      let allowed = try? patch.applied(to: document, limits: JSONPatchLimits(maximumByteCount: largest))
      try #require(allowed == current, "seed \(testSeed): \(operations)")
      #expect(throws: JSONPatchError.self, "seed \(testSeed): \(operations)") {
        try patch.applied(to: document, limits: JSONPatchLimits(maximumByteCount: largest - 1))
      }
      checked += 1
    }
    #expect(checked > 100)
  }

  private func randomOperation(using random: inout SeededNumbers) -> JSONPatch.Operation {
    let paths = [
      "/list", "/list/0", "/list/1", "/list/-", "/map", "/map/a", "/map/b", "/map/new\n", "/other", "/list/0/x",
    ]
    func path() -> JSONPointer {
      JSONPointer(tokens: paths[Int.random(in: 0..<paths.count, using: &random)].split(separator: "/").map(String.init))
    }
    let value = JSON.random(depth: 2, using: &random)
    // Adding is likelier than removing.
    return switch Int.random(in: 0..<8, using: &random) {
    case 0...2: .add(path(), value)
    case 3: .replace(path(), value)
    case 4: .remove(path())
    case 5: .move(from: path(), to: path())
    case 6: .copy(from: path(), to: path())
    default: .replace(.root, ["list": [value], "map": ["a": value]])
    }
  }
}
