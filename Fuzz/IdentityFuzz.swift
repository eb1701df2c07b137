// A libFuzzer target for scripts/fuzz, compiled in one module with the code that reads tokens and the
// option --identity.
//
// The first byte selects the reader: a whole token, the claims of a token as JSON, or the option.

import LockstepJSON
import LockstepTime

private let issuer = try? TrustedIssuer(parsing: "issuer=https://a.example,audience=app")

/// Checks one input. libFuzzer keeps the bytes valid during the call.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzIdentity(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
  let input = Array(UnsafeRawBufferPointer(start: start, count: count))
  guard let kind = input.first else { return 0 }
  let rest = Array(input.dropFirst())
  switch kind % 3 {
  case 0: checkToken(rest)
  case 1: checkClaims(rest)
  default: checkOption(String(decoding: rest, as: UTF8.self))
  }
  return 0
}

private func checkToken(_ bytes: [UInt8]) {
  guard let token = try? CompactToken(bytes) else { return }
  let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
  check(parts.count == 3, "a token has three parts")
  check(token.signed == Array(bytes[..<parts[1].endIndex]), "the first two parts are signed")
  let signature = Base64.encode(token.signature).replacing("+", with: "-").replacing("/", with: "_")
  check(signature == String(decoding: parts[2], as: UTF8.self), "a value has one spelling")
}

private func checkClaims(_ text: [UInt8]) {
  guard let issuer, let claims = UniqueJSON.object(parsing: text) else { return }
  check(UniqueJSON.object(parsing: JSON.object(claims).encoded()) == claims, "unique names stay unique")
  let now = Timestamp(millisecondsSince1970: 1_000_000_000_000)
  guard let identity = try? TokenClaims(claims).identity(for: issuer, now: now) else { return }
  check((1...255).contains(identity.subject.utf8.count), "a subject has 1 to 255 bytes")
  check(identity.expiresAt.millisecondsSince1970 > now.millisecondsSince1970 - TokenClaims.leeway, "it is valid")
}

private func checkOption(_ text: String) {
  guard let issuer = try? TrustedIssuer(parsing: text) else { return }
  check(!issuer.audiences.isEmpty && !issuer.algorithms.isEmpty, "an issuer has an audience and an algorithm")
  let url = issuer.keysURL ?? issuer.discoveryURL
  check(url.lowercased().hasPrefix("https://") || url.lowercased().hasPrefix("http://"), "keys come by HTTP")
}

private func check(_ isTrue: Bool, _ property: StaticString) {
  precondition(isTrue, "does not hold: \(property)")
}
