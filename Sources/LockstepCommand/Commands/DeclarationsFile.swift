import LockstepComposition

/// A file with an array of declarations of collections.
enum DeclarationsFile {
  /// 4,096 declarations with the largest schemas would need more, but no real file is that large.
  private static let largest = 64 * 1_048_576
  /// As many as a response of the server lists.
  private static let listedFaults = 100

  /// Throws with all faults if the file is not valid. `taken` are names that no collection can have.
  static func read(_ path: String, taken: Set<String>) throws(CommandError) -> [DeclaredCollection] {
    let bytes = try InputFile.bytes(of: path, upTo: largest)
    let json: JSON
    do throws(JSONParseError) {
      json = try JSON(parsing: bytes)
    } catch {
      throw CommandError(.data, "\(Terminal.harmless(path)) is not JSON: \(error)")
    }
    guard let elements = json.arrayValue else {
      throw CommandError(
        .data,
        "\(Terminal.harmless(path)) must contain an array of declarations, such as [{\"name\": \"notes\", \"kind\": \"list\"}]."
      )
    }
    var declarations: [DeclaredCollection] = []
    var faults: [String] = []
    var places: [String: Int] = [:]
    for (index, element) in elements.enumerated() {
      do throws(Refusal) {
        let declaration = try DeclaredCollection(element)
        if let first = places.updateValue(index, forKey: declaration.name) {
          faults.append("/\(index)/name: /\(first) declares \(declaration.name) already.")
        }
        if taken.contains(declaration.name) {
          faults.append("/\(index)/name: The server itself uses the name \(declaration.name). Choose another name.")
        }
        declarations.append(declaration)
      } catch {
        guard case .invalid(let found) = error else { continue }
        faults += found.map { "/\(index)\(Terminal.harmless($0.pointer)): \(Terminal.harmless($0.detail))" }
      }
    }
    if faults.isEmpty { return declarations }
    var lines = ["The declarations are not valid, and nothing was changed."]
    lines += faults.prefix(listedFaults).map { "  \($0)" }
    if faults.count > listedFaults { lines.append("  and \(faults.count - listedFaults) more faults") }
    throw CommandError(.data, lines.joined(separator: "\n"))
  }
}
