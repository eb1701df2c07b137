import Glibc

/// Text on standard output and standard error, and the process's variables.
enum Terminal {
  /// Prints to standard output. Returns an exit code, because this may fail, for example for
  /// `lockstep --help > /full/disk`.
  static func print(_ text: String) -> ExitCode {
    write(Array(text.utf8), to: STDOUT_FILENO) ? .success : .store
  }

  static func show(_ text: String) throws(CommandError) { try show(Array(text.utf8)) }

  static func show(_ bytes: [UInt8]) throws(CommandError) {
    guard write(bytes, to: STDOUT_FILENO) else {
      throw CommandError(.store, "standard output cannot be written: \(String(cString: strerror(errno))).")
    }
  }

  static func error(_ text: String) {
    _ = write(Array(text.utf8), to: STDERR_FILENO)
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// The value of an environment variable; nil if it is not set.
  static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// Whether standard output is a terminal with colours, and `NO_COLOR` is not set (no-color.org).
  static var hasColours: Bool {
    isTerminal(STDOUT_FILENO) && (variable("NO_COLOR") ?? "").isEmpty
      && variable("TERM") != "dumb"
  }

  /// A number of bytes: `512 bytes`, `1.5 MiB`.
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
  static func count(_ number: Int, _ thing: String, _ things: String? = nil) -> String {
    "\(number) \(number == 1 ? thing : things ?? "\(thing)s")"
  }

  /// The text, with those characters escaped that could control a terminal.
  static func harmless(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if isControl(scalar) {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Whether a terminal may act on the character instead of showing it.
  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: true
    default: false
    }
  }

  /// Writes all bytes; false on failure.
  static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
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
