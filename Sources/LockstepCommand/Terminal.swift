import Glibc

/// What a person sees: plain text to standard output and standard error.
enum Terminal {
  /// Prints to standard output. Fails when that can't be written, so that `lockstep --help > /full/disk` is noticed.
  static func print(_ text: String) -> ExitCode {
    write(text, to: STDOUT_FILENO) ? .success : .store
  }

  static func error(_ text: String) {
    _ = write(text, to: STDERR_FILENO)
  }

  private static func write(_ text: String, to descriptor: Int32) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
