import Glibc

/// Shows on a terminal how far something is; elsewhere nothing, since a log would be full of it.
struct ProgressBar {
  private static let width = 30

  private let label: String
  private let isShown: Bool
  /// What is on the line now.
  private var shown = ""

  /// A bar behind a label, on standard error.
  init(_ label: String, isShown: Bool = Terminal.isTerminal(STDERR_FILENO)) {
    self.label = label
    self.isShown = isShown
  }

  /// Shows that so many of so many bytes are done, or of whatever `amount` says.
  mutating func show(_ done: Int, of all: Int, as amount: String? = nil) {
    guard isShown else { return }
    let line = Self.line(label, done, of: all, as: amount ?? Terminal.size(all))
    // Written only where it looks different.
    if line == shown { return }
    shown = line
    Terminal.error("\r\(line)")
  }

  /// Takes the line away, so that what is said next begins where it did.
  mutating func clear() {
    guard isShown, !shown.isEmpty else { return }
    Terminal.error("\r\u{1B}[K")
    shown = ""
  }

  /// For example `backup [###############               ]  50 %  512.0 MiB`.
  static func line(_ label: String, _ done: Int, of all: Int, as amount: String) -> String {
    let percent = all > 0 ? min(100, Int(Double(done) / Double(all) * 100)) : 100
    let filled = width * percent / 100
    let bar = String(repeating: "#", count: filled) + String(repeating: " ", count: width - filled)
    let number = String(repeating: " ", count: max(0, 3 - String(percent).count)) + String(percent)
    return "\(label) [\(bar)] \(number) %  \(amount)"
  }
}
