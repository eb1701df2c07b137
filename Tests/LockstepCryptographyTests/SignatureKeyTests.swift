import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCryptography

/// A signature with its key, and whether it is valid. The resource has the vectors of RFC 7515 and RFC 8037, and
/// others in the manner of Wycheproof, which were made with Python's `cryptography`.
struct SignatureVector: Sendable, CustomTestStringConvertible {
  let name: String
  let key: JSON
  let algorithm: SignatureAlgorithm
  let message: [UInt8]
  let signature: [UInt8]
  let isValid: Bool

  var testDescription: String { name }

  static let all: [SignatureVector] = {
    guard let json = try? JSON(parsing: PackageResources.signature_vectors_json),
      let keys = json["keys"]?.arrayValue, let vectors = json["signatures"]?.arrayValue
    else { return [] }
    return vectors.compactMap { vector in
      guard let key = vector["key"]?.intValue, let algorithm = vector["algorithm"]?.stringValue else { return nil }
      return SignatureAlgorithm(rawValue: algorithm).map {
        SignatureVector(
          name: vector["name"]?.stringValue ?? "",
          key: keys[key],
          algorithm: $0,
          message: bytes(vector["message"]),
          signature: bytes(vector["signature"]),
          isValid: vector["valid"] == true
        )
      }
    }
  }()

  static func bytes(_ json: JSON?) -> [UInt8] { json?.stringValue.flatMap { Base64.decodeURL($0) } ?? [] }

  func makeKey() throws -> SignatureKey {
    func bytes(_ name: String) -> [UInt8] { Self.bytes(key[name]) }
    switch key["kty"]?.stringValue {
    case "RSA": return try SignatureKey(.rsa(modulus: bytes("n"), exponent: bytes("e")))
    case "EC": return try SignatureKey(.p256(x: bytes("x"), y: bytes("y")))
    default: return try SignatureKey(.ed25519(bytes("x")))
    }
  }
}

@Suite("Signature keys", .timeLimit(.minutes(10)))
struct SignatureKeyTests {
  @Test("A signature is valid or not, as published and generated vectors say", arguments: SignatureVector.all)
  func verifies(vector: SignatureVector) throws {
    let key = try vector.makeKey()
    #expect(key.verify(vector.signature, of: vector.message, by: vector.algorithm) == vector.isValid)
  }

  @Test("There are vectors of both kinds for each algorithm", arguments: SignatureAlgorithm.allCases)
  func vectorsAreThere(algorithm: SignatureAlgorithm) {
    let vectors = SignatureVector.all.filter { $0.algorithm == algorithm }
    #expect(vectors.contains { $0.isValid })
    #expect(vectors.count { !$0.isValid } >= 9)
  }

  @Test("A key verifies no signature by an algorithm for another kind of key")
  func confusion() throws {
    for vector in SignatureVector.all where vector.isValid {
      let key = try vector.makeKey()
      for algorithm in SignatureAlgorithm.allCases where algorithm != vector.algorithm {
        #expect(!key.verify(vector.signature, of: vector.message, by: algorithm), "\(vector.name) \(algorithm)")
      }
    }
  }

  @Test("A modulus is that of a weak chip if it is a power of 65537 modulo each small prime number")
  func weakPrimes() {
    func product(_ number: [UInt8], _ factor: Int) -> [UInt8] {
      var (bytes, carry) = ([UInt8](), 0)
      for byte in number.reversed() {
        carry += Int(byte) * factor
        bytes.append(UInt8(carry & 0xFF))
        carry >>= 8
      }
      while carry > 0 {
        bytes.append(UInt8(carry & 0xFF))
        carry >>= 8
      }
      return bytes.reversed()
    }
    var modulus: [UInt8] = [1]
    for _ in 0..<120 {
      #expect(WeakPrimes.made(modulus) && WeakPrimes.made([0, 0] + modulus))
      // 2 is no power of 65537 modulo 11, and 3 is none modulo 3.
      #expect(!WeakPrimes.made(product(modulus, 2)) && !WeakPrimes.made(product(modulus, 3)))
      modulus = product(modulus, 65_537)
    }
    var numbers = SeededNumbers(seed: TestSeed.make(for: "weakPrimes"))
    for _ in 0..<1_000 {
      #expect(!WeakPrimes.made((0..<256).map { _ in UInt8(truncatingIfNeeded: numbers.next()) }))
    }
  }

  @Test("No signature with a changed bit is valid")
  func changedBits() throws {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "changedBits"))
    for vector in SignatureVector.all where vector.isValid {
      let key = try vector.makeKey()
      for _ in 0..<50 {
        var signature = vector.signature
        signature[numbers.below(signature.count)] ^= 1 << UInt8(numbers.below(8))
        #expect(!key.verify(signature, of: vector.message, by: vector.algorithm), "\(vector.name) \(signature)")
      }
    }
  }

  @Test("Random bytes are no signature, and end no process")
  func randomSignatures() throws {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "randomSignatures"))
    for algorithm in SignatureAlgorithm.allCases {
      let key = try #require(SignatureVector.all.first { $0.algorithm == algorithm }).makeKey()
      for _ in 0..<200 {
        let bytes = (0..<numbers.below(300)).map { _ in UInt8(numbers.below(256)) }
        #expect(!key.verify(bytes, of: [1, 2, 3], by: algorithm))
      }
    }
  }

  @Test("Several threads use a key at a time")
  func threads() async throws {
    let vectors = SignatureVector.all
    let keys = try vectors.map { try $0.makeKey() }
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for (vector, key) in zip(vectors, keys) {
            #expect(key.verify(vector.signature, of: vector.message, by: vector.algorithm) == vector.isValid)
          }
        }
      }
    }
  }

  private func error(_ numbers: SignatureKey.Numbers) -> SignatureKeyError? {
    do throws(SignatureKeyError) {
      _ = try SignatureKey(numbers)
      return nil
    } catch {
      return error
    }
  }

  private func modulus(bits: Int) -> [UInt8] {
    [UInt8](repeating: 0, count: 3) + [UInt8(1 << ((bits - 1) % 8))] + [UInt8](repeating: 0xFF, count: (bits - 1) / 8)
  }

  @Test("An RSA modulus has 2,048 to 8,192 bits")
  func modulusSize() {
    for bits in [1, 1024, 2047, 8193, 16384] {
      #expect(error(.rsa(modulus: modulus(bits: bits), exponent: [1, 0, 1])) == .modulusSize(bits: bits))
    }
    for bits in [2048, 2049, 3072, 8192] {
      #expect(error(.rsa(modulus: modulus(bits: bits), exponent: [1, 0, 1])) == nil)
    }
    #expect(error(.rsa(modulus: [], exponent: [1, 0, 1])) == .modulusSize(bits: 0))
    #expect(error(.rsa(modulus: [0, 0], exponent: [1, 0, 1])) == .modulusSize(bits: 0))
    var even = modulus(bits: 2048)
    even[even.count - 1] = 0xFE
    #expect(error(.rsa(modulus: even, exponent: [1, 0, 1])) == .invalidNumbers(.rsa))
  }

  @Test(
    "An RSA exponent that makes signatures worthless is refused",
    arguments: [[], [0], [1], [0, 0, 1], [2], [1, 0, 0], [1, 0, 0, 0, 1]]
  )
  func exponents(exponent: [UInt8]) {
    #expect(error(.rsa(modulus: modulus(bits: 2048), exponent: exponent)) == .exponent)
  }

  @Test("A point that is not on the curve is refused")
  func points() throws {
    let vector = try #require(SignatureVector.all.first { $0.algorithm == .es256 })
    let (x, y) = (SignatureVector.bytes(vector.key["x"]), SignatureVector.bytes(vector.key["y"]))
    let zero = [UInt8](repeating: 0, count: 32)
    #expect(error(.p256(x: x, y: y)) == nil)
    #expect(error(.p256(x: y, y: x)) == .invalidNumbers(.p256))
    #expect(error(.p256(x: x, y: Array(y.dropLast()) + [y[31] ^ 1])) == .invalidNumbers(.p256))
    #expect(error(.p256(x: zero, y: zero)) == .invalidNumbers(.p256))
    #expect(error(.p256(x: [UInt8](repeating: 0xFF, count: 32), y: y)) == .invalidNumbers(.p256))
    #expect(error(.p256(x: [0] + x, y: y)) == .coordinateSize(.p256))
    #expect(error(.p256(x: Array(x.dropLast()), y: y)) == .coordinateSize(.p256))
    #expect(error(.p256(x: [], y: [])) == .coordinateSize(.p256))
  }

  @Test("A point of Ed25519 of small order, or that is no point, is refused")
  func edwardsPoints() throws {
    let zero = [UInt8](repeating: 0, count: 32)
    // The neutral element, points of order 2 and 4, a number above the prime, and no point.
    let points: [[UInt8]] = [
      [1] + zero.dropFirst(), [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F], zero,
      [0xEE] + [UInt8](repeating: 0xFF, count: 30) + [0x7F], [2] + zero.dropFirst(),
    ]
    for point in points { #expect(error(.ed25519(point)) == .invalidNumbers(.ed25519)) }
    #expect(error(.ed25519([])) == .coordinateSize(.ed25519))
    #expect(error(.ed25519(zero + [0])) == .coordinateSize(.ed25519))
  }

  @Test("A missing library is a clear error")
  func missingLibrary() {
    do throws(CryptographyError) {
      _ = try CryptoLibrary(file: "libcrypto.so.none")
      Issue.record("there is such a library")
    } catch {
      #expect("\(error)".hasPrefix("cannot use libcrypto.so.none (Debian's package libssl3): libcrypto.so.none: "))
    }
    do throws(CryptographyError) {
      // A library without the functions.
      _ = try CryptoLibrary(file: "libm.so.6")
      Issue.record("it has the functions")
    } catch {
      #expect(
        "\(error)" == "cannot use libm.so.6 (Debian's package libssl3): it has no EVP_aes_256_ctr"
          || "\(error)".contains("it has no ")
      )
    }
    #expect(throws: CryptographyError.self) { try CryptLibrary(file: "libcrypt.so.none") }
  }
}
