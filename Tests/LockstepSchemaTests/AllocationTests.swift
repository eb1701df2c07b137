import CAllocationCounter
import LockstepJSON
import LockstepSchema
import Testing

@Suite(.timeLimit(.minutes(10))) struct AllocationTests {
  @Test("Checking a valid value allocates no memory")
  func noAllocations() throws {
    let schema = try ValueSchema([
      "type": "object", "required": ["title", "tags"],
      "properties": [
        "title": ["type": "string", "minLength": 1, "maxLength": 20], "kind": ["enum": ["a", "b"]],
        "at": ["format": "date-time"], "count": ["type": "integer", "minimum": 0],
        "tags": ["type": "array", "uniqueItems": true, "items": ["type": "string"]],
        "next": ["anyOf": [["type": "null"], ["$ref": "#/$defs/point"]]],
      ], "additionalProperties": false,
      "$defs": ["point": ["properties": ["x": ["type": "number"]], "required": ["x"]]],
    ])
    let value: JSON = [
      "title": "Lanterns", "kind": "b", "at": "2026-11-23T18:25:43.123456789+01:00", "count": 3, "tags": ["x", "y"],
      "next": ["x": 1.5],
    ]
    #expect(schema.faults(of: value).isEmpty)
    let before = allocated_bytes()
    let isValid = schema.isValid(value)
    let allocated = allocated_bytes() - before
    #expect(isValid)
    #if DEBUG
      // Without optimization, a few small objects are on the heap.
      #expect(allocated < 200)
    #else
      #expect(allocated == 0)
    #endif
  }
}
