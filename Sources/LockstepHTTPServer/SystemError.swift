import Glibc

/// A system call that failed.
package struct SystemError: Error, CustomStringConvertible, Equatable {
  package let call: String
  /// The value of `errno`, or the call's own error code.
  package let code: Int32
  package let purpose: String
  package let reason: String

  /// Create it right after the call, because `code` defaults to `errno`.
  package init(_ call: String, purpose: String, code: Int32 = errno, reason: String? = nil) {
    self.call = call
    self.purpose = purpose
    self.code = code
    self.reason = reason ?? String(cString: strerror(code))
  }

  /// For example: `cannot listen on 127.0.0.1:80: Permission denied (bind, errno 13)`.
  package var description: String {
    // `getaddrinfo` has its own codes, which are below zero.
    "cannot \(purpose): \(reason) (\(call), \(code < 0 ? "code" : "errno") \(code))"
  }
}
