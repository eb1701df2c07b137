import Glibc

/// Runs a test as somebody whom permissions bind, since tests often run as root in a container.
public enum AsNobody {
  /// Takes the right to write in the folder from everybody, and from this thread, where it is root's, root's power over
  /// files, while `body` runs. Linux keeps that power for each thread, so that no other test is touched.
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

  /// `setfsuid` isn't part of Swift's Glibc.
  private static func setFileUser(_ user: UInt32) {
    typealias Call = @convention(c) (UInt32) -> Int32
    guard let symbol = dlsym(nil, "setfsuid") else { return }
    // The symbol is glibc's function of exactly this type.
    _ = unsafeBitCast(symbol, to: Call.self)(user)
  }
}
