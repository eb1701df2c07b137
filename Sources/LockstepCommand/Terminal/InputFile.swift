import Glibc
import LockstepMaintenance

/// A file that a command reads whole; `-` is standard input.
enum InputFile {
  static func bytes(of path: String, upTo largest: Int) throws(CommandError) -> [UInt8] {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(path, errno) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(path, errno) }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= largest else {
        throw CommandError(.data, "\(Terminal.harmless(path)) is larger than \(Terminal.size(largest)).")
      }
    }
  }

  private static func unreadable(_ path: String, _ reason: Int32) -> CommandError {
    CommandError(.noInput, "\(Terminal.harmless(path)) cannot be read: \(String(cString: strerror(reason))).")
  }
}
