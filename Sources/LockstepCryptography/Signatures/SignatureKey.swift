import CLockstepCrypto
import CLockstepSodium

/// A public key that verifies signatures.
///
/// `@unchecked Sendable`: after `init`, the key is only read. libcrypto permits that from many
/// threads, each with a context of its own.
package final class SignatureKey: @unchecked Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    case rsa = "RSA"
    case p256 = "P-256"
    case ed25519 = "Ed25519"
  }

  /// The numbers of a key, as bytes with the highest first, as a JSON Web Key has them.
  package enum Numbers: Sendable, Equatable {
    case rsa(modulus: [UInt8], exponent: [UInt8])
    case p256(x: [UInt8], y: [UInt8])
    case ed25519([UInt8])
  }

  package let numbers: Numbers
  private let library: CryptoLibrary
  /// Valid as long as this object lives.
  private let key: OpaquePointer

  /// Checks the numbers, and loads libcrypto if that has not happened yet.
  package init(_ numbers: Numbers) throws(SignatureKeyError) {
    let library: CryptoLibrary
    do throws(CryptographyError) { library = try CryptoLibrary.load() } catch { throw .library(error) }
    self.library = library
    self.numbers = numbers
    key =
      switch numbers {
      case .rsa(let modulus, let exponent): try Self.rsa(modulus, exponent, library)
      case .p256(let x, let y): try Self.p256(x, y, library)
      case .ed25519(let point): try Self.ed25519(point, library)
      }
  }

  deinit { lockstep_key_free(library.functions, key) }

  package var kind: Kind {
    switch numbers {
    case .rsa: .rsa
    case .p256: .p256
    case .ed25519: .ed25519
    }
  }

  /// Whether the signature is valid. False if the algorithm is for another kind of key, or if
  /// memory is short.
  package func verify(_ signature: [UInt8], of message: [UInt8], by algorithm: SignatureAlgorithm) -> Bool {
    guard algorithm.keyKind == kind else { return false }
    var signature = signature
    if algorithm == .es256 {
      guard let der = ECDSASignature.der(fromRaw: signature) else { return false }
      signature = der
    }
    let digest = algorithm == .edDSA ? nil : "SHA256"
    let isPSS: Int32 = algorithm == .ps256 ? 1 : 0
    return lockstep_verify(library.functions, key, digest, isPSS, signature, signature.count, message, message.count)
      != 0
  }

  private static func rsa(
    _ modulus: [UInt8],
    _ exponent: [UInt8],
    _ library: CryptoLibrary
  ) throws(SignatureKeyError) -> OpaquePointer {
    let (modulus, exponent) = (Array(modulus.drop { $0 == 0 }), Array(exponent.drop { $0 == 0 }))
    let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
    guard (2048...8192).contains(bits) else { throw .modulusSize(bits: bits) }
    // An odd exponent from 3 to 2^32. With 1, every message is its own signature.
    guard let last = exponent.last, last & 1 == 1, exponent.count <= 4, exponent != [1] else { throw .exponent }
    guard !WeakPrimes.made(modulus) else { throw .weakPrimes }
    guard modulus.last.map({ $0 & 1 == 1 }) == true,
      let key = lockstep_key_rsa(library.functions, modulus, modulus.count, exponent, exponent.count)
    else { throw .invalidNumbers(.rsa) }
    return key
  }

  private static func p256(
    _ x: [UInt8],
    _ y: [UInt8],
    _ library: CryptoLibrary
  ) throws(SignatureKeyError) -> OpaquePointer {
    guard x.count == 32, y.count == 32 else { throw .coordinateSize(.p256) }
    guard let key = lockstep_key_p256(library.functions, [4] + x + y) else { throw .invalidNumbers(.p256) }
    return key
  }

  private static func ed25519(_ point: [UInt8], _ library: CryptoLibrary) throws(SignatureKeyError) -> OpaquePointer {
    guard point.count == 32 else { throw .coordinateSize(.ed25519) }
    // libcrypto accepts any bytes here. With a point of small order, one signature fits many
    // messages.
    guard crypto_core_ed25519_is_valid_point(point) == 1, let key = lockstep_key_ed25519(library.functions, point)
    else {
      throw .invalidNumbers(.ed25519)
    }
    return key
  }
}

/// Why a public key cannot be used.
package enum SignatureKeyError: Error, Sendable, Equatable, CustomStringConvertible {
  case library(CryptographyError)
  case modulusSize(bits: Int)
  case exponent
  /// The private key can be computed from the public one.
  case weakPrimes
  case coordinateSize(SignatureKey.Kind)
  /// The numbers are no key, such as a point that is not on the curve.
  case invalidNumbers(SignatureKey.Kind)

  package var description: String {
    switch self {
    case .library(let error): error.description
    case .modulusSize(let bits): "the RSA modulus has \(bits) bits, but must have 2048 to 8192"
    case .exponent: "the RSA exponent is not an odd number from 3 to 4294967295"
    case .weakPrimes:
      "it was made by a chip with the weakness ROCA (CVE-2017-15361), so anyone can compute its private key; "
        + "replace it at once"
    case .coordinateSize(let kind): "a coordinate of the \(kind.rawValue) key does not have 32 bytes"
    case .invalidNumbers(.rsa): "the numbers are not an RSA key"
    case .invalidNumbers(let kind): "the point is not a valid public key on \(kind.rawValue)"
    }
  }
}

extension SignatureAlgorithm {
  package var keyKind: SignatureKey.Kind {
    switch self {
    case .rs256, .ps256: .rsa
    case .es256: .p256
    case .edDSA: .ed25519
    }
  }
}
