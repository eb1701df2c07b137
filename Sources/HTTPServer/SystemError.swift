import Glibc

/// A system call that failed: which, on what, and why.
public struct SystemError: Error, CustomStringConvertible, Equatable {
  /// The call's name.
  public let call: String
  /// The value of `errno`.
  public let code: Int32
  /// What was being done.
  public let purpose: String

  /// A failure of `call`, made right behind it: the code is `errno` unless given.
  public init(_ call: String, purpose: String, code: Int32 = errno) {
    self.call = call
    self.code = code
    self.purpose = purpose
  }

  /// For example: `cannot listen on 127.0.0.1:80: Permission denied (bind, errno 13)`.
  public var description: String { "cannot \(purpose): \(String(cString: strerror(code))) (\(call), errno \(code))" }
}
