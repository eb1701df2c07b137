import Glibc

/// Runs a test as a user that file permissions apply to. In a container, tests often run as root.
public enum AsNobody {
  /// Removes write permission for the folder while `body` runs. If this thread runs as root, it
  /// also gives up root's power over files. Linux keeps that power per thread, so other tests are
  /// not affected.
  public static func run(in folder: String, _ body: () throws -> Void) throws {
    chmod(folder, 0o555)
    let isRoot = geteuid() == 0
    if isRoot { setFileUser(65_534) }
    defer {
      if isRoot { setFileUser(0) }
      chmod(folder, 0o700)
    }
    try body()
  }

  /// Swift's Glibc module does not declare `setfsuid`.
  private static func setFileUser(_ user: UInt32) {
    typealias Call = @convention(c) (UInt32) -> Int32
    guard let symbol = dlsym(nil, "setfsuid") else { return }
    // glibc's function has exactly this type.
    _ = unsafeBitCast(symbol, to: Call.self)(user)
  }
}
