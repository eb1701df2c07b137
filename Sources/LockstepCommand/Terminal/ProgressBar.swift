import Glibc

/// Shows progress if standard error is a terminal. Otherwise it prints nothing, to keep logs short.
struct ProgressBar {
  private static let width = 30

  private let label: String
  private let isShown: Bool
  private var shown = ""

  init(_ label: String, isShown: Bool = Terminal.isTerminal(STDERR_FILENO)) {
    self.label = label
    self.isShown = isShown
  }

  /// Shows the progress. `amount` is the text for `all`; nil if both numbers are bytes.
  mutating func show(_ done: Int, of all: Int, as amount: String? = nil) {
    guard isShown else { return }
    let line = Self.line(label, done, of: all, as: amount ?? Terminal.size(all))
    if line == shown { return }
    shown = line
    Terminal.error("\r\(line)")
  }

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
