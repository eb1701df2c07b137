/// A page in Prometheus' text format, parsed as strictly as the format is specified.
struct PrometheusText {
  struct Malformed: Error, CustomStringConvertible {
    let description: String
  }

  struct Sample {
    let name: String
    let labels: [(name: String, value: String)]
    let value: Double

    func label(_ name: String) -> String? { labels.first { $0.name == name }?.value }
  }

  struct Family {
    let name: String
    let help: String
    var type = ""
    var samples: [Sample] = []
  }

  private(set) var families: [Family] = []

  func family(_ name: String) -> Family? { families.first { $0.name == name } }

  /// The value of the only sample of a family.
  func value(_ name: String) -> Double? {
    guard let family = family(name), family.samples.count == 1 else { return nil }
    return family.samples[0].value
  }

  init(_ text: String) throws(Malformed) {
    guard text.hasSuffix("\n") else { throw Malformed(description: "the last line has no line end") }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      if line.hasPrefix("# HELP ") {
        try begin(line.dropFirst(7))
      } else if line.hasPrefix("# TYPE ") {
        try setType(line.dropFirst(7))
      } else {
        try add(line)
      }
    }
  }

  private mutating func begin(_ rest: Substring) throws(Malformed) {
    let parts = rest.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, isName(parts[0]) else { throw Malformed(description: "HELP \(rest)") }
    guard family(String(parts[0])) == nil else { throw Malformed(description: "\(parts[0]) comes twice") }
    families.append(Family(name: String(parts[0]), help: String(parts[1])))
  }

  private mutating func setType(_ rest: Substring) throws(Malformed) {
    let parts = rest.split(separator: " ")
    guard parts.count == 2, let last = families.last, last.name == parts[0], last.type.isEmpty, last.samples.isEmpty,
      ["counter", "gauge", "histogram"].contains(parts[1])
    else { throw Malformed(description: "TYPE \(rest)") }
    families[families.count - 1].type = String(parts[1])
  }

  private mutating func add(_ line: Substring) throws(Malformed) {
    guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]),
      let family = families.last, !family.type.isEmpty
    else { throw Malformed(description: "\(line)") }
    let series = line[..<space]
    let name = series.prefix { $0 != "{" }
    let suffixes = family.type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
    guard suffixes.contains(where: { family.name + $0 == name }) else {
      throw Malformed(description: "\(name) in the family \(family.name)")
    }
    let labels = try labels(series.dropFirst(name.count))
    families[families.count - 1].samples.append(Sample(name: String(name), labels: labels, value: value))
  }

  private func labels(_ text: Substring) throws(Malformed) -> [(name: String, value: String)] {
    guard !text.isEmpty else { return [] }
    var labels: [(name: String, value: String)] = []
    var rest = text.dropFirst()
    while rest.first != "}" {
      let name = rest.prefix { $0 != "=" }
      rest = rest.dropFirst(name.count)
      guard isName(name), rest.hasPrefix("=\"") else { throw Malformed(description: "labels \(text)") }
      rest = rest.dropFirst(2)
      var value = ""
      while let character = rest.popFirst(), character != "\"" {
        guard character == "\\" else {
          value.append(character)
          continue
        }
        guard let escaped = rest.popFirst(), let plain = ["\\": "\\", "\"": "\"", "n": "\n"][escaped] else {
          throw Malformed(description: "labels \(text)")
        }
        value += plain
      }
      labels.append((String(name), value))
      guard rest.first == "," else { break }
      rest = rest.dropFirst()
    }
    guard rest == "}" else { throw Malformed(description: "labels \(text)") }
    return labels
  }

  private func isName(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, first < 0x30 || first > 0x39 else { return false }
    return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") }
  }
}
