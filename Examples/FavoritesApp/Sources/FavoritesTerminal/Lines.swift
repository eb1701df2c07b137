import Foundation

/// The lines of standard input.
enum Lines {
  /// A thread of its own reads, because `readLine` blocks.
  static var ofStandardInput: AsyncStream<String> {
    AsyncStream { continuation in
      Thread {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }.start()
    }
  }
}
