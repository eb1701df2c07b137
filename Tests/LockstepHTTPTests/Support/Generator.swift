#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The seed of the property tests. It is always the same, unless LOCKSTEP_TEST_SEED gives another.
func testSeed() -> UInt64 {
  let given = getenv("LOCKSTEP_TEST_SEED").flatMap { UInt64(String(cString: $0)) }
  let seed = given ?? 20_260_101
  print("HTTPTests: LOCKSTEP_TEST_SEED=\(seed)")
  return seed
}

/// SplitMix64, so that a seed gives the same numbers on every machine.
struct Generator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Makes a small change to the bytes.
  mutating func mutate(_ bytes: inout [UInt8]) {
    let place = Int.random(in: 0...bytes.count, using: &self)
    switch Int.random(in: 0..<6, using: &self) {
    case 0 where place < bytes.count:
      bytes[place] = UInt8.random(in: 0...255, using: &self)
    case 1 where place < bytes.count:
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
    case 2 where place < bytes.count:
      bytes.remove(at: place)
    case 3:
      bytes.insert(contentsOf: fragment(), at: place)
    case 4:
      let end = min(bytes.count, place + Int.random(in: 0...12, using: &self))
      bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &self))
    default:
      let end = min(bytes.count, place + Int.random(in: 0...12, using: &self))
      bytes.removeSubrange(place..<end)
    }
  }

  /// A piece that is special to the parser.
  mutating func fragment() -> [UInt8] {
    Array((Self.fragments.randomElement(using: &self) ?? "").utf8)
  }

  private static let fragments = [
    "\r\n", "\r", "\n", "\r\n\r\n", "\r\n\r\n\r\n", " ", "\t", ":", ": ", ",", ";", "\"", "%", "\u{0}", "\u{7F}", "é",
    "0",
    "1", "f", "5", "a", "0\r\n\r\n", "1\r\nx\r\n", "5;a=\"b\"\r\nhello\r\n", "GET ", "PUT ", "/", "/a?b", "* ",
    "http://h/",
    " HTTP/1.1\r\n", " HTTP/1.0\r\n", "HTTP/2.0", "GET / HTTP/1.1\r\n", "PUT / HTTP/1.0\r\n", "Host: h\r\n", "A: b\r\n",
    "Host:\r\nTransfer-Encoding: chunked\r\n\r\n", "Content-Length: 3\r\n", "Content-Length: 0\r\n",
    "Connection: close\r\n", "Expect: 100-continue\r\n", "Transfer-Encoding: gzip\r\n", " folded\r\n",
    "ffffffffffffffff",
  ]
}
