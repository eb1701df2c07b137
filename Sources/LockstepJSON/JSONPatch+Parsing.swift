/// The faults of a document that is not a valid JSON Patch.
public struct JSONPatchFormatError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A fault.
  public struct Fault: Sendable, Hashable {
    /// The place in the patch document, such as `/3/path`.
    public let pointer: JSONPointer
    /// The message.
    public let detail: String
  }

  /// The greatest number of reported faults, so that the response to a hostile patch is small.
  public static let maximumFaults = 100

  /// The faults in the order of the document, up to `maximumFaults`.
  public let faults: [Fault]

  /// One line for each fault.
  public var description: String {
    faults.map { "\($0.pointer): \($0.detail)" }.joined(separator: "\n")
  }
}

extension JSONPatch {
  /// Parses a patch: an array of operations, each an object with `op`, `path` and the members that
  /// the operation needs. Other members are ignored, as RFC 6902 requires. Throws all faults.
  public init(parsing document: JSON, limits: JSONPatchLimits = .standard) throws(JSONPatchFormatError) {
    var reader = OperationReader()
    let operations = reader.readOperations(document, limits: limits)
    guard reader.faults.isEmpty else { throw JSONPatchFormatError(faults: reader.faults) }
    self.init(operations)
  }
}

private struct OperationReader {
  private(set) var faults: [JSONPatchFormatError.Fault] = []

  mutating func readOperations(_ document: JSON, limits: JSONPatchLimits) -> [JSONPatch.Operation] {
    guard case .array(let elements) = document else {
      report(.root, "A JSON Patch must be an array of operations, not \(document.typeWithArticle).")
      return []
    }
    guard elements.count <= limits.maximumOperations else {
      report(.root, "A JSON Patch must not have more than \(limits.maximumOperations) operations.")
      return []
    }
    var operations: [JSONPatch.Operation] = []
    for (index, element) in elements.enumerated() where faults.count < JSONPatchFormatError.maximumFaults {
      if let operation = readOperation(element, at: JSONPointer.root.appending(index)) { operations.append(operation) }
    }
    return operations
  }

  private mutating func readOperation(_ element: JSON, at place: JSONPointer) -> JSONPatch.Operation? {
    guard case .object(let object) = element else {
      report(place, "An operation must be an object, not \(element.typeWithArticle).")
      return nil
    }
    let name = readString("op", of: object, at: place)
    let path = readPointer("path", of: object, at: place)
    switch name {
    case nil: return nil
    case "add": return combine(path, readValue(of: object, at: place)).map(JSONPatch.Operation.add)
    case "remove": return path.map(JSONPatch.Operation.remove)
    case "replace": return combine(path, readValue(of: object, at: place)).map(JSONPatch.Operation.replace)
    case "move":
      return combine(readPointer("from", of: object, at: place), path).map { .move(from: $0, to: $1) }
    case "copy":
      return combine(readPointer("from", of: object, at: place), path).map { .copy(from: $0, to: $1) }
    case "test": return combine(path, readValue(of: object, at: place)).map(JSONPatch.Operation.test)
    default:
      report(place.appending("op"), "The operation must be add, remove, replace, move, copy or test.")
      return nil
    }
  }

  private mutating func readString(_ name: String, of object: JSONObject, at place: JSONPointer) -> String? {
    switch object[name] {
    case .string(let string)?: return string
    case nil: report(place.appending(name), "The operation needs \"\(name)\", a string.")
    case let other?: report(place.appending(name), "This must be a string, not \(other.typeWithArticle).")
    }
    return nil
  }

  private mutating func readPointer(_ name: String, of object: JSONObject, at place: JSONPointer) -> JSONPointer? {
    guard let text = readString(name, of: object, at: place) else { return nil }
    do throws(JSONPointerError) {
      return try JSONPointer(parsing: text)
    } catch {
      report(place.appending(name), error.description)
      return nil
    }
  }

  private mutating func readValue(of object: JSONObject, at place: JSONPointer) -> JSON? {
    if let value = object["value"] { return value }
    report(place.appending("value"), "The operation needs \"value\", which may be null.")
    return nil
  }

  private func combine<First, Second>(_ first: First?, _ second: Second?) -> (First, Second)? {
    guard let first, let second else { return nil }
    return (first, second)
  }

  private mutating func report(_ place: JSONPointer, _ detail: String) {
    guard faults.count < JSONPatchFormatError.maximumFaults else { return }
    faults.append(JSONPatchFormatError.Fault(pointer: place, detail: detail))
  }
}

extension JSON {
  fileprivate var typeWithArticle: String {
    switch self {
    case .null: "null"
    case .array, .object: "an \(typeName)"
    default: "a \(typeName)"
    }
  }
}
