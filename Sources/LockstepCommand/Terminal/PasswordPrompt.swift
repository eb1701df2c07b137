import Glibc
import LockstepComposition
import LockstepAccounts

/// Reads a new password. On a terminal, it asks twice and does not show the password. Otherwise it
/// reads standard input. A password is never an argument, because every user of the machine can
/// read arguments with `ps`.
enum PasswordPrompt {
  /// The most bytes to read.
  private static let limit = 4096

  private enum Refusal: Error {
    case interrupted
    case ended
  }

  static func read() throws(CommandError) -> String {
    guard Terminal.isTerminal(STDIN_FILENO) else { return try firstLine() }
    do throws(Refusal) {
      let first = try typed("New password: ")
      let second = try typed("Repeat the password: ")
      if first == second { return first }
    } catch {
      throw CommandError(error == .interrupted ? .interrupted : .usage, "no password was entered; nothing was changed.")
    }
    throw CommandError(.usage, "the two passwords differ; nothing was changed.")
  }

  /// The first line of standard input, without its end (LF, or CR and LF).
  private static func firstLine() throws(CommandError) -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.count <= limit {
      let count = Glibc.read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      if count > 0, byte == UInt8(ascii: "\n"), bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
      if count <= 0 || byte == UInt8(ascii: "\n") { break }
      bytes.append(byte)
    }
    guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty, bytes.count <= limit else {
      throw CommandError(
        .usage,
        "the first line of standard input must be the new password, in UTF-8; nothing was changed."
      )
    }
    return text
  }

  /// Reads a line without showing it. The terminal delivers each key at once, including Ctrl-C, so
  /// that this function can restore the terminal before the process ends.
  private static func typed(_ question: String) throws(Refusal) -> String {
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { throw .ended }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    defer {
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
      Terminal.error("\n")
    }
    Terminal.error(question)
    var line: [UInt8] = []
    var key: UInt8 = 0
    while true {
      let count = Glibc.read(STDIN_FILENO, &key, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1, line.count < limit else { throw .ended }
      switch key {
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        guard let text = String(validating: line, as: UTF8.self), !text.isEmpty else { throw .ended }
        return text
      case 0x03, 0x1C: throw .interrupted
      case 0x04: throw .ended
      case 0x08, 0x7F: removeLast(&line)
      case 0x15: line = []
      default: line.append(key)
      }
    }
  }

  /// Removes a whole character of UTF-8.
  private static func removeLast(_ line: inout [UInt8]) {
    while let byte = line.popLast(), byte & 0xC0 == 0x80 {}
  }
}
