import Glibc

/// What a person sees: plain text to standard output and standard error.
enum Terminal {
  /// Prints to standard output. Fails when that can't be written, so that `lockstep --help > /full/disk` is noticed.
  static func print(_ text: String) -> ExitCode {
    write(Array(text.utf8), to: STDOUT_FILENO) ? .success : .store
  }

  /// Prints to standard output, or throws where that can't be written.
  static func show(_ text: String) throws(CommandError) { try show(Array(text.utf8)) }

  /// Prints bytes to standard output, or throws where that can't be written.
  static func show(_ bytes: [UInt8]) throws(CommandError) {
    guard write(bytes, to: STDOUT_FILENO) else {
      throw CommandError(.store, "standard output can't be written: \(String(cString: strerror(errno))).")
    }
  }

  static func error(_ text: String) {
    _ = write(Array(text.utf8), to: STDERR_FILENO)
  }

  /// Whether a person looks at a stream.
  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Whether standard output may be coloured: a terminal that can, and nobody who has said NO_COLOR (no-color.org).
  static var hasColours: Bool {
    isTerminal(STDOUT_FILENO) && (ProcessVariables.value("NO_COLOR") ?? "").isEmpty
      && ProcessVariables.value("TERM") != "dumb"
  }

  /// A number of bytes as people read it: `512 bytes`, `1.5 MiB`.
  static func size(_ bytes: Int) -> String {
    var (value, unit) = (Double(bytes), 0)
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    if unit == 0 { return "\(bytes) bytes" }
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }

  /// `1 user`, `2 users`.
  static func count(_ number: Int, _ thing: String) -> String { "\(number) \(thing)\(number == 1 ? "" : "s")" }

  /// A text of somebody else's, with what could steer a terminal made visible.
  static func harmless(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if isSteering(scalar) {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Whether a terminal may do something else with it than show it.
  static func isSteering(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: true
    default: false
    }
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
