// Measures how long LockstepIdentity takes to verify a token, and to find one that it remembers.

import Glibc
import LockstepHTTPClient
import LockstepIdentity
import LockstepThreading
import LockstepTime

struct BenchmarkSource: DocumentSource {
  static let option = "issuer=https://issuer.example,audience=app,jwks=https://issuer.example/keys"

  func get(_ url: String) async throws(TransferError) -> TransferResponse {
    TransferResponse(status: 200, body: Array(keySet.utf8))
  }
}

func makeVerifier(capacity: Int) throws -> TokenVerifier {
  try TokenVerifier(
    TrustedIssuer.list(parsing: [BenchmarkSource.option]),
    source: BenchmarkSource(),
    tasks: TaskScope(),
    time: .system,
    capacity: capacity,
    report: { event in if case .failed = event { print(event) } }
  )
}

/// The CPU time of the process for one run, in microseconds: the median of nine rounds.
func microseconds(_ count: Int, _ work: () async throws -> Void) async rethrows -> Double {
  var rounds: [Double] = []
  for _ in 0..<9 {
    let start = clock()
    for _ in 0..<count { try await work() }
    rounds.append(Double(clock() - start) / Double(CLOCKS_PER_SEC) * 1e6 / Double(count))
  }
  return rounds.sorted()[4]
}

func line(_ name: String, _ value: Double) {
  let hundredths = Int((value * 100).rounded())
  print("\(name): \(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) µs")
}

let forgetful = try makeVerifier(capacity: 0)
for (algorithm, token) in tokens {
  let token = Array(token.utf8)
  let time = try await microseconds(1000) { _ = try await forgetful.verify(token) }
  line("\(algorithm), \(token.count) bytes", time)
}
let verifier = try makeVerifier(capacity: 10)
let token = Array(tokens[0].token.utf8)
_ = try await verifier.verify(token)
let time = await microseconds(100_000) {
  token.withUnsafeBytes { if verifier.remembered($0) == nil { print("the token is not remembered") } }
}
line("remembered, \(token.count) bytes", time)
