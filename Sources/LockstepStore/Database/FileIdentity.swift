import Glibc

/// Which file a path leads to: two that are equal are the same file, whatever they are called.
package struct FileIdentity: Equatable, Sendable {
  private let device: dev_t
  private let number: ino_t

  /// The file of this path; nil where there is none.
  package init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The file behind an open descriptor.
  package init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init(_ status: stat) {
    device = status.st_dev
    number = status.st_ino
  }
}
