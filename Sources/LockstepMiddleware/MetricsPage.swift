import LockstepSQLiteStore

/// A page in Prometheus' text format (version 0.0.4).
package struct MetricsPage {
  package enum Kind: String {
    case counter
    case gauge
    case histogram
  }

  package private(set) var text = ""
  private var family = ""

  package init() {}

  package mutating func family(_ name: String, _ kind: Kind, _ help: String) {
    family = name
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// Adds a family with one sample: a counter if its name ends in `_total`, otherwise a gauge.
  package mutating func single(_ name: String, _ help: String, _ value: Double) {
    family(name, name.hasSuffix("_total") ? .counter : .gauge, help)
    sample(value, [])
  }

  package mutating func single(_ name: String, _ help: String, _ value: some BinaryInteger) {
    single(name, help, Double(value))
  }

  /// Adds a sample to the family that was added last.
  package mutating func sample(_ value: Double, _ labels: [(String, String)], suffix: String = "") {
    let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
    text += "\(family)\(suffix)\(list.isEmpty ? "" : "{\(list)}") \(Self.number(value))\n"
  }

  /// Adds a histogram to the family that was added last. Divides its bounds and sum by `unit`.
  package mutating func histogram(_ histogram: Histogram, unit: Double = 1, _ labels: [(String, String)] = []) {
    let bounds = histogram.bounds.map { Self.number(Double($0) / unit) } + ["+Inf"]
    var cumulated = 0
    for (bound, count) in zip(bounds, histogram.counts) {
      cumulated += count
      sample(Double(cumulated), labels + [("le", bound)], suffix: "_bucket")
    }
    sample(Double(histogram.sum) / unit, labels, suffix: "_sum")
    sample(Double(cumulated), labels, suffix: "_count")
  }

  package mutating func histogram(_ name: String, _ help: String, _ histogram: Histogram, unit: Double = 1) {
    family(name, .histogram, help)
    self.histogram(histogram, unit: unit)
  }

  private static func number(_ value: Double) -> String {
    Int64(exactly: value).map(String.init) ?? String(value)
  }

  private static func escaped(_ label: String) -> String {
    label.reduce(into: "") { text, character in
      switch character {
      case "\\": text += "\\\\"
      case "\"": text += "\\\""
      case "\n": text += "\\n"
      default: text.append(character)
      }
    }
  }
}
