/// RSA keys whose prime numbers were chosen from too few (ROCA, CVE-2017-15361).
///
/// Many smart cards and security chips of Infineon made such keys until 2017. Anyone can compute the
/// private key from the public one. A prime number of such a key, and so the modulus, is a power of
/// 65537 modulo each small prime. One in 240 million other moduli is too, which is too rare to affect an issuer.
enum WeakPrimes {
  /// For each prime number from 3 to 167: whether each remainder is a power of 65537.
  private static let powers: [[Bool]] = primes(to: 167).map { prime in
    var isPower = [Bool](repeating: false, count: prime)
    var power = 1
    while !isPower[power] {
      isPower[power] = true
      power = power * 65_537 % prime
    }
    return isPower
  }

  /// Whether the modulus, with its highest byte first, is of such a key.
  static func made(_ modulus: some Sequence<UInt8>) -> Bool {
    powers.allSatisfy { isPower in isPower[modulus.reduce(0) { ($0 << 8 | Int($1)) % isPower.count }] }
  }

  private static func primes(to last: Int) -> [Int] {
    stride(from: 3, through: last, by: 2).filter { number in (2..<number).allSatisfy { number % $0 != 0 } }
  }
}
